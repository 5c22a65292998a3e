import { AsyncLocalStorage } from "node:async_hooks"
import { networkOf } from "#kit"

const reader = new AsyncLocalStorage<number | string>()

/**
 * Reads that begin in this work count as one person's. They use few of the connections to
 * PostgreSQL, so that those of others do not wait for hundreds of them.
 */
export function readAsPerson<T>(userId: number, work: () => T): T {
  return reader.run(userId, work)
}

/**
 * The same for somebody of whom only the address is known: strangers make up any number of tokens,
 * sessions and codes. An IPv6 /64 counts as one address.
 */
export function readAsAddress<T>(address: string, work: () => T): T {
  return reader.run(`address ${networkOf(address)}`, work)
}

/** The person's ID, or a text for an address. Undefined outside of both functions. */
export function currentReader(): number | string | undefined {
  return reader.getStore()
}
