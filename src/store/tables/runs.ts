import type { Progress, Reason, RunState } from "#contract"
import { runStateNames } from "#contract"
import type { Arg, Value } from "../driver.ts"
import { Duplicate } from "../errors.ts"
import type { Page, PageRequest, RunPlan, RunRow, Viewer } from "../rows.ts"
import { query } from "../sql/catalog.ts"
import type { ListArgs, ListShape } from "../sql/lists.ts"
import type { IdempotencyEntry, RunFilter, RunReads, RunWrites } from "../store.ts"
import { addViewer, addWhere, fetchPage, type Listed } from "./list.ts"
import type { Context } from "./resource.ts"

const q = {
  get: query("get", "runs"),
  byKey: query("runByKey"),
  live: query("liveRuns"),
  liveOf: query("liveRunOf"),
  lastOf: query("lastRunOf"),
  ready: query("readyProjects"),
  insert: query("insertRun"),
  next: query("nextRun"),
  update: query("updateRun"),
  recalled: query("recalled"),
  remember: query("remember"),
  forgetOld: query("forgetOld"),
}

/** How long an answer is remembered, in milliseconds. */
const remembered = 24 * 3_600_000
const ended: readonly RunState[] = ["ended", "failed"]

export class Runs implements RunReads, RunWrites {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async get(id: number): Promise<RunRow | undefined> {
    return Number.isSafeInteger(id) ? this.#one(await this.#context.session.first(q.get, { id })) : undefined
  }

  async byKey(key: string): Promise<RunRow | undefined> {
    return this.#one(await this.#context.session.first(q.byKey, { key }))
  }

  async live(): Promise<RunRow[]> {
    return (await this.#context.session.all(q.live, {})).map(toRun)
  }

  async liveOf(userId: number, projectId: number): Promise<RunRow | undefined> {
    return this.#one(await this.#context.session.first(q.liveOf, { user_id: userId, project_id: projectId }))
  }

  async lastOf(userId: number, projectId: number): Promise<RunRow | undefined> {
    return this.#one(await this.#context.session.first(q.lastOf, { user_id: userId, project_id: projectId }))
  }

  async readyProjects(userId: number, projectIds: readonly number[]): Promise<number[]> {
    if (projectIds.length === 0) return []
    const found = await this.#context.session.all(q.ready, { user_id: userId, project_ids: projectIds })
    return found.map(([id]) => id as number)
  }

  async list(filter: RunFilter, viewer: Viewer, page: PageRequest): Promise<Page<RunRow>> {
    const { session, clock } = this.#context
    const args: ListArgs = { now: clock.now() }
    const shape: ListShape = { table: "runs", part: partOf(filter.states), sees: "all" }
    if (shape.part === "states") args.states = filter.states ?? []
    if (!(await addWhere(session, listed, filter.where ?? {}, { args, shape }))) return { rows: [], total: 0 }
    if (filter.ids) {
      shape.ids = true
      args.ids = filter.ids.filter(Number.isSafeInteger)
    }
    addViewer("runs", viewer, { args, shape })
    return fetchPage(session, listed, { args, shape, viewer, page, sort: filter.sort ?? { by: "id", descending: true } })
  }

  async insert(row: Parameters<RunWrites["insert"]>[0]): Promise<RunRow> {
    const now = this.#context.clock.now()
    const values = await this.#context.session.first(q.insert, { ...toColumns(row), created_at: now, updated_at: now })
    if (values) return toRun(values)
    throw new Duplicate("liveRun")
  }

  async insertAs(id: number, row: Parameters<RunWrites["insert"]>[0]): Promise<RunRow> {
    await this.#context.session.all(q.next, { id })
    const run = await this.insert(row)
    if (run.id !== id) throw new Duplicate("runId")
    return run
  }

  async move(id: number, from: readonly RunState[], fields: Parameters<RunWrites["move"]>[2]): Promise<RunRow | undefined> {
    const row = await this.get(id)
    if (row === undefined || !from.includes(row.state)) return undefined
    const columns = toColumns({ ...row, ...fields })
    return this.#one(await this.#context.session.first(q.update, { ...columns, id, updated_at: this.#context.clock.now() }))
  }

  async remember(entry: IdempotencyEntry): Promise<boolean> {
    const { session, clock } = this.#context
    await session.run(q.forgetOld, { until: clock.now() - remembered })
    const columns = {
      user_id: entry.userId,
      key: entry.key,
      body_hash: entry.bodyHash,
      run_id: entry.runId,
      created_at: entry.createdAt,
    }
    if ((await session.run(q.remember, columns)) > 0) return true
    return (await this.recalled(entry.userId, entry.key))?.bodyHash === entry.bodyHash
  }

  async recalled(userId: number, key: string): Promise<IdempotencyEntry | undefined> {
    const { session, clock } = this.#context
    const v = await session.first(q.recalled, { user_id: userId, key, after: clock.now() - remembered })
    if (v === undefined) return undefined
    const [, , bodyHash, runId, createdAt] = v
    return { userId, key, bodyHash: bodyHash as string, runId: runId as number, createdAt: createdAt as number }
  }

  #one(values: readonly Value[] | undefined): RunRow | undefined {
    return values && toRun(values)
  }
}

