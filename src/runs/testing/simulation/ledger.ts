import type { FakeContainer } from "#engine"
import type { Change, RunRow } from "#store"
import { type AnyMethod, wrapMethods } from "../wrap-methods.ts"
import { type People, peopleLimits, type Totals, totalsOf } from "./people.ts"
import type { Record } from "./record.ts"

/** The moves of `runs/DESIGN.md` a second time, since the code's own table is under test. */
export const allowedMoves: Readonly<{ [from: string]: readonly string[] }> = {
  new: ["pulling", "queued", "failed"],
  lost: ["starting"],
  queued: ["pulling", "stopping", "failed"],
  pulling: ["creating", "stopping", "failed"],
  creating: ["starting", "stopping", "failed"],
  starting: ["ready", "stopping", "failed"],
  ready: ["stopping"],
  stopping: ["ended", "failed"],
}

/** One COMMIT may pass several of them. */
const launchStates = ["pulling", "creating", "starting", "ready"]

const changes = ["transition", "update"] as const
type Move = { by: "insert" | "insertAs" | (typeof changes)[number]; row: RunRow } | { by: "prune"; keys: readonly string[] }

/** A rule of the simulation was broken. */
export class BrokenRule extends Error {
  override readonly name = "BrokenRule"
}

/** The transaction as the code under test uses it, and the moves that it will have made. */
export function recordMoves(tx: Change, isTold: () => boolean): { recorded: Change; moves: Move[] } {
  const moves: Move[] = []
  const runs = wrapMethods(tx.runs, (name, method): AnyMethod => {
    if (name === "prune")
      return async (...args) => {
        const pruned = (await method(...args)) as { key: string }[]
        moves.push({ by: "prune", keys: pruned.map(({ key }) => key) })
        return pruned
      }
    if (name !== "insert" && name !== "insertAs" && !isChange(name)) return method
    return async (...args) => {
      const row = (await method(...args)) as RunRow | undefined
      if (row) moves.push({ by: name, row })
      return row
    }
  })
  const afterCommit: AnyMethod = (effect) => tx.afterCommit(() => isTold() && (effect as () => void)())
  return { recorded: wrapMethods(tx, (name, method) => (name === "afterCommit" ? afterCommit : method), { runs }), moves }
}

export interface Machine {
  cpus: number
  memoryMiB: number
  containers: ReadonlyMap<string, FakeContainer>
}

/** Every committed row, with the rules that each COMMIT must keep. */
export class Ledger {
  readonly machine: Machine
  readonly people: People
  readonly #record: Record
  #rows = new Map<number, RunRow>()
  /** Whether a row changed since this was last set to false. */
  isChanged = true
  readonly #prunedKeys = new Set<string>()
  readonly #queuedInBackup = new Set<string>()
  /** The first broken rule. Kept, since an exception inside an effect of COMMIT is only logged. */
  broken: BrokenRule | undefined

  constructor(machine: Machine, people: People, record: Record) {
    this.machine = machine
    this.people = people
    this.#record = record
  }

  row(id: number): RunRow | undefined {
    return this.#rows.get(id)
  }

  byKey(key: string): RunRow | undefined {
    return [...this.#rows.values()].find((row) => row.key === key)
  }

  /** Whether the run is over, perhaps long ago. */
  hasEnded({ id, key }: RunRow): boolean {
    return this.#prunedKeys.has(key) || this.row(id)?.endTime != null
  }

  /** A run that was queued in the backup may have been started since; the next look removes it. */
  hasContainerAfterEnd(key: string): boolean {
    return this.machine.containers.has(key) && !this.#queuedInBackup.has(key)
  }

  isKnown({ id, key }: RunRow): boolean {
    return this.#prunedKeys.has(key) || this.row(id)?.key === key
  }

  live(): RunRow[] {
    return [...this.#rows.values()].filter(({ state }) => state !== "ended" && state !== "failed").sort((a, b) => a.id - b.id)
  }

  /** Those that hold resources. */
  admitted(): RunRow[] {
    return this.live().filter(({ state }) => state !== "queued")
  }

  copy(): ReadonlyMap<number, RunRow> {
    return new Map(this.#rows)
  }

  /** The rows of an older database take the place of these. */
  restore(rows: ReadonlyMap<number, RunRow>): void {
    this.#rows = new Map(rows)
    this.isChanged = true
    for (const { state, key } of rows.values()) if (state === "queued") this.#queuedInBackup.add(key)
  }

  commit(moves: readonly Move[]): void {
    this.isChanged = true
    this.check(() => {
      for (const move of moves) this.#apply(move)
    })
  }

  /** Makes a check outside of COMMIT, whose breach the next look finds. */
  check(work: () => void): void {
    try {
      work()
    } catch (error) {
      this.broken ??= error instanceof BrokenRule ? error : new BrokenRule(String(error))
    }
  }

  require(isKept: boolean, rule: string): void {
    if (!isKept) throw new BrokenRule(rule)
  }

  #apply(move: Move): void {
    if (move.by === "prune") this.#prune(move.keys)
    else this.#applyRow(move)
  }

  #applyRow({ row, by }: Extract<Move, { row: RunRow }>): void {
    const before = this.#rows.get(row.id)
    const name = `run ${row.id}`
    this.require(isChange(by) === (before !== undefined), `${name} was inserted once`)
    this.#rows.set(row.id, row)
    this.#checkIdentity(name, row, before)
    const from = before?.state ?? (by === "insertAs" ? "lost" : "new")
    if (from === row.state) this.require(from !== "ended" && from !== "failed", `${name} changed after its end`)
    else for (const [was, state] of movesBetween(from, row.state)) this.#checkMove(name, { ...row, state }, was)
  }

  #checkMove(name: string, row: RunRow, from: string): void {
    this.#record.move(from, row.state, `${name} ${row.reason?.code ?? ""}`)
    this.require(allowedMoves[from]?.includes(row.state) ?? false, `${name} went from ${from} to ${row.state}`)
    this.#checkEnd(name, row)
    this.#checkDevices(name, row)
    if (row.state === "pulling") this.#checkAdmission(name, row)
    if (row.state === "queued") this.#checkTotals(name, row, this.live(), "MaxQueued")
    if (from === "new" && row.state !== "failed") this.#checkTotals(name, row, this.live(), "MaxRuns", "MaxCpus", "MaxGpus")
  }

