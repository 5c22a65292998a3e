import { type Action, authorizeWithGrants, projectResource, runResource, toViewer } from "#access"
import { Failure, isLive, type LogLine, type RunningProject, runStateNames } from "#contract"
import type { ContainerLogLine as EngineLogLine } from "#engine"
import { abortOnRevocation } from "#projects"
import type { Change, Reads, RunRow } from "#store"
import { JsonLines } from "../../answer-forms.ts"
import type { HandlerContext, HandlerResult, Handlers, OperationContext } from "../../context.ts"
import { checkIfMatch, etagOf } from "../../http/etag.ts"
import { refreshCaller } from "../../refresh-caller.ts"
import { toPageRequest, toSortColumn, toTimestamp } from "../../responses/lists.ts"
import { toListResult } from "../../responses/long-lists.ts"
import { toRunResponse, toRunResponses, toRunSummaries } from "../../responses/runs.ts"
import { changeOf } from "../../with-change.ts"
import { type FieldColumns, findOne, timeColumn, timeInResponse } from "../resources/find-one.ts"

const liveStates = ["queued", "pulling", "creating", "starting", "ready", "stopping"] as const

/** Fields that may be hidden from a project's owner are compared in the response. */
const columns: FieldColumns = {
  ID: { column: "id" },
  ProjectID: { column: "projectId" },
  UserName: { column: "userName" },
  State: { column: "state" },
  StartTime: timeColumn("startTime"),
  ReadyTime: timeInResponse,
  EndTime: timeInResponse,
  LastActivity: timeInResponse,
  ExpiresAt: timeInResponse,
  IdleExpiresAt: timeInResponse,
}

async function stop(context: OperationContext<"stopRun">): Promise<HandlerResult<"stopRun">> {
  const { services } = context
  const { ID, ProjectID } = context.query
  if ((ID === undefined) === (ProjectID === undefined))
    throw new Failure("invalid", `Either ID or ProjectID is needed; got ${ID === undefined ? "neither" : "both"}`, { field: "ID" })
  const { store, runs } = services
  const { caller } = context
  const run = ID !== undefined ? await store.runs.get(ID) : await store.runs.lastOf(caller.userId, ProjectID as number)
  if (!run && ProjectID !== undefined) {
    const project = await store.projects.part(ProjectID)
    await authorizeWithGrants(store, caller, "project:read", { resource: project && projectResource(project), what: "project" })
    return { ok: true }
  }
  await authorizeWithGrants(store, caller, "run:stop", { resource: await resourceOf(services, run), what: "running project" })
  const stopped = run as RunRow
  checkIfMatch(context.header("if-match"), stopped)
  if (!isLive(stopped.state)) return { ok: true }
  await runs.stop(stopped.id, {
    change: changeOf(services, rightInChange(context, "run:stop", stopped)),
    by: stopped.userId === caller.userId || !caller.isAdmin ? "stopped_by_user" : "stopped_by_admin",
    actor: context.actor,
    signal: context.signal,
  })
  return { ok: true }
}

/**
 * Reads the project even if there is no run, so that a hidden run takes the same queries as a
 * missing one.
 */
async function resourceOf({ store }: { store: Pick<Reads, "projects"> }, run: RunRow | undefined) {
  const project = await store.projects.part(run?.projectId ?? 0)
  return run && runResource(run, project?.userId)
}

/** Throws if the right was withdrawn while the change waited for others of the caller. */
export function rightInChange({ caller }: Pick<HandlerContext, "caller">, action: Action, run: RunRow): (tx: Change) => Promise<void> {
  return async (tx) => authorizeWithGrants(tx, caller, action, { resource: await resourceOf({ store: tx }, run), what: "running project" })
}

