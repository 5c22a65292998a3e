import { Failure } from "#contract"
import type { Access, Authority, Identified, Refused } from "../access/authority.ts"
import type { StorageQuota } from "../storage/storage.ts"
import type { ToMain, ToWorker } from "./messages.ts"

/** A main process that takes longer is as good as none. */
const patienceMs = 15_000

/** Refusals are gathered for so long, and so many kinds of them at most. */
const gatherMs = 1_000
const kindsMax = 500

type Answer = Extract<ToWorker, { type: "identified" | "accesses" | "areasTold" | "storageTold" }>

/** In the worker: the authority of the main process, asked over the channel. */
export class AuthorityProxy implements Authority {
  readonly #tell: (message: ToMain) => void
  readonly #waiting = new Map<number, (answer: Answer["answer"]) => void>()
  #refused = new Map<string, Refused>()
  #gathering: NodeJS.Timeout | undefined
  #id = 0

  constructor(tell: (message: ToMain) => void) {
    this.#tell = tell
  }

  identify(authorization: string | undefined, address: string): Promise<Identified> {
    return this.#ask((id) => ({ type: "identify", id, authorization, address }))
  }

  access(userId: number, paths: readonly string[]): Promise<Access[]> {
    return this.#ask((id) => ({ type: "access", id, userId, paths }))
  }

  areas(paths: readonly string[]): Promise<string[]> {
    return this.#ask((id) => ({ type: "areas", id, paths }))
  }

  async storage(account: string): Promise<StorageQuota | null> {
    const [quota] = await this.#ask<[StorageQuota | null]>((id) => ({ type: "storage", id, account }))
    return quota
  }

  /** A flood of refusals is a message a second. */
  refused(refusal: Refused): void {
    const key = JSON.stringify([refusal.userName, refusal.isWrite, refusal.code])
    const known = this.#refused.get(key)
    if (known) known.count += refusal.count
    else this.#refused.set(key, { ...refusal })
    this.#gathering ??= setTimeout(() => this.handOver(), gatherMs)
    if (this.#refused.size >= kindsMax) this.handOver()
  }

  /** Tells the main process what was gathered. */
  handOver(): void {
    clearTimeout(this.#gathering)
    this.#gathering = undefined
    const refusals = [...this.#refused.values()]
    this.#refused = new Map()
    if (refusals.length > 0) this.#tell({ type: "refused", refusals })
  }

  answer(message: Answer): void {
    this.#waiting.get(message.id)?.(message.answer)
  }

  #ask<T>(question: (id: number) => ToMain): Promise<T> {
    this.#id += 1
    const id = this.#id
    return new Promise((resolve, reject) => {
      const settle = (answer: Answer["answer"]) => {
        clearTimeout(timer)
        this.#waiting.delete(id)
        if (answer === null) reject(cannotTell())
        else resolve(answer as T)
      }
      const timer = setTimeout(settle, patienceMs, null)
      this.#waiting.set(id, settle)
      this.#tell(question(id))
    })
  }
}

const cannotTell = (): Failure =>
  new Failure("unavailable", "It cannot be found out at present what you may do; try again", { headers: { "Retry-After": "1" } })
