import { randomBytes } from "node:crypto"
import { type Caller, homePath } from "#access"
import { defaultMountPaths, normalPath, parseCommand, parseEnv, parsePort, planMounts } from "#contract"
import type { ImageRow, ProjectRow, Reads, RunPlan } from "#store"
import { projectDirectories } from "../code/directories.ts"
import { authorizeDraft, type Draft, type DraftMount, type Plan } from "./authorize-plan.ts"
import { authorsOf, mergeAuthors } from "./authors.ts"

type PlanReads = Pick<Reads, "images" | "data" | "projects" | "users" | "groups" | "grants">

export interface PlanRequest {
  starter: Caller
  project: ProjectRow
  /**
   * The groups whose settings say what of the internet a run reaches, in the order in which they
   * count.
   */
  internetGroups: readonly string[]
  /**
   * What a run has, which is judged anew and otherwise kept, whatever project and image say by now.
   * Absent: the project as it now stands is planned.
   */
  kept?: RunPlan
  /** Whether a plan without the starter's home is none: a run was promised it. */
  expectsHome?: boolean
}

/**
 * The one function that makes plans and judges them: for a start and a preview, for a repetition,
 * when a run leaves the queue, and before its mounts are made. Everything is judged by the rights
 * of now; what is not allowed is the refusal, what may only be read is mounted so.
 */
export async function planRun(reads: PlanReads, request: PlanRequest): Promise<Plan> {
  const draft = await (request.kept ? draftOfPlan(reads, request, request.kept) : draftOfProject(reads, request))
  const judged = await authorizeDraft(reads, request, draft)
  const { internetOf: _, ...plan } = judged.plan
  const internetOf = request.internetGroups.find((group) => request.starter.groupNames.includes(group))
  const authors = await authorsNow(reads, request, draft)
  return { ...judged, plan: { ...plan, authors, ...(internetOf === undefined ? {} : { internetOf }) } }
}

async function authorsNow(reads: PlanReads, { starter, project, kept }: PlanRequest, { image, mounts }: Draft): Promise<string> {
  const data = mounts.flatMap((wanted) => (wanted.part === "data" ? wanted.datasets : []))
  const now = await authorsOf(reads, { starter, project, image, data })
  return kept ? mergeAuthors(project.id, kept.authors, now) : now
}

async function draftOfProject(reads: PlanReads, { starter, project, expectsHome = false }: PlanRequest): Promise<Draft> {
  const links = await reads.projects.links([project.id])
  const rows = new Map((await reads.data.getMany(links.map((link) => link.dataId))).map((row) => [row.id, row]))
  const image = await reads.images.get(project.imageId)
  const places = planMounts(
    { UserPath: project.userPath, CodePath: project.codePath, ModelPath: project.modelPath },
    links.map(({ dataId, mountPath }) => ({ id: dataId, name: rows.get(dataId)?.name ?? "", mountPath })),
  )
  // Places were checked when they were written; a dataset's later name cannot make two the same.
  const at = "field" in places ? { ...defaultMountPaths, data: [] } : places
  const own = projectDirectories(starter.userName, project.id)
  const fallback = expectsHome ? {} : { fallback: own.user }
  const mounts: DraftMount[] = [
    { part: "own", mount: { source: own.code, target: at.CodePath, readOnly: false } },
    { part: "own", mount: { source: own.model, target: at.ModelPath, readOnly: false } },
    { part: "home", mount: { source: homePath(starter.userName), target: at.UserPath, readOnly: false }, ...fallback },
    ...links.map(({ dataId }, i): DraftMount => {
      const row = rows.get(dataId)
      const mount = { source: row ? normalPath(row.accessInfo) : "", target: at.data[i] ?? "", readOnly: false, dataId }
      return { part: "data", mount, datasets: row ? [row] : [] }
    }),
  ]
  return { image, imageId: project.imageId, mounts, plan: planOf(project, image, at) }
}

function planOf(project: ProjectRow, image: ImageRow | undefined, at: { CodePath: string; UserPath: string }): RunPlan {
  const words = image ? parseCommand(image.command) : []
  return {
    type: project.type,
    image: image?.image ?? "",
    imageId: project.imageId,
    command: words.length > 0 ? words : null,
    env: image ? parseEnv(image.env) : {},
    port: (image && parsePort(image.port)) ?? null,
    workDir: at.CodePath,
    home: at.UserPath,
    mounts: [],
    secret: randomBytes(32).toString("base64url"),
  }
}

async function draftOfPlan(reads: PlanReads, { starter, project }: PlanRequest, plan: RunPlan): Promise<Draft> {
  const mounts = await Promise.all(plan.mounts.map((mount) => draftMount(reads, { starter, project }, mount)))
  return { image: await imageOf(reads, project, plan), imageId: plan.imageId ?? project.imageId, mounts, plan }
}

/**
 * Plans of earlier versions do not name their image: then it is the project's, if that is still the
 * same.
 */
async function imageOf(reads: PlanReads, project: ProjectRow, { image, imageId }: RunPlan): Promise<ImageRow | undefined> {
  const found = await reads.images.get(imageId ?? project.imageId)
  return imageId === undefined && found?.image !== image ? undefined : found
}

/**
 * The starter's own directories stay theirs. All else is a dataset that must still have this
 * directory; plans of earlier versions, and containers that were taken up, do not name it.
 */
async function draftMount(
  reads: PlanReads,
  { starter, project }: Pick<PlanRequest, "starter" | "project">,
  mount: RunPlan["mounts"][number],
): Promise<DraftMount> {
  const { source, dataId } = mount
  if (Object.values(projectDirectories(starter.userName, project.id)).includes(source)) return { part: "own", mount }
  if (source === homePath(starter.userName)) return { part: "home", mount }
  const rows = dataId === undefined ? await reads.data.overlapping(source) : await reads.data.getMany([dataId])
  return { part: "data", mount, datasets: rows.filter((row) => normalPath(row.accessInfo) === source) }
}
