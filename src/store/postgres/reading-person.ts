import { AsyncLocalStorage } from "node:async_hooks"
import { networkOf } from "#kit"

const reader = new AsyncLocalStorage<number | string | undefined>()

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

/**
 * Reads that begin in this work count as nobody's: it is for everybody, although somebody's request
 * began it.
 */
export function readAsNobody<T>(work: () => T): T {
  return reader.run(undefined, work)
}

/** The person's ID, or a text for an address. Undefined if it is nobody's. */
export function currentReader(): number | string | undefined {
  return reader.getStore()
}
