import { AsyncLocalStorage } from "node:async_hooks"

const person = new AsyncLocalStorage<number>()

/**
 * Reads that begin in this work count as one person's. They use few of the connections to
 * PostgreSQL, so that those of others do not wait for hundreds of them.
 */
export function readAsPerson<T>(userId: number, work: () => T): T {
  return person.run(userId, work)
}

/** Undefined outside of `readAsPerson`. */
export function readingPerson(): number | undefined {
  return person.getStore()
}
