import { isLive } from "#contract"
import type { EngineError, RunAddress } from "#engine"
import type { RunRow } from "#store"
import { FairnessState, fairOrder, type QueuedRun } from "./admission/fair-order.ts"
import { type QueueConditions, WaitExplainer } from "./admission/wait-explanation.ts"
import { landingOf, upstreamHeaders } from "./lifecycle/engine-spec.ts"
import { ruleOfType, type WebSocketProtocol } from "./project-types.ts"

/** A live run as the gateway sees it. */
export interface CachedRun {
  readonly id: number
  readonly key: string
  readonly userId: number
  readonly projectId: number
  /** Identifies who decides what the run's pages do; other names contain the project's ID. */
  readonly authors: string
  readonly state: RunRow["state"]
  /** Known only while the run is `ready`. */
  readonly address: RunAddress | undefined
  readonly prefix: "keep" | "strip"
  readonly upstreamHeaders: Readonly<Record<string, string>>
  readonly landing: string
  readonly webSocketProtocol: WebSocketProtocol
}

export interface RunListener {
  /** After each COMMIT that changed the run. */
  changed(run: RunRow): void
  /** A step that the run waits for failed and will be retried. */
  errored?(error: EngineError): void
}

/** IDs of ended runs for which a late reader could still bring an older row. */
const maxEndedIds = 1_000

/**
 * The last committed row and the address of every live run. Older versions are ignored, in whatever
 * order they arrive.
 */
export class RunCache {
  readonly #rows = new Map<number, RunRow>()
  readonly #targets = new Map<number, CachedRun>()
  readonly #ids = new Map<string, number>()
  readonly #endedIds = new Set<number>()
  /** As observed by this process: a restart forgets turns of people whose runs ended. */
  readonly fairnessFacts = new FairnessState()
  #queueConditions: QueueConditions | undefined
  #waitExplainer: WaitExplainer | undefined
  #positions: ReadonlyMap<number, number> | undefined
  readonly #listeners = new Map<number, Set<RunListener>>()
  readonly #changeListeners = new Set<(run: RunRow) => void>()

  /** Calls the listener with each new version of a row, before those who wait for the run. */
  onChange(listener: (run: RunRow) => void): Disposable {
    this.#changeListeners.add(listener)
    return { [Symbol.dispose]: () => void this.#changeListeners.delete(listener) }
  }

  row(id: number): RunRow | undefined {
    return this.#rows.get(id)
  }

  /** Whether the cache has this version of a run, or a later one, or saw its end. */
  isCurrent(id: number, version: number): boolean {
    return this.#endedIds.has(id) || (this.#rows.get(id)?.version ?? 0) >= version
  }

  /** Oldest first. */
  rows(): RunRow[] {
    return [...this.#rows.values()].sort((a, b) => a.id - b.id)
  }

  /** The queue in fair order, optionally with a run that might join it as the last one. */
  queue(joining?: QueuedRun): QueuedRun[] {
    const rows = this.rows()
    const queued: QueuedRun[] = rows.filter(isQueued)
    if (joining) queued.push(joining)
    return fairOrder(
      queued,
      rows.filter((run) => !isQueued(run)),
      this.fairnessFacts,
    )
  }

  /** From 1; null when the run does not wait. */
  queuePosition(id: number): number | null {
    if (this.#rows.get(id)?.state !== "queued") return null
    this.#positions ??= new Map(this.queue().map((run, i) => [run.id, i + 1]))
    return this.#positions.get(id) ?? null
  }

  /** When the queue is served. */
  setQueueConditions(conditions: QueueConditions): void {
    this.#queueConditions = conditions
    this.#positions = undefined
    this.#waitExplainer = undefined
  }

  /** One sentence; null when the run does not wait. */
  waitsFor(id: number): string | null {
    const position = this.queuePosition(id)
    const run = this.#rows.get(id)
    if (!run || position === null) return null
    if (!this.#queueConditions) return "waits to be started"
    this.#waitExplainer ??= new WaitExplainer(this.#queueConditions, this.rows())
    return this.#waitExplainer.explain(run, position - 1)
  }

  target(id: number): CachedRun | undefined {
    return this.#targets.get(id)
  }

  targetByKey(key: string): CachedRun | undefined {
    return this.#targets.get(this.#ids.get(key) ?? -1)
  }

  targets(): CachedRun[] {
    return [...this.#targets.values()]
  }

  publish(run: RunRow, address?: RunAddress): void {
    const before = this.#rows.get(run.id)
    if (this.#endedIds.has(run.id) || (before && before.version >= run.version)) return
    this.#positions = undefined
    this.#waitExplainer = undefined
    if (run.startTime !== null) this.fairnessFacts.recordServed(run.userId, run.startTime)
    if (isLive(run.state)) this.#store(run, address ?? this.#targets.get(run.id)?.address)
    else this.#remove(run)
    for (const listener of [...this.#changeListeners]) listener(run)
    for (const listener of [...(this.#listeners.get(run.id) ?? [])]) listener.changed(run)
  }

  setAddress(id: number, address: RunAddress | undefined): void {
    const run = this.#rows.get(id)
    if (run) this.#store(run, address)
  }

  reportError(id: number, error: EngineError): void {
    for (const listener of [...(this.#listeners.get(id) ?? [])]) listener.errored?.(error)
  }

  listen(id: number, listener: RunListener): Disposable {
    const listeners = this.#listeners.get(id) ?? new Set()
    this.#listeners.set(id, listeners.add(listener))
    return {
      [Symbol.dispose]: () => {
        listeners.delete(listener)
        if (listeners.size === 0 && this.#listeners.get(id) === listeners) this.#listeners.delete(id)
      },
    }
  }

  #store(run: RunRow, address: RunAddress | undefined): void {
    const { id, key, userId, projectId, state } = run
    const { prefix, webSocketProtocol } = ruleOfType(run.spec.type)
    const readyAddress = state === "ready" ? address : undefined
    this.#rows.set(id, run)
    this.#ids.set(key, id)
    const { authors = `${projectId}:unknown` } = run.spec
    const common = { id, key, userId, projectId, authors, state, prefix, landing: landingOf(run.spec), webSocketProtocol }
    this.#targets.set(id, { ...common, address: readyAddress, upstreamHeaders: upstreamHeaders(run) })
  }

  #remove(run: RunRow): void {
    this.#rows.delete(run.id)
    this.#targets.delete(run.id)
    this.#ids.delete(run.key)
    this.#endedIds.add(run.id)
    if (this.#endedIds.size > maxEndedIds) this.#endedIds.delete(this.#endedIds.values().next().value ?? -1)
  }
}

function isQueued({ state }: RunRow): boolean {
  return state === "queued"
}
