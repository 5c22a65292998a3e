import { randomBytes } from "node:crypto"
import { authorizeWithGrants, type Caller, can, projectResource, runResource } from "#access"
import { Failure, invalidField, isLive, type RunningProject, reasonStatus, withHint } from "#contract"
import { EngineError, isForeignArchitecture, runsForeignPrograms, wrongArchitectureHint, wrongArchitectureMessage } from "#engine"
import { sharedScheduler } from "#kit"
import { type AuthorizedPlan, checkMayStart, planRun, resolveStarter } from "#projects"
import { AlreadyRunningError, type StartRequest } from "#runs"
import type { ProjectRow, RunPlan, RunRow } from "#store"
import type { HandlerResult, Handlers, OperationContext, Services } from "../../context.ts"
import { etagOf } from "../../http/etag.ts"
import { omitUndefined } from "../../omit-undefined.ts"
import { refreshCaller } from "../../refresh-caller.ts"
import { toRunResponses } from "../../responses/runs.ts"
import { toMiB, toRunMemoryMiB } from "../../units.ts"
import { changeOf } from "../../with-change.ts"
import { prefersAsync } from "./prefer.ts"
import { loadAuthorizedRun } from "./runs.ts"

type BodyContext = OperationContext<"startRun"> | OperationContext<"previewRun">
type StartContext = OperationContext<"startRun"> | OperationContext<"repeatRun">
/** `warning` is published to the starter if the run is admitted. */
type RequestWithWarning = StartRequest & { warning?: string }

async function start(context: OperationContext<"startRun">): Promise<HandlerResult<"startRun">> {
  const earlier = await findEarlierStart(context)
  if (earlier) return respond(context, earlier)
  return startAndRespond(context, await toStartRequest(context, "project:start"))
}

/**
 * Starts a run again with the resources, image and mounts of an earlier one, even if image and
 * project have changed.
 */
async function repeat(context: OperationContext<"repeatRun">): Promise<HandlerResult<"repeatRun">> {
  const { services } = context
  const earlier = await findEarlierStart(context)
  if (earlier) return respond(context, earlier)
  const { store } = services
  const run = await loadAuthorizedRun(context, "run:repeat")
  const starter = context.caller
  if (isLive(run.state)) throw addRunUrl(services, starter, new AlreadyRunningError(run))
  const found = await store.projects.part(run.projectId)
  await authorizeWithGrants(store, starter, "project:start", { resource: found && projectResource(found), what: "project" })
  const project = found as ProjectRow
  const { internetGroups } = services.settings
  const planned = await planInTurn(context, {
    starter,
    project,
    internetGroups,
    ...(wasRefused(run) ? {} : { existing: planToRepeat(run) }),
  })
  const { nodes, cpus, memoryMiB, gpus, gpuMemoryMiB } = run
  const resources = { nodes, cpus, memoryMiB, gpus, gpuMemoryMiB }
  return startAndRespond(context, withPlan(starter, { project, planned, resources }))
}

/**
 * A plan may read 64 datasets, and one person may ask for hundreds at once: few are made at a time,
 * as few as changes, and each in a turn of the event loop of its own.
 */
function planInTurn(
  { services, server, caller }: BodyContext | StartContext,
  request: Parameters<typeof planRun>[1],
): Promise<AuthorizedPlan> {
  const plan = async () => {
    await sharedScheduler.waitForNextSlot(caller.userId)
    return planRun(services.store.memoized(), request)
  }
  return caller.isAdmin ? plan() : server.changes.run(caller.userId, plan)
}

function planToRepeat({ spec, ...run }: RunRow): RunPlan {
  const imageDigest = run.imageDigest || spec.imageDigest
  const registryDigest = run.registryDigest || spec.registryDigest
  const secret = randomBytes(32).toString("base64url")
  return { ...spec, ...omitUndefined({ imageDigest, registryDigest }), secret, isRepeat: true }
}

/**
 * Whether a part of the run's plan was refused when it was asked for. Its starter had no right to
 * that plan, which may hold what the part's owner removed before they gave the right. So such a run
 * is planned as the project is now.
 */
function wasRefused({ startTime, reason }: RunRow): boolean {
  return startTime === null && (reason?.code === "image_unavailable" || reason?.code === "data_unavailable")
}

function withPlan(
  starter: Caller,
  { project, planned, resources }: { project: ProjectRow; planned: AuthorizedPlan; resources: StartRequest["resources"] },
): RequestWithWarning {
  const { userId, userName } = starter
  const { plan, refusal, warning } = planned
  // A warning may name the owners of image and project. If one is hidden from the starter, there is
  // a refusal instead.
  const more = refusal ? { refusal } : warning === undefined ? {} : { warning }
  return { userId, userName, projectId: project.id, plan, resources, ...more }
}

async function startAndRespond(context: StartContext, { warning, ...request }: RequestWithWarning): Promise<RunningProject> {
  const { services } = context
  const options = { idempotency: idempotencyOf(context), actor: context.actor, change: changeOf(services) }
  const run = await services.runs.start(request, options).catch((error: unknown) => {
    throw error instanceof AlreadyRunningError ? addRunUrl(services, context.caller, error) : error
  })
  if (warning !== undefined) services.events.runWarning(run, warning)
  return respond(context, run)
}

/** Waits until the run is ready or over, unless the caller asked for a response at once. */
async function respond(context: StartContext, run: RunRow): Promise<RunningProject> {
  const { services } = context
  const isSettled = !prefersAsync(context)
  const row = isSettled ? await services.runs.waitUntilSettled(run.id, { signal: context.signal }) : run
  const caller = isSettled ? await refreshCaller(context) : context.caller
  context.setHeader("etag", etagOf(row))
  return toStartResponse(services, caller, row)
}

