import { randomBytes } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import pg from "pg"
import type { Logger } from "#kit"
import type { Notice, Notices } from "../driver.ts"

/** A connection that breaks without a word is noticed within twice this time. */
const pingEveryMs = 2_000
const maxRetryMs = 2_000

export interface NoticesOptions {
  config: pg.ClientConfig
  logger: Logger
}

/**
 * Listens on a connection of its own to what the triggers of the database tell (migration 16). A
 * lost connection is replaced; what was missed meanwhile is one notice, `gap`.
 */
export class PostgresNotices implements Notices, AsyncDisposable {
  readonly #options: NoticesOptions
  readonly #listeners = new Set<(notice: Notice) => void>()
  readonly #closing = new AbortController()
  /** Tells this process's own messages apart. */
  readonly #sender = randomBytes(8).toString("hex")
  #client: pg.Client | undefined
  #running: Promise<void> | undefined

  constructor(options: NoticesOptions) {
    this.#options = options
  }

  get isListening(): boolean {
    return this.#client !== undefined
  }

  tell(topic: string, text: string): void {
    const payload = `message ${this.#sender} ${topic} ${text}`
    this.#client
      ?.query("select pg_notify('quayside', $1)", [payload])
      .catch((err: unknown) => this.#options.logger.warn({ err, topic }, "other processes were not told"))
  }

  /** The first listener opens the connection. */
  on(listener: (notice: Notice) => void): Disposable {
    this.#listeners.add(listener)
    this.#running ??= this.#run()
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) }
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    let retryMs = 50
    while (!signal.aborted) {
      try {
        await this.#listen(() => {
          retryMs = 50
        })
      } catch (err) {
        if (signal.aborted) return
        this.#options.logger.warn({ err }, "changes by other processes are not told for now: the connection to the database broke")
      } finally {
        this.#client = undefined
      }
      await pause(retryMs, undefined, { signal }).catch(() => {})
      retryMs = Math.min(maxRetryMs, retryMs * 2)
    }
  }

  /** Rejects when the connection is lost; resolves when this is disposed of. */
  async #listen(onConnected: () => void): Promise<void> {
    const { signal } = this.#closing
    const client = new pg.Client(this.#options.config)
    const lost = Promise.withResolvers<never>()
    lost.promise.catch(() => {})
    client.on("error", lost.reject)
    client.on("end", () => lost.reject(new Error("The connection ended")))
    client.on("notification", ({ payload = "" }) => this.#receive(payload))
    try {
      await client.connect()
      await client.query("listen quayside")
      this.#client = client
      onConnected()
      this.#tell({ kind: "gap" })
      while (!signal.aborted) {
        await Promise.race([pause(pingEveryMs, undefined, { signal }).catch(() => {}), lost.promise])
        if (!signal.aborted)
          await Promise.race([client.query({ text: "select 1", query_timeout: pingEveryMs } as pg.QueryConfig), lost.promise])
      }
    } finally {
      void client.end().catch(() => {})
    }
  }

  #receive(payload: string): void {
    const [, sender, topic, text] = /^message (\S+) (\S+) (.*)$/s.exec(payload) ?? []
    if (sender === undefined) this.#tell(parse(payload))
    else if (sender !== this.#sender) this.#tell({ kind: "message", topic: topic ?? "", text: text ?? "" })
  }

  #tell(notice: Notice): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(notice)
      } catch (err) {
        this.#options.logger.error({ err, notice }, "a change by another process was not taken over")
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#running
  }
}

/** An unknown text comes from a newer version, and may mean anything. */
function parse(payload: string): Notice {
  const [kind, id, version] = payload.split(" ")
  if (kind === "journal" || kind === "people") return { kind }
  if (kind === "person" && Number.isSafeInteger(Number(id))) return { kind, id: Number(id) }
  if (kind === "run" && Number.isSafeInteger(Number(id))) return { kind, id: Number(id), version: Number(version) }
  return { kind: "gap" }
}
