import type { RunState } from "#contract"
import { bounds, runStateNames } from "#contract"
import { DuplicateError } from "../errors.ts"
import { addViewer, addWhere, fetchPage } from "../lists/list.ts"
import type { ListArgs, ListShape } from "../queries/lists.ts"
import { query } from "../queries/query.ts"
import type { IdempotencyEntry, LiveRun, RowPage, RowPageRequest, RunRow, UserRunTotals, Viewer } from "../rows.ts"
import { idempotencyKeysTable } from "../tables/idempotency-keys.ts"
import { liveRunMapper, removedRunMapper, runsTable, runWithoutPlanMapper } from "../tables/runs.ts"
import type { ColumnValue } from "../values.ts"
import type { RepositoryContext } from "./resource.ts"
import type { RunFilter, RunReads, RunWrites } from "./run-types.ts"

const q = {
  get: query("get", "runs"),
  getMany: query("getMany", "runs"),
  getManyWithoutPlan: query("runsWithoutPlan"),
  byKey: query("runByKey"),
  live: query("liveRuns"),
  admitted: query("admittedRuns"),
  queued: query("queuedRuns"),
  holdings: query("holdingsOf"),
  liveVersions: query("liveVersions"),
  endedBy: query("runsEndedBy"),
  longHistories: query("longHistories"),
  oldestEndedRuns: query("oldestEndedRuns"),
  deleteKeys: query("deleteKeysOfRuns"),
  deleteGrants: query("deleteGrantsOnRuns"),
  deleteRuns: query("deleteRuns"),
  liveOf: query("liveRunOf"),
  lastOf: query("lastRunOf"),
  ready: query("readyProjects"),
  insert: query("insertRun"),
  next: query("nextRun"),
  update: query("updateRun", "newPlan"),
  updateWithoutPlan: query("updateRun", "samePlan"),
  idempotencyKey: query("idempotencyKey"),
  insertIdempotencyKey: query("insertIdempotencyKey"),
  deleteExpiredIdempotencyKeys: query("deleteExpiredIdempotencyKeys"),
}

/** The lifetime of an idempotency key, in milliseconds. */
const idempotencyMs = bounds.runs.idempotencyMs.value
const ended: readonly RunState[] = ["ended", "failed"]

export class RunRepository implements RunReads, RunWrites {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async get(id: number): Promise<RunRow | undefined> {
    return Number.isSafeInteger(id) ? this.#one(await this.#context.runner.first(q.get, { id })) : undefined
  }