/** The run that an earlier request with the same idempotency key started, if there is one. */
async function findEarlierStart(context: StartContext): Promise<RunRow | undefined> {
  const idempotency = idempotencyOf(context)
  return idempotency && context.services.runs.findByIdempotencyKey(context.caller.userId, idempotency)
}

function preview(context: OperationContext<"previewRun">): Promise<HandlerResult<"previewRun">> {
  return context.server.previews.run(context.caller.userId, () => predictStart(context))
}

async function predictStart(context: OperationContext<"previewRun">): Promise<HandlerResult<"previewRun">> {
  const { services } = context
  const request = await toStartRequest(context, "project:preview")
  const { refusal, placement, position, waitsFor } = await services.runs.preview(request).catch((error: unknown) => {
    throw error instanceof AlreadyRunningError ? addRunUrl(services, context.caller, error) : error
  })
  const reason = refusal ?? (await architectureFault(context, request.plan))
  if (reason) return { Admitted: false, Queued: false, QueuePosition: null, WaitsFor: null, Reason: withHint(reason) }
  return {
    Admitted: placement !== undefined,
    Queued: position !== undefined,
    QueuePosition: position ?? null,
    WaitsFor: waitsFor ?? null,
    Reason: null,
  }
}

/**
 * Why a start would fail for the image's kind of processor. Nothing is known of an image that
 * neither the engine nor its registry describes to this person now.
 */
async function architectureFault({ services, server, caller }: BodyContext, { image, imageByAdmin = false }: RunPlan) {
  const find = () => services.images.architecture(caller, { reference: image, byAdmin: imageByAdmin })
  const architecture = await server.imageChecks.run(caller.userId, find).catch((error: unknown) => {
    if (error instanceof EngineError || error instanceof Failure) return ""
    throw error
  })
  if (!isForeignArchitecture(architecture) || runsForeignPrograms(architecture)) return undefined
  return { code: "wrong_architecture", msg: wrongArchitectureMessage(image, architecture), hint: wrongArchitectureHint() } as const
}

/**
 * The start request of a body, with the project and the person that it names. Throws if one is
 * missing or hidden.
 */
async function toStartRequest(context: BodyContext, action: "project:start" | "project:preview"): Promise<RequestWithWarning> {
  const { services, body: given } = context
  const projectId = projectIdOf(given)
  const { store, settings } = services
  const starter = await resolveStarter(services, context.caller, given.UserName)
  const found = await store.projects.part(projectId)
  await authorizeWithGrants(store, context.caller, action, { resource: found && projectResource(found), what: "project" })
  const project = found as ProjectRow
  if (starter !== context.caller) await checkMayStart(store, starter, project)
  // The plan depends on the person's rights, not on the scopes of this token.
  const whole: Caller = { ...starter, scopes: ["read", "write"] }
  const planned = await planInTurn(context, { starter: whole, project, internetGroups: settings.internetGroups })
  const unit = settings.memoryUnit
  const resources = {
    nodes: given.Nodes,
    cpus: given.Cpus,
    memoryMiB: toRunMemoryMiB(given.Memory, unit),
    gpus: given.Gpus,
    gpuMemoryMiB: toMiB(given.GpuMemory, unit, "GpuMemory"),
  }
  return withPlan(starter, { project, planned, resources })
}

/** Adds the address of the run that is already there to the failure. */
function addRunUrl({ gateway }: Services, caller: Caller, error: AlreadyRunningError): Failure {
  const { run } = error
  const url = run.state === "ready" && can(caller, "run:open", runResource(run)) === "yes" ? gateway.runUrl(run.id) : ""
  return new Failure("already_running", error.message, { extra: { ...error.extra, URL: url } })
}

/**
 * The response to a start. A run that failed, or was stopped before it was ready, becomes a failure
 * with its ID.
 */
async function toStartResponse(services: Services, caller: Caller, run: RunRow): Promise<RunningProject> {
  const [answer] = await toRunResponses(services, caller, [run])
  if (run.reason && (run.state === "failed" || run.readyTime === null)) {
    throw new Failure(run.reason.code, run.reason.msg, {
      status: reasonStatus(run.reason.code),
      extra: { ID: run.id, State: run.state, Reason: answer?.Reason ?? withHint(run.reason) },
    })
  }
  return answer as RunningProject
}

function projectIdOf(given: { Project?: number | undefined; ProjectID: number }): number {
  const whole = given.Project || undefined
  const id = given.ProjectID || undefined
  if (whole !== undefined && id !== undefined && whole !== id) {
    throw new Failure("invalid", `Project and ProjectID name two projects, ${whole} and ${id}; one is meant`, { field: "ProjectID" })
  }
  const projectId = whole ?? id
  if (projectId === undefined) throw new Failure("invalid", "Project or ProjectID is needed", { field: "Project" })
  return projectId
}

function idempotencyOf(context: StartContext): { key: string; bodyHash: string } | undefined {
  const key = context.header("idempotency-key")
  if (key === undefined) return undefined
  if (!/^[\x21-\x7e]{1,200}$/.test(key)) throw invalidField("Idempotency-Key", "1 to 200 printable ASCII characters, without spaces", key)
  return {
    key,
    bodyHash: context.requestHash(),
  }
}

export const startHandlers = { startRun: start, repeatRun: repeat, previewRun: preview } satisfies Partial<Handlers>