  #prune(keys: readonly string[]): void {
    for (const key of keys) {
      const row = this.byKey(key)
      this.require(row?.endTime != null, `only ended runs are pruned, and ${key} was not`)
      if (row) this.#rows.delete(row.id)
      this.#prunedKeys.add(key)
    }
  }

  #checkIdentity(name: string, row: RunRow, before: RunRow | undefined): void {
    const twins = this.live().filter(({ userId, projectId }) => userId === row.userId && projectId === row.projectId)
    this.require(twins.length <= 1, `a person has one live run of a project, not ${twins.map(({ id }) => id).join(" and ")}`)
    if (!before) return
    this.require(before.key === row.key && before.version < row.version, `${name} keeps its key, and its version grows`)
    if (before.reason)
      this.require(
        before.reason.code === row.reason?.code,
        `${name} keeps its first reason, ${before.reason.code}, and does not get ${row.reason?.code}`,
      )
  }

  /** `ended` and `failed` mean that the engine has no container of the run. */
  #checkEnd(name: string, { state, key, reason, endTime }: RunRow): void {
    if (state !== "ended" && state !== "failed") return
    this.require(reason !== null && endTime !== null, `${name} has a reason and the time of its end`)
    this.require(!this.hasContainerAfterEnd(key), `${name} has ${state}, and its container exists`)
  }

  #checkDevices(name: string, row: RunRow): void {
    // A run that ends in the queue never had any.
    if (row.startTime === null || row.endTime !== null) return
    this.require(new Set(row.gpuDevices).size === row.gpus, `${name} has ${row.gpus} devices`)
    for (const other of this.admitted()) {
      const shared = other.id === row.id ? [] : other.gpuDevices.filter((device) => row.gpuDevices.includes(device))
      this.require(shared.length === 0, `${shared[0]} is held by ${name} and by run ${other.id}`)
    }
  }

  #checkAdmission(name: string, row: RunRow): void {
    if (this.#queuedInBackup.has(row.key) && this.machine.containers.has(row.key)) return
    const admitted = this.admitted()
    const all = totalsOf(admitted)
    this.require(all.cpus <= this.machine.cpus && all.memoryMiB <= this.machine.memoryMiB, `${name} fits on the node`)
    for (const { spec, state } of this.machine.containers.values()) {
      const shared = spec.key === row.key || state === "exited" ? [] : spec.gpus.filter((device) => row.gpuDevices.includes(device))
      this.require(shared.length === 0, `${shared[0]} was given to ${name} while the container of run ${spec.run} has it`)
    }
    const { members, limits } = this.people.group
    if (!members.has(row.userId)) return
    const group = totalsOf(admitted.filter(({ userId }) => members.has(userId)))
    this.require(group.gpus <= limits.MaxGpus && group.runs <= limits.MaxRuns, `${name} is within the limits of its group`)
  }

  #checkTotals(name: string, row: RunRow, live: readonly RunRow[], ...limits: (keyof Totals)[]): void {
    const limitsOf = peopleLimits[this.people.ids.indexOf(row.userId)] ?? {}
    const own = live.filter(({ userId }) => userId === row.userId)
    const { runs, cpus, gpus } = totalsOf(own)
    const totals: Totals = { MaxRuns: runs, MaxCpus: cpus, MaxGpus: gpus, MaxQueued: own.filter(({ state }) => state === "queued").length }
    for (const limit of limits)
      this.require(totals[limit] <= (limitsOf[limit] ?? Number.POSITIVE_INFINITY), `${name} passes ${limit}: ${totals[limit]}`)
  }
}

function isChange(name: string): name is (typeof changes)[number] {
  return (changes as readonly string[]).includes(name)
}

function movesBetween(from: string, to: RunRow["state"]): [string, RunRow["state"]][] {
  const states = launchStates.slice(launchStates.indexOf(from), launchStates.indexOf(to) + 1)
  if (!launchStates.includes(from) || states.length < 2) return [[from, to]]
  return states.slice(1).map((state, n) => [states[n] as string, state as RunRow["state"]])
}
