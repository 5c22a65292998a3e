import { bounds } from "#contract"
import { AuthenticationFailure } from "../caller.ts"
import type { SignInAttempt } from "./throttle.ts"

/**
 * Limits the running and waiting password checks of one name and of one address. A name's known
 * devices are counted apart from strangers.
 */
export class SignInLimiter {
  readonly #open = new Map<string, number>()

  /**
   * Throws an `AuthenticationFailure` (429) when there are too many; dispose of the result when the
   * check ends.
   */
  acquire({ name, address, isKnown }: Pick<SignInAttempt, "name" | "address" | "isKnown">): Disposable {
    const byName = `${isKnown ? "known" : "stranger"} ${name}`
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
