import { type Caller, can, loadGrants, projectResource, type Resource, runResource } from "#access"
import { isLive, type Project, type Reason, type RunningProject, withHint } from "#contract"
import { controlUrl, isControllable } from "#control"
import type { ProjectRow, RowSummaries, RunRow } from "#store"
import type { Services } from "../context.ts"
import { fromMiB } from "../units.ts"
import { toTimestamp } from "./lists.ts"
import { type SummaryResponses, toProjectResponses, toProjectSummaries } from "./resources.ts"

/** Runs as this caller sees them, with their projects. */
export async function toRunResponses(services: Services, caller: Caller, rows: readonly RunRow[]): Promise<RunningProject[]> {
  return (await addProjects(services, caller, { found: { rows: [...rows] }, isWhole: true })).responses
}

/** One run as this caller sees it. */
export async function toRunResponse(services: Services, caller: Caller, row: RunRow): Promise<RunningProject> {
  const [run] = await toRunResponses(services, caller, [row])
  if (!run) throw new TypeError(`Run ${row.id} has no response`)
  return run
}

/** The same for a page, without long texts: as many queries. */
export function toRunSummaries(services: Services, caller: Caller, found: RowSummaries<RunRow>): Promise<SummaryResponses<RunningProject>> {
  return addProjects(services, caller, { found, isWhole: false })
}

async function addProjects(
  services: Services,
  caller: Caller,
  { found, isWhole }: { found: RowSummaries<RunRow>; isWhole: boolean },
): Promise<SummaryResponses<RunningProject>> {
  const { rows } = found
  if (rows.length === 0) return { responses: [], bytes: [], isTruncated: false }
  const { store } = services
  const ids = [...new Set(rows.map((row) => row.projectId))]
  const foundProjects = isWhole ? { rows: await store.projects.getMany(ids) } : await store.projects.summaries(ids)
  const projects = new Map(foundProjects.rows.map((row) => [row.id, row]))
  const drafts = await toVisibleProjects(services, caller, { found: foundProjects, isWhole })
  const projectResponses = new Map(drafts.responses.map((project) => [project.ID, project]))
  const projectBytes = new Map(drafts.responses.map((project, i) => [project.ID, drafts.bytes[i] ?? 0]))
  const resources = await loadGrants(store, caller, {
    actions: ["run:details", "run:open", "run:logs", "run:control"],
    resources: rows.map((row) => runResource(row, projects.get(row.projectId)?.userId)),
  })
  const responses = rows.map((row, i) => {
    const project = projectResponses.get(row.projectId) ?? { ID: row.projectId }
    const resource = resources[i] as Resource
    return can(caller, "run:details", resource) === "yes"
      ? toWholeRun(services, caller, { row, project, resource })
      : toRedactedRun(row, project)
  })
  const bytes = rows.map((row, i) => runBytes + (found.bytes?.[i] ?? 0) + (projectBytes.get(row.projectId) ?? 0))
  return { responses, bytes, isTruncated: drafts.isTruncated }
}

/** The approximate size of a run's own fields in an answer. */
const runBytes = 800

/** The projects that the caller may see inside runs. */
async function toVisibleProjects(
  { store }: Services,
  caller: Caller,
  { found, isWhole }: { found: RowSummaries<ProjectRow>; isWhole: boolean },
): Promise<SummaryResponses<Project>> {
  const resources = await loadGrants(store, caller, {
    actions: ["project:refer"],
    resources: found.rows.map((row) => projectResource(row)),
  })
  const isSeen = resources.map((resource) => can(caller, "project:refer", resource) === "yes")
  const rows = found.rows.filter((_, i) => isSeen[i])
  if (isWhole) return { responses: await toProjectResponses(store, caller, rows), bytes: [], isTruncated: false }
  const bytes = found.bytes?.filter((_, i) => isSeen[i])
  return toProjectSummaries(store, caller, { rows, isTruncated: found.isTruncated ?? false, ...(bytes ? { bytes } : {}) })
}

function toWholeRun(
  services: Services,
  caller: Caller,
  shown: { row: RunRow; project: Project | { ID: number }; resource: ReturnType<typeof runResource> },
): RunningProject {
  const { runs, gateway, settings } = services
  const { row, project, resource } = shown
  const mayOpen = row.state === "ready" && can(caller, "run:open", resource) === "yes"
  const mayControl = isControllable(row) && can(caller, "run:control", resource) === "yes"
  const mayReadLogs = can(caller, "run:logs", resource) === "yes"
  const reason = row.reason && withHint(mayReadLogs ? row.reason : withoutLog(row.reason))
  return {
    ID: row.id,
    Project: project,
    ProjectID: row.projectId,
    StartTime: toTimestamp(row.startTime),
    UserName: row.userName,
    Nodes: row.nodes,
    Cpus: row.cpus,
    Memory: fromMiB(row.memoryMiB, settings.memoryUnit),
    Gpus: row.gpus,
    GpuMemory: fromMiB(row.gpuMemoryMiB, settings.memoryUnit),
    URL: mayOpen ? gateway.runUrl(row.id) : "",
    ControlURL: mayControl ? controlUrl(settings.baseUrl, row.id) : "",
    Home: homeSource(row),
    HomeReason: row.spec.homeRefusal ?? "",
    State: row.state,
    Reason: reason,
    QueuePosition: runs.queuePosition(row.id),
    WaitsFor: runs.waitsFor(row.id),
    Progress: isLive(row.state) ? (runs.progress(row.id) ?? row.progress) : null,
    ReadyTime: toTimestamp(row.readyTime),
    EndTime: toTimestamp(row.endTime),
    LastActivity: toTimestamp(runs.lastActivity(row.id) ?? row.lastActivity),
    ExpiresAt: toTimestamp(row.expiresAt),
    IdleExpiresAt: toTimestamp(runs.idleEnd(row.id) ?? null),
    NodeNames: row.nodeNames,
    GpuDevices: row.gpuDevices,
    ImageDigest: row.imageDigest,
    RegistryDigest: row.registryDigest,
  }
}

/** Lists leave out long plans: then it is not known. */
function homeSource({ spec }: RunRow): string {
  const { mounts, home }: Partial<RunRow["spec"]> = spec
  return mounts?.find(({ target }) => target === home)?.source ?? ""
}

function withoutLog({ logTail: _hidden, ...reason }: Reason): Reason {
  return reason
}

/** A run as the project's owner sees it if somebody else started it. */
function toRedactedRun(row: RunRow, project: Project | { ID: number }): RunningProject {
  return {
    ID: row.id,
    Project: project,
    ProjectID: row.projectId,
    StartTime: toTimestamp(row.startTime),
    UserName: row.userName,
    Nodes: 0,
    Cpus: 0,
    Memory: 0,
    Gpus: 0,
    GpuMemory: 0,
    URL: "",
    ControlURL: "",
    Home: "",
    HomeReason: "",
    State: row.state,
    Reason: null,
    QueuePosition: null,
    WaitsFor: null,
    Progress: null,
    ReadyTime: null,
    EndTime: null,
    LastActivity: null,
    ExpiresAt: null,
    IdleExpiresAt: null,
    NodeNames: [],
    GpuDevices: [],
    ImageDigest: "",
    RegistryDigest: "",
  }
}
