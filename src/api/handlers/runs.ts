import { createHash } from "node:crypto"
import { type Caller, can, projectThing, runThing, standIn, viewerOf } from "#access"
import { Failure, parseBody, type RunningProject, reasonStatus, runningProjectFields, runStateNames } from "#contract"
import type { LogLine } from "#engine"
import { AlreadyRunning } from "#runs"
import type { ProjectRow, RunRow } from "#store"
import { type Context, type Handlers, Lines, type Services } from "../context.ts"
import { checkMatch, etagOf } from "../http/etag.ts"
import { toMiB } from "../units.ts"
import { makeDirectories } from "./code.ts"
import { limitsOf } from "./limits.ts"
import { iso, listAnswer, pageOf, sortOf } from "./lists.ts"
import { planRun } from "./plan.ts"
import { demand } from "./rules.ts"
import { runAnswers } from "./run-answers.ts"
import { type Columns, findOne, timeColumn } from "./single.ts"

const liveStates = ["queued", "pulling", "creating", "starting", "ready", "stopping"] as const

const columns: Columns = {
  ID: { column: "id" },
  ProjectID: { column: "projectId" },
  UserName: { column: "userName" },
  State: { column: "state" },
  Nodes: { column: "nodes" },
  Cpus: { column: "cpus" },
  Gpus: { column: "gpus" },
  StartTime: timeColumn("startTime"),
  ReadyTime: timeColumn("readyTime"),
  EndTime: timeColumn("endTime"),
}

async function start(services: Services, context: Context<"startRun">) {
  const given = parseBody(runningProjectFields, context.body)
  const projectId = projectOf(given)
  const { store } = services
  const starter = await starterOf(services, context, given.UserName)
  const project = await store.projects.get(projectId)
  demand(context.caller, "project:start", { thing: project && projectThing(project), what: "project" })
  if (starter !== context.caller) checkStarter(starter, project as ProjectRow)
  const { plan, refusal } = await planRun(store, starter, project as ProjectRow)
  if (!refusal) await makeDirectories(services.tree, starter.userName, project as ProjectRow)
  const unit = services.settings.memoryUnit
  const respondAsync = /(^|[,;\s])respond-async($|[,;\s])/i.test(context.header("prefer") ?? "")
  const request = {
    userId: starter.userId,
    userName: starter.userName,
    projectId,
    plan,
    ...(refusal ? { refusal } : {}),
    limits: await limitsOf(store, starter.userId),
    resources: {
      nodes: given.Nodes ?? 0,
      cpus: given.Cpus ?? 0,
      memoryMiB: toMiB(given.Memory ?? 0, unit, "Memory"),
      gpus: given.Gpus ?? 0,
      gpuMemoryMiB: toMiB(given.GpuMemory ?? 0, unit, "GpuMemory"),
    },
  }
  const run = await services.runs.start(request, { idempotency: idempotencyOf(context), actor: context.actor }).catch((error: unknown) => {
    throw error instanceof AlreadyRunning ? withUrl(services, context.caller, error) : error
  })
  const answered = respondAsync ? run : await services.runs.settled(run.id, { signal: context.signal })
  context.setHeader("etag", etagOf(answered))
  return startAnswer(services, context.caller, answered)
}

/** Whoever is refused because the project runs already wants to go there. */
function withUrl({ gateway }: Services, caller: Caller, error: AlreadyRunning): Failure {
  const { run } = error
  const url = run.state === "ready" && can(caller, "run:open", runThing(run)) === "yes" ? gateway.urlOf(run.id) : ""
  return new Failure("already_running", error.message, { extra: { ...error.extra, URL: url } })
}

/** A run that stands is answered as it is; one that failed, or was told to end before it was ever ready, is a failure that names it. */
async function startAnswer(services: Services, caller: Caller, run: RunRow): Promise<RunningProject> {
  const [answer] = await runAnswers(services, caller, [run])
  if (run.reason && (run.state === "failed" || run.readyTime === null)) {
    throw new Failure(run.reason.code, run.reason.msg, {
      status: reasonStatus(run.reason.code),
      extra: { ID: run.id, State: run.state, Reason: answer?.Reason ?? run.reason },
    })
  }
  return answer as RunningProject
}

function projectOf(given: { Project?: unknown; ProjectID?: number }): number {
  const whole = (given.Project as number | undefined) || undefined
  const id = given.ProjectID || undefined
  if (whole !== undefined && id !== undefined && whole !== id) {
    throw new Failure("invalid", `Project and ProjectID name two projects, ${whole} and ${id}; one is meant`, { field: "ProjectID" })
  }
  const projectId = whole ?? id
  if (projectId === undefined) throw new Failure("invalid", "Project or ProjectID is needed", { field: "Project" })
  return projectId
}

