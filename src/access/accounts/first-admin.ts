import { randomBytes } from "node:crypto"
import { unsetLimits } from "#contract"
import type { Store } from "#store"
import type { Accounts } from "./accounts.ts"

const name = "admin"

interface FirstAdminContext {
  store: Store
  identity: { accounts: Pick<Accounts, "create">; hashPassword: (password: string) => Promise<string> }
  announce: ((generated: string) => void) | undefined
}

/**
 * See `Identity.ensureAdmin`. Several processes may call it at once: one of them creates the
 * account.
 */
export async function ensureAdmin({ store, identity, announce }: FirstAdminContext, password?: string): Promise<string | undefined> {
  if ((await store.users.count()) > 0) return undefined
  const generated = password === undefined ? randomBytes(15).toString("base64url") : undefined
  const passwordHash = await identity.hashPassword(password ?? generated ?? "")
  if (generated !== undefined) announce?.(generated)
  const made = await store.change(async (tx) => {
    if ((await tx.users.count()) > 0) return false
    await identity.accounts.create(tx, {
      userName: name,
      passwordHash,
      email: "",
      comment: "The first administrator",
      isAdmin: true,
      isDisabled: false,
      limits: unsetLimits,
    })
    return true
  })
  return made ? generated : undefined
}
