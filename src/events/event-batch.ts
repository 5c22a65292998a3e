import type { JournalRow } from "#store"
import type { FeedPolicy, Looker, Verdict } from "./feed-policy.ts"

const encoder = new TextEncoder()

/** One event as it is sent. */
export function eventText(event: { id: number; event: string; data: object }): string {
  return `id: ${event.id}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`
}

/** Moves a reader's place on without telling anything. */
export function placeText(id: number): string {
  return `id: ${id}\n\n`
}

/**
 * Rows that follow each other, and what each looker is sent of them. Every event is written once,
 * and whole answers once for each class of lookers.
 */
export class Batch<L extends Looker, Resources> {
  readonly last: number
  readonly #policy: FeedPolicy<L, Resources>
  readonly #rows: readonly JournalRow[]
  readonly #resources: Resources
  readonly #concerned = new Set<number>()
  readonly #byClass = new Map<string, Uint8Array | undefined>()
  readonly #texts = new Map<string, string>()

  constructor(policy: FeedPolicy<L, Resources>, rows: readonly JournalRow[], resources: Resources) {
    this.#policy = policy
    this.#rows = rows
    this.#resources = resources
    this.last = rows.at(-1)?.id ?? 0
    for (const row of rows) for (const userId of policy.concerned(row, resources)) this.#concerned.add(userId)
  }

  /** What they are sent of the rows after this one; undefined: nothing. */
  bytesFor(looker: L, after: number): Uint8Array | undefined {
    const isPart = after >= (this.#rows[0]?.id ?? 0)
    if (isPart || this.#concerned.has(looker.userId)) return this.#make(looker, after)
    const name = this.#policy.classOf(looker)
    if (!this.#byClass.has(name)) this.#byClass.set(name, this.#make(looker, after))
    return this.#byClass.get(name)
  }

  #make(looker: L, after: number): Uint8Array | undefined {
    let text = ""
    for (const row of this.#rows) {
      if (row.id <= after) continue
      const verdict = this.#policy.judge(looker, row, this.#resources)
      if (verdict !== "none") text += this.#textOf(row, verdict)
    }
    return text === "" ? undefined : encoder.encode(text)
  }

  #textOf(row: JournalRow, verdict: Exclude<Verdict, "none">): string {
    const key = `${row.id} ${verdict}`
    const known = this.#texts.get(key)
    if (known !== undefined) return known
    const text = eventText(told(row, verdict))
    this.#texts.set(key, text)
    return text
  }
}

function told(row: JournalRow, verdict: Exclude<Verdict, "none">): { id: number; event: string; data: object } {
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
