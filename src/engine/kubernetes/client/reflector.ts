import type { KubernetesObject } from "@kubernetes/client-node"
import { abortable, type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { ClusterClient } from "./cluster-client.ts"
import { isAccessDenied, unreachableError } from "./errors.ts"
import { GroupedItems, type GroupingOptions } from "./grouped-items.ts"

const firstWaitMs = 100
const maxWaitMs = 2_000
/** How long callers wait for the first list, or for the next one after a loss. */
const syncMs = 5_000
const pageSize = 500

interface ListPage<T> {
  items: T[]
  metadata?: { resourceVersion?: string; _continue?: string }
}

/** A page of a list, after the mark of the one before it. */
export interface PageRequest {
  limit: number
  _continue?: string
}

export interface ReflectorOptions<T> extends GroupingOptions<T> {
  client: ClusterClient
  /** The path of the collection, such as `/api/v1/namespaces/x/pods`. */
  path: string
  labelSelector?: string
  fieldSelector?: string
  list: (page: PageRequest, signal: AbortSignal) => Promise<ListPage<T>>
  /** The items that are kept. Default: all. */
  isWanted?: (item: T) => boolean
  /** Called with the last state of an item that was deleted while the watch was connected. */
  onDeleted?: (item: T) => void
  clock?: Clock | undefined
}

/**
 * A copy of a collection that a list began and a watch keeps current. After a lost connection the
 * watch continues where it ended. It lists again if the server has forgotten that point, and if no
 * server answered for a while: its database may be an older copy now, to which that point means
 * nothing.
 */
export class Reflector<T extends KubernetesObject> implements AsyncDisposable {
  readonly #options: ReflectorOptions<T>
  readonly #clock: Clock
  readonly #items: GroupedItems<T>
  readonly #listeners = new Set<() => void>()
  readonly #groupListeners = new Map<string, Set<() => void>>()
  readonly #closing = new AbortController()
  #synced = Promise.withResolvers<void>()
  #isSynced = false
  /** Whether the last attempt was refused. Nobody waits for the next one then. */
  #isRefused = false
  /** Whether the server ever gave the items. */
  #wasSynced = false
  #version: string | undefined
  #running: Promise<void> | undefined
  #lastError = "no list has arrived yet"

  constructor(options: ReflectorOptions<T>) {
    this.#options = options
    this.#items = new GroupedItems(options)
    this.#clock = options.clock ?? systemClock
  }

  /**
   * The items by name, as of the last message. Rejects with `engine_unreachable`: at once if there
   * never was the right to see them, else after some seconds. A server that starts refuses
   * everything until it has read the rights.
   */
  async items(signal?: AbortSignal): Promise<ReadonlyMap<string, T>> {
    this.#running ??= this.#run()
    if (!this.#isSynced) await this.#untilSynced(signal)
    return this.#items.all
  }

  /** Whether the items are current now, as far as the watch shows. */
  get isSynced(): boolean {
    return this.#isSynced
  }

  /** The items that are known now, current or not. */
  get known(): ReadonlyMap<string, T> {
    return this.#items.all
  }

  /** The known items that the option `isSelected` wants. */
  get selected(): ReadonlySet<T> {
    return this.#items.selected
  }

  /** The known items by group. */
  get groups(): T[][] {
    return this.#items.groups
  }

  /** The known items of a group. */
  group(name: string): T[] {
    return this.#items.group(name)
  }

  /** Forgets the items of a group, which come back only if they change. */
  forgetGroup(name: string): void {
    this.#items.removeGroup(name)
  }

  /** Calls the listener after each change and each new connection. Returns how to end that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** The same for changes of one group. */
  onGroupChange(name: string, listener: () => void): () => void {
    const listeners = this.#groupListeners.get(name) ?? new Set()
    this.#groupListeners.set(name, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#groupListeners.get(name) === listeners) this.#groupListeners.delete(name)
    }
  }

  /**
   * Resolves with the first result of `find` that is not undefined, among the states of the group
   * that follow. Rejects with what `find` throws, or with the signal's reason.
   */
  async until<R>(name: string, find: (group: T[]) => R | undefined, signal: AbortSignal): Promise<R> {
    await this.items(signal)
    for (;;) {
      signal.throwIfAborted()
      const changed = Promise.withResolvers<void>()
      const stop = this.onGroupChange(name, changed.resolve)
      try {
        const found = this.#isSynced ? find(this.group(name)) : undefined
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
      throw unreachableError(this.#lastError)
    })
    late.catch(() => {})
    await abortable(Promise.race([this.#synced.promise, late]), signal).finally(() => settled.abort())
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    let waitMs = firstWaitMs
    let isConnected = false
    while (!signal.aborted) {
      try {
        isConnected = false
        if (this.#version === undefined) await this.#list(signal)
        await this.#watch(signal, () => {
          waitMs = firstWaitMs
          isConnected = true
        })
      } catch (error) {
        if (signal.aborted) return
        if (!isConnected) this.#version = undefined
        this.#lastError = (error instanceof EngineError && error.detail) || String(error)
        this.#lose()
        this.#setRefused(!this.#wasSynced && isAccessDenied(error))
      }
      await this.#clock.sleep(waitMs * (0.5 + Math.random()), signal).catch(() => {})
      waitMs = Math.min(maxWaitMs, waitMs * 2)
    }
  }

  async #list(signal: AbortSignal): Promise<void> {
    const found: T[] = []
    let page: ListPage<T> | undefined
    do {
      const mark = page?.metadata?._continue
      page = await this.#options.list({ limit: pageSize, ...(mark && { _continue: mark }) }, signal)
      found.push(...page.items)
    } while (page.metadata?._continue)
    this.#items.clear()
    for (const item of found) this.#set(item)
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
    if (type === "DELETED") this.#options.onDeleted?.(item)
    this.#notify(type === "DELETED" ? this.#items.remove(item.metadata?.name ?? "") : this.#set(item))
  }

  /** Returns the groups that changed. */
  #set(item: T): string[] {
    if (this.#options.isWanted?.(item) === false) return []
    // The history of an object's fields is as large as the rest of it.
    delete item.metadata?.managedFields
    return this.#items.set(item)
  }

  #gain(): void {
    if (this.#isSynced) return
    this.#isSynced = true
    this.#wasSynced = true
    this.#isRefused = false
    this.#synced.resolve()
    this.#notify()
  }

  #lose(): void {
    if (!this.#isSynced) return
    this.#isSynced = false
    this.#synced = Promise.withResolvers()
  }

  #setRefused(isRefused: boolean): void {
    if (isRefused) {
      this.#synced.promise.catch(() => {})
      this.#synced.reject(unreachableError(this.#lastError))
    } else if (this.#isRefused) this.#synced = Promise.withResolvers()
    this.#isRefused = isRefused
  }

  /** Without groups, all may have changed. */
  #notify(groups: Iterable<string> = [...this.#groupListeners.keys()]): void {
    for (const listener of [...this.#listeners]) listener()
    for (const name of groups) for (const listener of [...(this.#groupListeners.get(name) ?? [])]) listener()
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