  async getMany(ids: readonly number[]): Promise<RunRow[]> {
    return (await this.#context.runner.all(q.getMany, { ids })).map(runsTable.toRow)
  }

  async reload(known: readonly RunRow[]): Promise<RunRow[]> {
    const final = new Map(known.flatMap((row) => (hasFinalPlan(row) ? [[row.id, row]] : [])))
    const others = known.flatMap(({ id }) => (final.has(id) ? [] : [id]))
    const [read, rest] = await Promise.all([
      final.size > 0 ? this.#context.runner.all(q.getManyWithoutPlan, { ids: [...final.keys()] }) : [],
      others.length > 0 ? this.getMany(others) : [],
    ])
    const rows = read.map(runWithoutPlanMapper.toRow).map((row) => ({ ...row, spec: (final.get(row.id) as RunRow).spec }))
    return [...rows, ...rest].sort((a, b) => a.id - b.id)
  }

  async byKey(key: string): Promise<RunRow | undefined> {
    return this.#one(await this.#context.runner.first(q.byKey, { key }))
  }

  async live(): Promise<RunRow[]> {
    return (await this.#context.runner.all(q.live, {})).map(runsTable.toRow)
  }

  async admitted(): Promise<LiveRun[]> {
    return (await this.#context.runner.all(q.admitted, {})).map(liveRunMapper.toRow)
  }

  async queued(): Promise<LiveRun[]> {
    return (await this.#context.runner.all(q.queued, {})).map(liveRunMapper.toRow)
  }

  async holdings(userId: number): Promise<UserRunTotals> {
    const found = (await this.#context.runner.first(q.holdings, { user_id: userId })) as ColumnValue[]
    const [runs = 0, queued = 0, cpus = 0, memoryMiB = 0, gpus = 0] = found.map(Number)
    return { runs, queued, cpus, memoryMiB, gpus }
  }

  async liveVersions(): Promise<Map<number, number>> {
    return new Map((await this.#context.runner.all(q.liveVersions, {})) as unknown as [number, number][])
  }

  async longHistories(maxRuns: number): Promise<{ userId: number; count: number }[]> {
    const found = await this.#context.runner.all(q.longHistories, { max_runs: maxRuns })
    return found.map(([key, count]) => ({ userId: Number((key as string).slice("runs ended ".length)), count: Number(count) }))
  }

  async prune(which: Parameters<RunWrites["prune"]>[0], limit: number): Promise<{ key: string; userId: number }[]> {
    const { runner } = this.#context
    const found =
      "userId" in which
        ? await runner.all(q.oldestEndedRuns, { user_id: which.userId, limit })
        : await runner.all(q.endedBy, { until: which.until, limit })
    if (found.length === 0) return []
    const removed = found.map(removedRunMapper.toRow)
    const ids = removed.map(({ id }) => id)
    await runner.run(q.deleteKeys, { ids })
    await runner.run(q.deleteGrants, { ids })
    await runner.run(q.deleteRuns, { ids })
    return removed.map(({ key, userId }) => ({ key, userId }))
  }

  async liveOf(userId: number, projectId: number): Promise<RunRow | undefined> {
    return this.#one(await this.#context.runner.first(q.liveOf, { user_id: userId, project_id: projectId }))
  }

  async lastOf(userId: number, projectId: number): Promise<RunRow | undefined> {
    return this.#one(await this.#context.runner.first(q.lastOf, { user_id: userId, project_id: projectId }))
  }

  async readyProjects(userId: number, projectIds: readonly number[]): Promise<number[]> {
    if (projectIds.length === 0) return []
    const found = await this.#context.runner.all(q.ready, { user_id: userId, project_ids: projectIds })
    return found.map(([id]) => id as number)
  }

  async list(filter: RunFilter, viewer: Viewer, page: RowPageRequest): Promise<RowPage<RunRow>> {
    const { runner, clock } = this.#context
    const args: ListArgs = { now: clock.now() }
    const shape: ListShape = { table: "runs", subset: subsetOf(filter.states), sees: "all" }
    if (shape.subset === "states") args.states = filter.states ?? []
    if (!(await addWhere(runner, runsTable, filter.where ?? {}, { args, shape }))) return { rows: [], total: 0 }
    if (filter.ids) {
      shape.ids = true
      args.ids = filter.ids.filter(Number.isSafeInteger)
    }
    addViewer("runs", viewer, { args, shape })
    return fetchPage(runner, runsTable, { args, shape, viewer, page, sort: filter.sort ?? { by: "id", descending: true } })
  }

  async insert(row: Parameters<RunWrites["insert"]>[0]): Promise<RunRow> {
    const now = this.#context.clock.now()
    const values = await this.#context.runner.first(q.insert, { ...runsTable.toColumns(row), created_at: now, updated_at: now })
    if (values) return runsTable.toRow(values)
    throw new DuplicateError("liveRun")
  }

  async insertAs(id: number, row: Parameters<RunWrites["insert"]>[0]): Promise<RunRow> {
    await this.#context.runner.all(q.next, { id })
    const run = await this.insert(row)
    if (run.id !== id) throw new DuplicateError("runId")
    return run
  }

  async transition(
    run: number | RunRow,
    from: readonly RunState[],
    fields: Parameters<RunWrites["transition"]>[2],
  ): Promise<RunRow | undefined> {
    const row = typeof run === "number" ? await this.get(run) : (await this.reload([run]))[0]
    return row !== undefined && from.includes(row.state) ? this.update(row, fields) : undefined
  }

  async update(row: RunRow, fields: Parameters<RunWrites["update"]>[1]): Promise<RunRow | undefined> {
    const { runner, clock } = this.#context
    const known = { id: row.id, known_version: row.version, known_updated_at: row.updatedAt, updated_at: clock.now() }
    if (fields.spec !== undefined)
      return this.#one(await runner.first(q.update, { ...runsTable.toColumns({ ...row, ...fields }), ...known }))
    const values = await runner.first(q.updateWithoutPlan, { ...runsTable.toColumns({ ...row, ...fields, spec: undefined }), ...known })
    return values && { ...runWithoutPlanMapper.toRow(values), spec: row.spec }
  }

  async saveIdempotencyKey(entry: IdempotencyEntry): Promise<boolean> {
    const { runner, clock } = this.#context
    await runner.run(q.deleteExpiredIdempotencyKeys, { until: clock.now() - idempotencyMs })
    const columns = idempotencyKeysTable.toColumns(entry)
    if ((await runner.run(q.insertIdempotencyKey, columns)) > 0) return true
    return (await this.findIdempotencyKey(entry.userId, entry.key))?.bodyHash === entry.bodyHash
  }

  async findIdempotencyKey(userId: number, key: string): Promise<IdempotencyEntry | undefined> {
    const { runner, clock } = this.#context
    const values = await runner.first(q.idempotencyKey, { user_id: userId, key, after: clock.now() - idempotencyMs })
    return values && idempotencyKeysTable.toRow(values)
  }

  #one(values: readonly ColumnValue[] | undefined): RunRow | undefined {
    return values && runsTable.toRow(values)
  }
}

function hasFinalPlan({ readyTime }: RunRow): boolean {
  return readyTime !== null
}

/** Live and ended runs have indexes of their own; other selections of states do not. */
function subsetOf(states: readonly RunState[] | undefined): ListShape["subset"] {
  if (states === undefined) return "live"
  const wanted = runStateNames.filter((name) => states.includes(name))
  if (wanted.length === ended.length && wanted.every((name) => ended.includes(name))) return "ended"
  const live = runStateNames.filter((name) => !ended.includes(name))
  return wanted.length === live.length && wanted.every((name) => live.includes(name)) ? "live" : "states"
}
