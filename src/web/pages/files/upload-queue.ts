import { Failure } from "#contract"

/** A file to upload, and the path that it gets. */
export interface UploadSource {
  path: string
  /** The directory that exists; those between it and the file are made. */
  target: string
  file: Blob & { readonly lastModified?: number }
}

export type UploadState = "waiting" | "sending" | "done" | "exists" | "failed" | "skipped"

export interface UploadItem extends UploadSource {
  readonly id: number
  state: UploadState
  sentBytes: number
  error: unknown
  /** Whether an existing file may be replaced. */
  mayReplace: boolean
  /** The address of a resumable upload that began. */
  address: string | undefined
  /** How many of its bytes the server kept, at least. */
  keptBytes: number
  attempts: number
}

/** Sends one file. Rejects when it is aborted. */
export type UploadSender = (item: UploadItem, options: { signal: AbortSignal; onProgress: (bytes: number) => void }) => Promise<void>

/** The figures that a page shows. A new object after each change. */
export interface UploadSummary {
  files: number
  doneFiles: number
  bytes: number
  sentBytes: number
  isPaused: boolean
  isActive: boolean
  /** Why all uploads pause: the session ended. */
  stopReason: unknown
  /** Files that need a decision, the first hundred. */
  problems: readonly UploadItem[]
  /** How many need one in all: names that exist, and other failures. */
  existing: number
  failed: number
}

const maxAtOnce = 5
const maxAttempts = 8
const firstRetryMs = 1_000
const maxRetryMs = 15_000
const maxProblems = 100
/** Thousands of small files draw the page ten times a second, not for each file. */
const notifyMs = 100

/**
 * Uploads many files, a few at once. A lost connection is tried again; a file that exists, is
 * refused or finds no room waits for the person, while the others go on; an ended session pauses
 * everything.
 */
export class UploadQueue {
  readonly #send: UploadSender
  readonly #wait: (ms: number) => Promise<void>
  readonly #listeners = new Set<() => void>()
  readonly #items: UploadItem[] = []
  readonly #running = new Map<UploadItem, AbortController>()
  readonly #waiting: UploadItem[] = []
  #isPaused = false
  #stopReason: unknown
  #summary: UploadSummary | undefined
  #notifyTimer: ReturnType<typeof setTimeout> | undefined

  constructor(send: UploadSender, wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms))) {
    this.#send = send
    this.#wait = wait
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly getSummary = (): UploadSummary => {
    this.#summary ??= this.#summarize()
    return this.#summary
  }

  add(sources: readonly UploadSource[]): void {
    for (const source of sources) {
      const item: UploadItem = {
        ...source,
        id: this.#items.length,
        state: "waiting",
        sentBytes: 0,
        error: undefined,
        mayReplace: false,
        address: undefined,
        keptBytes: 0,
        attempts: 0,
      }
      this.#items.push(item)
      this.#waiting.push(item)
    }
    this.#fill()
  }

  pause(): void {
    this.#isPaused = true
    for (const controller of this.#running.values()) controller.abort()
    this.#changed()
  }

  resume(): void {
    this.#isPaused = false
    this.#stopReason = undefined
    this.#fill()
  }

  /** Tries a file again; `replace` allows it to replace the file of its name. */
  retry(item: UploadItem, options: { replace?: boolean } = {}): void {
    if (item.state !== "failed" && item.state !== "exists") return
    Object.assign(item, { state: "waiting", error: undefined, attempts: 0, mayReplace: item.mayReplace || options.replace === true })
    this.#waiting.push(item)
    this.#fill()
  }

  /** The same for all files in the state that need a decision. */
  retryAll(state: "exists" | "failed"): void {
    for (const item of this.#items.filter((each) => each.state === state)) this.retry(item, { replace: state === "exists" })
  }

  skipAll(): void {
    for (const item of this.#items) this.skip(item)
  }

  skip(item: UploadItem): void {
    if (item.state === "failed" || item.state === "exists") item.state = "skipped"
    this.#changed()
  }

  /** Ends everything and forgets it. */
  clear(): void {
    this.#waiting.length = 0
    for (const controller of this.#running.values()) controller.abort()
    this.#items.length = 0
    this.#isPaused = false
    this.#stopReason = undefined
    this.#changed()
  }

  #fill(): void {
    while (!this.#isPaused && this.#running.size < maxAtOnce) {
      const item = this.#waiting.shift()
      if (!item) break
      void this.#run(item)
    }
    this.#changed()
  }

  async #run(item: UploadItem): Promise<void> {
    const controller = new AbortController()
    this.#running.set(item, controller)
    item.state = "sending"
    try {
      await this.#send(item, {
        signal: controller.signal,
        onProgress: (bytes) => {
          item.sentBytes = bytes
          this.#changed()
        },
      })
      Object.assign(item, { state: "done", sentBytes: item.file.size })
    } catch (error) {
      await this.#handleError(item, error, controller.signal)
    } finally {
      this.#running.delete(item)
      this.#fill()
    }
  }

  async #handleError(item: UploadItem, error: unknown, signal: AbortSignal): Promise<void> {
    item.state = "waiting"
    if (signal.aborted) {
      if (this.#items.includes(item)) this.#waiting.unshift(item)
    } else if (isSignedOut(error)) {
      this.#waiting.unshift(item)
      this.#stopReason = error
      this.pause()
    } else if (isTemporary(error) && item.attempts < maxAttempts) {
      item.attempts += 1
      await this.#wait(Math.min(maxRetryMs, firstRetryMs * 2 ** (item.attempts - 1)))
      if (this.#items.includes(item)) this.#waiting.push(item)
    } else {
      Object.assign(item, { error, sentBytes: 0 })
      item.state = error instanceof Failure && error.status === 412 ? "exists" : "failed"
    }
  }

  #changed(): void {
    this.#summary = undefined
    this.#notifyTimer ??= setTimeout(() => {
      this.#notifyTimer = undefined
      for (const listener of this.#listeners) listener()
    }, notifyMs)
  }

  #summarize(): UploadSummary {
    const files = this.#items.filter(({ state }) => state !== "skipped")
    const existing = files.filter(({ state }) => state === "exists")
    const failed = files.filter(({ state }) => state === "failed")
    const sum = (numbers: number[]) => numbers.reduce((all, each) => all + each, 0)
    return {
      files: files.length,
      doneFiles: files.filter(({ state }) => state === "done").length,
      bytes: sum(files.map(({ file }) => file.size)),
      sentBytes: sum(files.map(({ sentBytes }) => sentBytes)),
      isPaused: this.#isPaused,
      isActive: this.#running.size > 0 || this.#waiting.length > 0,
      stopReason: this.#stopReason,
      problems: [...existing, ...failed].sort((a, b) => a.id - b.id).slice(0, maxProblems),
      existing: existing.length,
      failed: failed.length,
    }
  }
}

/** Every other file would fail, too. If one has no room, smaller ones may have. */
function isSignedOut(error: unknown): boolean {
  return error instanceof Failure && error.status === 401
}

function isTemporary(error: unknown): boolean {
  if (error instanceof Failure) return error.status === 429 || error.status === 423 || (error.status >= 500 && error.status !== 507)
  return error instanceof TypeError
}
