import { type Caller, can, projectThing, runThing, type Thing, withGrants } from "#access"
import { isLive, type Project, type Reason, type RunningProject } from "#contract"
import type { ProjectRow, RunRow } from "#store"
import type { Services } from "../context.ts"
import { fromMiB } from "../units.ts"
import { projectAnswers } from "./answers.ts"
import { iso } from "./lists.ts"

/** Runs as this caller sees them, with their projects. */
export async function runAnswers(services: Services, caller: Caller, rows: readonly RunRow[]): Promise<RunningProject[]> {
  if (rows.length === 0) return []
  const { store } = services
  const projects = new Map((await store.projects.getMany([...new Set(rows.map((row) => row.projectId))])).map((row) => [row.id, row]))
  const seen = await seenProjects(services, caller, [...projects.values()])
  const answers = new Map((await projectAnswers(store, caller, seen)).map((project) => [project.ID, project]))
  const things = await withGrants(store, caller, {
    actions: ["run:details", "run:open", "run:logs"],
    things: rows.map((row) => runThing(row, projects.get(row.projectId)?.userId)),
  })
  return rows.map((row, i) => {
    const project = answers.get(row.projectId) ?? { ID: row.projectId }
    const thing = things[i] as Thing
    return can(caller, "run:details", thing) === "yes" ? wholeAnswer(services, caller, { row, project, thing }) : outline(row, project)
  })
}

async function seenProjects({ store }: Services, caller: Caller, rows: ProjectRow[]): Promise<ProjectRow[]> {
  const things = await withGrants(store, caller, { actions: ["project:refer"], things: rows.map((row) => projectThing(row)) })
  return rows.filter((_, i) => can(caller, "project:refer", things[i] as Thing) === "yes")
}

function wholeAnswer(
  services: Services,
  caller: Caller,
  told: { row: RunRow; project: Project | { ID: number }; thing: ReturnType<typeof runThing> },
): RunningProject {
  const { runs, gateway, settings } = services
  const { row, project, thing } = told
  const mayOpen = row.state === "ready" && can(caller, "run:open", thing) === "yes"
  const mayReadLogs = can(caller, "run:logs", thing) === "yes"
  const reason = row.reason && (mayReadLogs ? row.reason : withoutLog(row.reason))
  return {
    ID: row.id,
    Project: project,
    ProjectID: row.projectId,
    StartTime: iso(row.startTime),
    UserName: row.userName,
    Nodes: row.nodes,
    Cpus: row.cpus,
    Memory: fromMiB(row.memoryMiB, settings.memoryUnit),
    Gpus: row.gpus,
    GpuMemory: fromMiB(row.gpuMemoryMiB, settings.memoryUnit),
    URL: mayOpen ? gateway.urlOf(row.id) : "",
    ControlURL: "",
    State: row.state,
    Reason: reason,
    QueuePosition: runs.queuePosition(row.id),
    Progress: isLive(row.state) ? (runs.progress(row.id) ?? row.progress) : null,
    ReadyTime: iso(row.readyTime),
    EndTime: iso(row.endTime),
    LastActivity: iso(runs.lastActivity(row.id) ?? row.lastActivity),
    ExpiresAt: iso(row.expiresAt),
    NodeNames: row.nodeNames,
    GpuDevices: row.gpuDevices,
    ImageDigest: row.imageDigest,
  }
}

function withoutLog({ logTail: _hidden, ...reason }: Reason): Reason {
  return reason
}

/** What the owner of a project learns of a run of it by somebody else. */
function outline(row: RunRow, project: Project | { ID: number }): RunningProject {
  return {
    ID: row.id,
    Project: project,
    ProjectID: row.projectId,
    StartTime: iso(row.startTime),
    UserName: row.userName,
    Nodes: 0,
    Cpus: 0,
    Memory: 0,
    Gpus: 0,
    GpuMemory: 0,
    URL: "",
    ControlURL: "",
    State: row.state,
    Reason: null,
    QueuePosition: null,
    Progress: null,
    ReadyTime: null,
    EndTime: null,
    LastActivity: null,
    ExpiresAt: null,
    NodeNames: [],
    GpuDevices: [],
    ImageDigest: "",
  }
}
