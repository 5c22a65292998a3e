import { AsyncLocalStorage } from "node:async_hooks"
import { networkOf } from "#kit"

const reader = new AsyncLocalStorage<number | string | undefined>()

/**
 * Reads that begin in this work count as one person's. They use few of the connections to
 * PostgreSQL, so that those of others do not wait for hundreds of them. `kind` counts some of the
 * person's apart from the others.
 */
export function readAsPerson<T>(userId: number, work: () => T, kind?: string): T {
  return reader.run(kind === undefined ? userId : `${kind} of ${userId}`, work)
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

/** The person's ID, or a text for a kind or an address. Undefined if it is nobody's. */
export function currentReader(): number | string | undefined {
  return reader.getStore()
}
