import { bounds } from "#contract"
import { AuthenticationFailure } from "../caller.ts"
import type { SignInAttempt } from "./throttle.ts"

/**
 * Limits the running and waiting password checks of one name and of one address. Those of a name's
 * known devices, of addresses without a recent failure, and all others are counted apart: strangers
 * with wrong passwords do not use up the places of a new device.
 */
export class SignInLimiter {
  readonly #open = new Map<string, number>()

  /**
   * Throws an `AuthenticationFailure` (429) when there are too many; dispose of the result when the
   * check ends.
   */
  acquire({ name, address, isKnown, isSuspect }: Pick<SignInAttempt, "name" | "address" | "isKnown" | "isSuspect">): Disposable {
    const byName = `${isKnown ? "known" : isSuspect ? "suspect" : "clean"} ${name}`
    const byAddress = `address ${address}`
    if (this.#count(byName) >= bounds.accounts.signInsPerName.value) throw tooMany("for this user name")
    if (this.#count(byAddress) >= bounds.accounts.signInsPerAddress.value) throw tooMany("from this address")
    const keys = [byName, byAddress]
    for (const key of keys) this.#open.set(key, this.#count(key) + 1)
    return {
      [Symbol.dispose]: () => {
        for (const key of keys) this.#leave(key)
      },
    }
  }

  #count(key: string): number {
    return this.#open.get(key) ?? 0
  }

  #leave(key: string): void {
    const left = this.#count(key) - 1
    if (left > 0) this.#open.set(key, left)
    else this.#open.delete(key)
  }
}

function tooMany(whose: string): AuthenticationFailure {
  return new AuthenticationFailure("too_many_requests", `Too many passwords ${whose} are being checked at once; try again in 1 s`, {
    retryAfterSeconds: 1,
  })
}