/** Who the run will belong to: the caller, or whom an administrator names. The rights that count are that person's. */
async function starterOf(services: Services, context: Context<"startRun">, userName: string | undefined): Promise<Caller> {
  const { caller } = context
  if (!userName || userName === caller.userName) return caller
  if (!caller.isAdmin) throw new Failure("forbidden", "Only administrators may name somebody else as UserName", { field: "UserName" })
  const starter = await standIn(services.store, await services.store.users.byName(userName), services.clock.now())
  if (!starter) throw new Failure("invalid", `There is no person called ${JSON.stringify(userName)} who may sign in`, { field: "UserName" })
  return starter
}

/** Nobody is given a run of what they could not start themselves. */
function checkStarter(starter: Caller, project: ProjectRow): void {
  if (can(starter, "project:start", projectThing(project)) === "yes") return
  throw new Failure("invalid", `${starter.userName} may not start this project`, { field: "UserName" })
}

function idempotencyOf(context: Context<"startRun">): { key: string; bodyHash: string } | undefined {
  const key = context.header("idempotency-key")
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw new Failure("invalid", "Idempotency-Key must be 1 to 200 printable ASCII characters", { field: "Idempotency-Key" })
  return { key, bodyHash: createHash("sha256").update(JSON.stringify(context.body)).digest("hex") }
}

async function stop(services: Services, context: Context<"stopRun">) {
  const { ID, ProjectID } = context.query
  if ((ID === undefined) === (ProjectID === undefined)) throw new Failure("invalid", "Either ID or ProjectID is needed", { field: "ID" })
  const { store, runs } = services
  const { caller } = context
  const run = ID !== undefined ? await store.runs.get(ID) : await store.runs.lastOf(caller.userId, ProjectID as number)
  if (!run && ProjectID !== undefined) {
    const project = await store.projects.get(ProjectID)
    demand(caller, "project:read", { thing: project && projectThing(project), what: "project" })
    return { ok: true }
  }
  demand(caller, "run:stop", { thing: run && (await thingOf(services, run)), what: "running project" })
  const stopped = run as RunRow
  checkMatch(context.header("if-match"), stopped)
  await runs.stop(stopped.id, {
    by: stopped.userId === caller.userId || !caller.isAdmin ? "stopped_by_user" : "stopped_by_admin",
    actor: context.actor,
  })
  return { ok: true }
}

async function thingOf({ store }: Services, run: RunRow) {
  return runThing(run, (await store.projects.get(run.projectId))?.userId)
}

async function read(services: Services, context: Context<"readRun">) {
  const query = context.query as Record<string, unknown>
  const { store } = services
  if (typeof query.ID === "number" && Object.keys(query).length === 1) {
    const run = await store.runs.get(query.ID)
    demand(context.caller, "run:read", { thing: run && (await thingOf(services, run)), what: "running project" })
    context.setHeader("etag", etagOf(run as RunRow))
    return (await runAnswers(services, context.caller, [run as RunRow]))[0]
  }
  const { row, answer } = await findOne<RunRow, RunningProject>(query, {
    what: "running project",
    columns,
    list: (fields, page) => store.runs.list({ where: fields, states: runStateNames }, viewerOf(context.caller), page),
    answer: (rows) => runAnswers(services, context.caller, rows),
  })
  context.setHeader("etag", etagOf(row))
  return answer
}

async function list(services: Services, context: Context<"listRuns">) {
  const { query, caller } = context
  const page = pageOf(query)
  const sort = sortOf(query.sort)
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
  const found = await services.store.runs.list(filter, viewerOf(caller), page)
  return listAnswer(found, page, await runAnswers(services, caller, found.rows))
}

async function logs(services: Services, context: Context<"runLogs">) {
  const { ID, tail, since, follow = false } = context.query
  if (ID === undefined) throw new Failure("invalid", "ID is needed: it names the run", { field: "ID" })
  const run = await services.store.runs.get(ID)
  demand(context.caller, "run:logs", { thing: run && (await thingOf(services, run)), what: "running project" })
  const from = tail === undefined ? {} : { tail }
  const options = { ...from, ...(since === undefined ? {} : { since }), follow, signal: context.signal }
  return new Lines(asText(services.runs.logs(run as RunRow, options)), follow)
}

async function* asText(lines: AsyncIterable<LogLine>): AsyncIterable<string> {
  for await (const { time, stream, text } of lines) yield JSON.stringify({ time: iso(time), stream, text })
}

export const runHandlers = { startRun: start, stopRun: stop, readRun: read, listRuns: list, runLogs: logs } satisfies Partial<Handlers>
