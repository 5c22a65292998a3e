import { hrefOf } from "../requests/address.ts"
import type { Lock } from "./lock-table.ts"

export const supportedLockXml =
  "<D:supportedlock><D:lockentry><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry>" +
  "<D:lockentry><D:lockscope><D:shared/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockentry></D:supportedlock>"

/** The owner element stands only at the lock's root, and is not repeated for each entry below. */
export function lockDiscoveryXml(locks: readonly Lock[], path: string): string {
  if (locks.length === 0) return "<D:lockdiscovery/>"
  return `<D:lockdiscovery>${locks.map((lock) => activeLock(lock, path)).join("")}</D:lockdiscovery>`
}

function activeLock(lock: Lock, path: string): string {
  const seconds = Math.max(0, Math.ceil((lock.expiresAt - performance.now()) / 1000))
  return (
    "<D:activelock><D:locktype><D:write/></D:locktype>" +
    `<D:lockscope><D:${lock.exclusive ? "exclusive" : "shared"}/></D:lockscope>` +
    `<D:depth>${lock.isDeep ? "infinity" : "0"}</D:depth>${lock.path === path ? lock.owner : ""}<D:timeout>Second-${seconds}</D:timeout>` +
    `<D:locktoken><D:href>${lock.token}</D:href></D:locktoken>` +
    `<D:lockroot><D:href>${hrefOf({ path: lock.path, isDirectory: false })}</D:href></D:lockroot></D:activelock>`
  )
}