/** The run of `ID`. Throws if the caller may not do this with it. */
export async function loadAuthorizedRun({ services, caller, query }: RunContext, action: Action): Promise<RunRow> {
  const { ID } = query
  if (ID === undefined) throw new Failure("invalid", "ID is needed: it names the run", { field: "ID" })
  const run = await services.store.runs.get(ID)
  await authorizeWithGrants(services.store, caller, action, { resource: await resourceOf(services, run), what: "running project" })
  return run as RunRow
}

type RunContext = Pick<HandlerContext, "services" | "caller"> & { query: { ID?: number } }

async function read(context: OperationContext<"readRun">): Promise<HandlerResult<"readRun">> {
  const { query, services } = context
  const isById = query.ID !== undefined && Object.keys(query).length === 1
  const id = isById ? (query.ID as number) : await findId(context)
  // The search may have taken long.
  const caller = isById ? context.caller : await refreshCaller(context)
  const run = await services.store.runs.get(id)
  await authorizeWithGrants(services.store, caller, "run:read", { resource: await resourceOf(services, run), what: "running project" })
  context.setHeader("etag", etagOf(run as RunRow))
  return toRunResponse(services, caller, run as RunRow)
}

async function findId({ services, caller, query, server }: OperationContext<"readRun">): Promise<number> {
  const { row } = await findOne<RunRow, RunningProject>(query, {
    label: "running project",
    columns,
    list: (fields, page) => services.store.runs.list({ where: fields, states: runStateNames }, toViewer(caller), page),
    toResponses: async (found) => (await toRunSummaries(services, caller, found)).responses,
    scan: (work) => server.scans.run(caller.userId, work),
  })
  return row.id
}

async function list(context: OperationContext<"listRuns">): Promise<HandlerResult<"listRuns">> {
  const { services } = context
  const { query, caller } = context
  const page = toPageRequest(query)
  const sort = toSortColumn(query.sort)
  const where = {
    ...(query.UserName === undefined ? {} : { userName: query.UserName }),
    ...(query.ProjectID === undefined ? {} : { projectId: query.ProjectID }),
  }
  const states = query.State === undefined ? liveStates : query.State === "ended" ? (["ended", "failed"] as const) : [query.State]
  const filter = {
    where,
    states,
    ...(query.ID ? { ids: query.ID } : {}),
    ...(sort && sort.by !== "name" ? { sort: { ...sort, by: sort.by } } : {}),
  }
  const { runs } = services.store
  const found = await runs.list(filter, toViewer(caller), page)
  const draft = await toRunSummaries(services, caller, found)
  const readSlice = async (ids: readonly number[]) => {
    const now = await refreshCaller(context)
    const still = await runs.list({ ...filter, ids }, toViewer(now), { page: 1, pageSize: ids.length })
    return toRunResponses(services, now, still.rows)
  }
  return toListResult({ found, page, draft, read: readSlice })
}

async function logs(context: OperationContext<"runLogs">): Promise<HandlerResult<"runLogs">> {
  const { services } = context
  const { tail, since, follow = false, Rank: rank } = context.query
  if (follow && !context.caller.isAdmin) context.server.rateLimiter.consume(context.caller.userId, "streams")
  const run = await loadAuthorizedRun(context, "run:logs")
  const from = tail === undefined ? {} : { tail }
  const resource = async () => {
    const now = await services.store.runs.get(run.id)
    return now && resourceOf(services, now)
  }
  const signal = abortOnRevocation(services, context, { action: "run:logs", resource })
  const options = { ...from, ...(since === undefined ? {} : { since }), ...(rank === undefined ? {} : { rank }), follow, signal }
  return new JsonLines(toLogLines(services.runs.logs(run, options)), { isLive: follow, signal })
}

async function* toLogLines(lines: AsyncIterable<EngineLogLine>): AsyncIterable<LogLine> {
  for await (const { time, stream, text, rank } of lines)
    yield { time: toTimestamp(time), stream, text, ...(rank === undefined ? {} : { rank }) }
}

export const runHandlers = { stopRun: stop, readRun: read, listRuns: list, runLogs: logs } satisfies Partial<Handlers>
