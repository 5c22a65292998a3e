import { Refusal } from "./refusal.ts"

/** How many requests one person may have under way. Beyond, a request is refused rather than queued: it would hold a connection and a body. */
const mostAtOnce = 128
/** Listings of all that is below hold up to ten thousand entries in memory each. */
const mostDeep = 4

/** Keeps one person from taking all of the server. */
export class Turns {
  readonly #running = new Map<string, number>()

  take(userId: number, kind: "any" | "deep" = "any"): Disposable {
    const key = `${kind} ${userId}`
    const running = this.#running.get(key) ?? 0
    if (running >= (kind === "deep" ? mostDeep : mostAtOnce)) throw tooMany()
    this.#running.set(key, running + 1)
    return { [Symbol.dispose]: () => this.#leave(key) }
  }

  #leave(key: string): void {
    const left = (this.#running.get(key) ?? 1) - 1
    if (left === 0) this.#running.delete(key)
    else this.#running.set(key, left)
  }
}

const tooMany = (): Refusal =>
  new Refusal(429, "too_many_requests", "You have too many requests under way; try again when some have ended", {
    headers: { "Retry-After": "1" },
  })
