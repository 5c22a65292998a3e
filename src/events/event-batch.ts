import type { JournalRow } from "#store"
import type { EventVisibility, FeedPolicy, Subscriber } from "./feed-policy.ts"

const encoder = new TextEncoder()

/** An event in the format of server-sent events. */
export function formatEvent(event: { id: number; event: string; data: object }): string {
  return `id: ${event.id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`
}

/** Moves a reader's position without an event. */
export function formatPosition(id: number): string {
  return `id: ${id}\n\n`
}

/**
 * Consecutive rows, and what each subscriber gets of them. Every event is formatted once, and whole
 * responses once per audience.
 */
export class EventBatch<L extends Subscriber, Resources> {
  readonly last: number
  readonly #policy: FeedPolicy<L, Resources>
  readonly #rows: readonly JournalRow[]
  readonly #resources: Resources
  readonly #affectedUsers: ReadonlySet<number>
  readonly #byAudience = new Map<string, Uint8Array | undefined>()
  readonly #texts = new Map<string, string>()
  readonly #onSkipped: (row: JournalRow, error: unknown) => void
  readonly #skipped = new Set<JournalRow>()

  /**
   * A row that the policy cannot judge is skipped, and `onSkipped` is called once: it must not
   * stop everybody's events.
   */
  constructor(
    policy: FeedPolicy<L, Resources>,
    rows: readonly JournalRow[],
    read: { resources: Resources; onSkipped: (row: JournalRow, error: unknown) => void },
  ) {
    this.#policy = policy
    this.#rows = rows
    this.#resources = read.resources
    this.#onSkipped = read.onSkipped
    this.last = rows.at(-1)?.id ?? 0
    this.#affectedUsers = this.#findAffectedUsers()
  }

  #findAffectedUsers(): ReadonlySet<number> {
    const findAll = (rows: readonly JournalRow[]) => new Set(this.#policy.affectedUsers(rows, this.#resources))
    try {
      return findAll(this.#rows)
    } catch {
      const none = new Set<number>()
      return new Set(this.#rows.flatMap((row) => [...this.#unlessSkipped(row, none, () => findAll([row]))]))
    }
  }

  #unlessSkipped<T>(row: JournalRow, otherwise: T, judge: () => T): T {
    if (this.#skipped.has(row)) return otherwise
    try {
      return judge()
    } catch (error) {
      this.#skipped.add(row)
      this.#onSkipped(row, error)
      return otherwise
    }
  }

  /** The bytes for a subscriber of the rows after this one; undefined: nothing. */
  bytesFor(subscriber: L, after: number): Uint8Array | undefined {
    const isPart = after >= (this.#rows[0]?.id ?? 0)
    if (isPart || this.#affectedUsers.has(subscriber.userId)) return this.#make(subscriber, after)
    const name = this.#policy.audienceOf(subscriber)
    if (!this.#byAudience.has(name)) this.#byAudience.set(name, this.#make(subscriber, after))
    return this.#byAudience.get(name)
  }

  #make(subscriber: L, after: number): Uint8Array | undefined {
    let text = ""
    for (const row of this.#rows) {
      if (row.id <= after) continue
      const verdict = this.#unlessSkipped(row, "none" as const, () => this.#policy.visibilityOf(subscriber, row, this.#resources))
      if (verdict !== "none") text += this.#textOf(row, verdict)
    }
    return text === "" ? undefined : encoder.encode(text)
  }

  #textOf(row: JournalRow, verdict: Exclude<EventVisibility, "none">): string {
    const key = `${row.id} ${verdict}`
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = formatEvent(visibleEvent(row, verdict))
    this.#texts.set(key, text)
    return text
  }
}

function visibleEvent(row: JournalRow, verdict: Exclude<EventVisibility, "none">): { id: number; event: string; data: object } {
  const { id, event, data, resource } = row
  switch (verdict) {
    case "whole":
      return { id, event, data }
    case "outline":
      return { id, event, data: "Reason" in data ? { ...data, Reason: null } : data }
    case "gone":
      return { id, event: `${resource.type}.deleted`, data: { ID: resource.id } }
    case "reset":
      return { id, event: "reset", data: {} }
  }
}
