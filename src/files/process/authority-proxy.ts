import { Failure } from "#contract"
import type { Authority, IdentifyOptions, IdentifyResult, PathAccess, RefusalSummary } from "../access/authority.ts"
import type { StorageQuota } from "../storage/storage.ts"
import type { MessageToMain, MessageToWorker } from "./messages.ts"

/** A main process that takes longer counts as unavailable. */
const replyTimeoutMs = 15_000

/** Refusals are collected for this long, up to this many distinct ones. */
const batchMs = 1_000
const maxKinds = 500

type Reply = Extract<MessageToWorker, { type: "identifyReply" | "accessReply" | "areasReply" | "storageReply" }>

/** In the worker: the authority of the main process, asked over the channel. */
export class AuthorityProxy implements Authority {
  readonly #send: (message: MessageToMain) => void
  readonly #pending = new Map<number, (answer: Reply["answer"]) => void>()
  #refused = new Map<string, RefusalSummary>()
  #flushTimer: NodeJS.Timeout | undefined
  #lastId = 0

  constructor(send: (message: MessageToMain) => void) {
    this.#send = send
  }

  identify(authorization: string | undefined, address: string, options: IdentifyOptions = {}): Promise<IdentifyResult> {
    return this.#ask((id) => ({ type: "identify", id, authorization, address, options }))
  }

  access(userId: number, paths: readonly string[]): Promise<PathAccess[]> {
    return this.#ask((id) => ({ type: "access", id, userId, paths }))
  }

  mountAreas(paths: readonly string[]): Promise<string[]> {
    return this.#ask((id) => ({ type: "areas", id, paths }))
  }

  async storageQuota(account: string): Promise<StorageQuota | null> {
    const [quota] = await this.#ask<[StorageQuota | null]>((id) => ({ type: "storage", id, account }))
    return quota
  }

  /** A flood of refusals becomes one message a second. */
  recordRefusals(refusal: RefusalSummary): void {
    const key = JSON.stringify([refusal.userName, refusal.isWrite, refusal.code])
    const known = this.#refused.get(key)
    if (known) known.count += refusal.count
    else this.#refused.set(key, { ...refusal })
    this.#flushTimer ??= setTimeout(() => this.flushRefusals(), batchMs)
    if (this.#refused.size >= maxKinds) this.flushRefusals()
  }

  /** Sends the collected refusals to the main process. */
  flushRefusals(): void {
    clearTimeout(this.#flushTimer)
    this.#flushTimer = undefined
    const refusals = [...this.#refused.values()]
    this.#refused = new Map()
    if (refusals.length > 0) this.#send({ type: "refusals", refusals })
  }

  handleReply(message: Reply): void {
    this.#pending.get(message.id)?.(message.answer)
  }

  #ask<T>(question: (id: number) => MessageToMain): Promise<T> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise((resolve, reject) => {
      const settle = (answer: Reply["answer"]) => {
        clearTimeout(timer)
        this.#pending.delete(id)
        if (answer === null) reject(authorityUnavailable())
        else resolve(answer as T)
      }
      const timer = setTimeout(settle, replyTimeoutMs, null)
      this.#pending.set(id, settle)
      this.#send(question(id))
    })
  }
}

const authorityUnavailable = (): Failure =>
  new Failure("unavailable", "Your rights cannot be determined at present; try again", { headers: { "Retry-After": "1" } })
