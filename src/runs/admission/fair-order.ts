import type { RunRow } from "#store"
import type { ResourceRequest } from "./resource-request.ts"

/**
 * How much later a person or a group that holds the whole capacity is served than one that holds
 * none.
 */
const maxPenaltyMs = 24 * 3_600_000

type Amounts = Pick<ResourceRequest, "cpus" | "memoryMiB" | "gpus">

const nothing: Amounts = { cpus: 0, memoryMiB: 0, gpus: 0 }

/** The fields of a queued run that decide its position. */
export type QueuedRun = Amounts & Pick<RunRow, "id" | "userId" | "createdAt">

/** A run that holds its resources. */
export type AllocatedRun = Amounts & Pick<RunRow, "userId">

/** Maximum number of people who are remembered. */
const maxPeople = 10_000

/** The facts that fair order uses beside the runs. */
export class FairnessState {
  #capacity: Amounts | undefined
  readonly #groups = new Map<number, readonly number[]>()
  /**
   * The time from which each person waits for their next turn; `Infinity` while nobody else was
   * served after them.
   */
  readonly #waitingSince = new Map<number, number>()
  #last = new Set<number>()
  #lastAt = Number.NEGATIVE_INFINITY

  /** The sum of all nodes; undefined until it is known. */
  get capacity(): Amounts | undefined {
    return this.#capacity
  }

  setCapacity(nodes: readonly { cpus: number; memoryMiB: number; gpus: readonly unknown[] }[]): void {
    this.#capacity = nodes.map((node) => ({ ...node, gpus: node.gpus.length })).reduce(sum, nothing)
  }

  /** IDs of the person's groups, as of their last start. */
  groupsOf(userId: number): readonly number[] {
    return this.#groups.get(userId) ?? []
  }

  setGroups(groupIds: ReadonlyMap<number, readonly number[]>): void {
    for (const [userId, ids] of groupIds) remember(this.#groups, userId, ids)
  }

  waitingSince(userId: number): number {
    return this.#waitingSince.get(userId) ?? Number.NEGATIVE_INFINITY
  }

  /**
   * Records that a run of the person left the queue, or started at once, at this time. Calls may
   * repeat, and may come in any order.
   */
  recordServed(userId: number, at: number): void {
    if (at > this.#lastAt) {
      for (const person of this.#last) remember(this.#waitingSince, person, at)
      this.#last = new Set()
      this.#lastAt = at
    }
    if (at === this.#lastAt) this.#last.add(userId)
    const since = this.#last.has(userId) ? Number.POSITIVE_INFINITY : Math.max(at, this.waitingSince(userId))
    remember(this.#waitingSince, userId, since)
  }
}

function remember<T>(map: Map<number, T>, userId: number, value: T): void {
  // A renewed entry moves to the end, so the first one is the oldest.
  map.delete(userId)
  map.set(userId, value)
  if (map.size > maxPeople) map.delete(map.keys().next().value ?? -1)
}

/**
 * Sorts queued runs into fair order: by the time from which they wait, their request or the moment
 * when somebody was served after their person, plus a penalty for the shares of the capacity that
 * the person and their groups hold. A person's older queued runs count as held, so people take
 * turns. The penalty of a share has a maximum, so nobody waits for ever.
 */
export function fairOrder<Run extends QueuedRun>(queued: readonly Run[], holding: readonly AllocatedRun[], facts: FairnessState): Run[] {
  const shares = new Shares(holding, facts)
  const latest = queued.reduce((max, { createdAt }) => Math.max(max, createdAt), 0)
  const ranked = [...queued]
    .sort((a, b) => a.id - b.id)
    .map((run) => {
      // The person served last waits behind all others, even if their run has ended.
      const since = Math.min(facts.waitingSince(run.userId), latest + 1)
      const rank = Math.max(run.createdAt, since) + maxPenaltyMs * shares.of(run.userId)
      shares.countAsHeld(run)
      return { run, rank }
    })
  return ranked.sort((a, b) => a.rank - b.rank || a.run.id - b.run.id).map(({ run }) => run)
}

class Shares {
  readonly #facts: FairnessState
  readonly #total: Amounts
  readonly #heldByPerson = new Map<number, Amounts>()
  readonly #heldByGroup = new Map<number, Amounts>()

  constructor(holding: readonly AllocatedRun[], facts: FairnessState) {
    this.#facts = facts
    const { cpus, memoryMiB, gpus } = facts.capacity ?? holding.reduce(sum, nothing)
    this.#total = { cpus: Math.max(1, cpus), memoryMiB: Math.max(1, memoryMiB), gpus: Math.max(1, gpus) }
    for (const run of holding) {
      this.countAsHeld(run)
      for (const group of facts.groupsOf(run.userId)) add(this.#heldByGroup, group, run)
    }
  }

  countAsHeld(run: AllocatedRun): void {
    add(this.#heldByPerson, run.userId, run)
  }

  /** The person's share and that of the largest of their groups. */
  of(userId: number): number {
    const ofGroups = this.#facts.groupsOf(userId).map((group) => this.#dominant(this.#heldByGroup.get(group)))
    return this.#dominant(this.#heldByPerson.get(userId)) + Math.max(0, ...ofGroups)
  }

  /** The largest share of any resource. */
  #dominant({ cpus, memoryMiB, gpus }: Amounts = nothing): number {
    return Math.max(cpus / this.#total.cpus, memoryMiB / this.#total.memoryMiB, gpus / this.#total.gpus)
  }
}

function sum(a: Amounts, b: Amounts): Amounts {
  return { cpus: a.cpus + b.cpus, memoryMiB: a.memoryMiB + b.memoryMiB, gpus: a.gpus + b.gpus }
}

function add(held: Map<number, Amounts>, key: number, run: Amounts): void {
  held.set(key, sum(held.get(key) ?? nothing, run))
}
