import type { KubernetesObject } from "@kubernetes/client-node"
import { abortable, type Clock, systemClock } from "#kit"
import type { ClusterClient } from "./cluster-client.ts"
import { unreachable } from "./errors.ts"

const firstWaitMs = 100
const maxWaitMs = 2_000
/** How long callers wait for the first list, or for the next one after a loss. */
const syncMs = 5_000
const goneStatus = 410

interface ListPage<T> {
  items: T[]
  metadata?: { resourceVersion?: string; _continue?: string }
}

export interface ReflectorOptions<T> {
  client: ClusterClient
  /** The path of the collection, such as `/api/v1/namespaces/x/pods`. */
  path: string
  labelSelector?: string
  fieldSelector?: string
  /** One page, after the given mark. */
  list: (mark: string | undefined, signal: AbortSignal) => Promise<ListPage<T>>
  clock?: Clock | undefined
}

/**
 * A copy of a collection that a list began and a watch keeps current. After a lost connection the
 * watch continues where it ended, and lists again only if the server has forgotten that point.
 */
export class Reflector<T extends KubernetesObject> implements AsyncDisposable {
  readonly #options: ReflectorOptions<T>
  readonly #clock: Clock
  readonly #items = new Map<string, T>()
  readonly #listeners = new Set<() => void>()
  readonly #closing = new AbortController()
  #synced = Promise.withResolvers<void>()
  #isSynced = false
  #version: string | undefined
  #running: Promise<void> | undefined
  #lastError = "no list has arrived yet"

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
  }

  /** The items by name, as of the last message. Rejects with `engine_unreachable`. */
  async items(signal?: AbortSignal): Promise<ReadonlyMap<string, T>> {
    this.#running ??= this.#run()
    if (!this.#isSynced) await this.#untilSynced(signal)
    return this.#items
  }

  /** The items that are known now, current or not. */
  get known(): ReadonlyMap<string, T> {
    return this.#items
  }

  /** Calls the listener after each change and each new connection. Returns how to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Resolves with the first result of `find` that is not undefined, among the states that follow.
   * Rejects with what `find` throws, or with the signal's reason.
   */
  async until<R>(find: (items: ReadonlyMap<string, T>) => R | undefined, signal: AbortSignal): Promise<R> {
    await this.items(signal)
    for (;;) {
      signal.throwIfAborted()
      const changed = Promise.withResolvers<void>()
      const stop = this.onChange(changed.resolve)
      try {
        const found = this.#isSynced ? find(this.#items) : undefined
        if (found !== undefined) return found
        await abortable(changed.promise, signal)
      } finally {
        stop()
      }
    }
  }

  async #untilSynced(signal: AbortSignal | undefined): Promise<void> {
    const settled = new AbortController()
    const late = this.#clock.sleep(syncMs, settled.signal).then(() => {
      throw unreachable(this.#lastError)
    })
    late.catch(() => {})
    await abortable(Promise.race([this.#synced.promise, late]), signal).finally(() => settled.abort())
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    let waitMs = firstWaitMs
    while (!signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list(signal)
        await this.#watch(signal, () => {
          waitMs = firstWaitMs
        })
      } catch (error) {
        if (signal.aborted) return
        this.#lastError = error instanceof Error ? error.message : String(error)
        this.#lose()
      }
      await this.#clock.sleep(waitMs * (0.5 + Math.random()), signal).catch(() => {})
      waitMs = Math.min(maxWaitMs, waitMs * 2)
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const found = new Map<string, T>()
    let page: ListPage<T> | undefined
    do {
      page = await this.#options.list(page?.metadata?._continue, signal)
      for (const item of page.items) found.set(item.metadata?.name ?? "", item)
    } while (page.metadata?._continue)
    this.#items.clear()
    for (const [name, item] of found) this.#items.set(name, item)
    this.#version = page.metadata?.resourceVersion
  }

  /** Resolves when the server or an idle connection ended the watch; rejects if it was lost. */
  async #watch(signal: AbortSignal, connected: () => void): Promise<void> {
    const { client, path, labelSelector, fieldSelector } = this.#options
    const ended = Promise.withResolvers<void>()
    let hasEnded = false
    const onDone = (error: unknown) => {
      hasEnded = true
      if (error && !isIdle(error)) ended.reject(error)
      else ended.resolve()
    }
    const query = { labelSelector, fieldSelector, allowWatchBookmarks: true, resourceVersion: this.#version }
    client.requests += 1
    const watch = new client.library.Watch(client.config)
    const controller = await watch.watch(path, query, (type, item, event) => this.#receive(type, item, event), onDone)
    const abort = () => controller.abort()
    signal.addEventListener("abort", abort, { once: true })
    if (signal.aborted) abort()
    if (!hasEnded) {
      connected()
      this.#gain()
    }
    try {
      await ended.promise
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode === goneStatus) this.#version = undefined
      throw error
    } finally {
      signal.removeEventListener("abort", abort)
    }
  }

  #receive(type: string, item: T & { code?: number }, event: unknown): void {
    if (type === "ERROR") {
      // The server has forgotten this point, and ends the watch.
      this.#version = undefined
      this.#lastError = JSON.stringify(event)
      this.#lose()
      return
    }
    this.#version = item.metadata?.resourceVersion ?? this.#version
    if (type === "BOOKMARK") return
    const name = item.metadata?.name ?? ""
    if (type === "DELETED") this.#items.delete(name)
    else this.#items.set(name, item)
    this.#notify()
  }

  #gain(): void {
    if (this.#isSynced) return
    this.#isSynced = true
    this.#synced.resolve()
    this.#notify()
  }

  #lose(): void {
    if (!this.#isSynced) return
    this.#isSynced = false
    this.#synced = Promise.withResolvers()
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort()
    await this.#running
  }
}

/** The library ends a connection on which nothing arrived for a while. */
function isIdle(error: unknown): boolean {
  return error instanceof Error && error.name === "TimeoutError"
}