/** The parts that an index of their own holds are told from other selections of states. */
function partOf(states: readonly RunState[] | undefined): ListShape["part"] {
  if (states === undefined) return "live"
  const wanted = runStateNames.filter((name) => states.includes(name))
  if (wanted.length === ended.length && wanted.every((name) => ended.includes(name))) return "history"
  const live = runStateNames.filter((name) => !ended.includes(name))
  return wanted.length === live.length && wanted.every((name) => live.includes(name)) ? "live" : "states"
}

const listed: Listed<RunRow> = {
  table: "runs",
  columns: {
    id: "id",
    key: "key",
    projectId: "project_id",
    userId: "user_id",
    userName: "user_name",
    state: "state",
    wanted: "wanted",
    nodes: "nodes",
    cpus: "cpus",
    memoryMiB: "memory_mib",
    gpus: "gpus",
    gpuMemoryMiB: "gpu_memory_mib",
    createdAt: "created_at",
    updatedAt: "updated_at",
    version: "version",
    startTime: "start_time",
    readyTime: "ready_time",
    endTime: "end_time",
    lastActivity: "last_activity",
    expiresAt: "expires_at",
    imageDigest: "image_digest",
  },
  toRow: toRun,
}

function toRun(v: readonly Value[]): RunRow {
  return {
    id: v[0] as number,
    key: v[1] as string,
    projectId: v[2] as number,
    userId: v[3] as number,
    userName: v[4] as string,
    state: v[5] as RunState,
    wanted: v[6] as RunRow["wanted"],
    reason: v[7] === null ? null : (JSON.parse(v[7] as string) as Reason),
    progress: v[8] === null ? null : (JSON.parse(v[8] as string) as Progress),
    spec: JSON.parse(v[9] as string) as RunPlan,
    nodes: v[10] as number,
    cpus: v[11] as number,
    memoryMiB: v[12] as number,
    gpus: v[13] as number,
    gpuMemoryMiB: v[14] as number,
    createdAt: v[15] as number,
    updatedAt: v[16] as number,
    version: v[17] as number,
    startTime: v[18] as number | null,
    readyTime: v[19] as number | null,
    endTime: v[20] as number | null,
    lastActivity: v[21] as number | null,
    expiresAt: v[22] as number | null,
    nodeNames: JSON.parse(v[23] as string) as string[],
    gpuDevices: JSON.parse(v[24] as string) as string[],
    imageDigest: v[25] as string,
  }
}

function toColumns(row: Omit<RunRow, "id" | "createdAt" | "updatedAt" | "version" | "userName">): Record<string, Arg> {
  return {
    key: row.key,
    project_id: row.projectId,
    user_id: row.userId,
    state: row.state,
    wanted: row.wanted,
    reason: row.reason && JSON.stringify(row.reason),
    progress: row.progress && JSON.stringify(row.progress),
    spec: JSON.stringify(row.spec),
    nodes: row.nodes,
    cpus: row.cpus,
    memory_mib: row.memoryMiB,
    gpus: row.gpus,
    gpu_memory_mib: row.gpuMemoryMiB,
    start_time: row.startTime,
    ready_time: row.readyTime,
    end_time: row.endTime,
    last_activity: row.lastActivity,
    expires_at: row.expiresAt,
    node_names: JSON.stringify(row.nodeNames),
    gpu_devices: JSON.stringify(row.gpuDevices),
    image_digest: row.imageDigest,
  }
}
