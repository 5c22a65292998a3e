import { randomBytes } from "node:crypto"
import { type Caller, homePath } from "#access"
import { defaultMountPaths, normalizePath, parseCommand, parseEnv, parsePort, planMounts } from "#contract"
import type { ImageRow, ProjectRow, Reads, RunPlan } from "#store"
import { projectDirectories } from "../code/directories.ts"
import { type AuthorizedPlan, authorizeDraft, type DraftMount, type DraftPlan } from "./authorize-plan.ts"
import { authorsOf, mergeAuthors } from "./authors.ts"

type PlanReads = Pick<Reads, "images" | "data" | "projects" | "users" | "groups" | "grants">

export interface PlanRequest {
  starter: Caller
  project: ProjectRow
  /**
   * The groups with internet settings for their members' runs. The first group that the starter is
   * in counts.
   */
  internetGroups: readonly string[]
  /**
   * The plan of an existing run. Only its rights are checked again, even if project and image have
   * changed. Without it, the project is planned as it is now.
   */
  existing?: RunPlan
  /** Whether a plan without the starter's home is refused, since the run was started with it. */
  expectsHome?: boolean
}

/**
 * Plans a run by the rights that hold now. Starts, previews and repeats call it; so do runs that
 * leave the queue, or whose mounts are about to be made. A part that is not allowed becomes the
 * plan's refusal; a dataset that may only be read is mounted read-only.
 */
export async function planRun(reads: PlanReads, request: PlanRequest): Promise<AuthorizedPlan> {
  const draft = await (request.existing ? draftFromPlan(reads, request, request.existing) : draftFromProject(reads, request))
  const authorized = await authorizeDraft(reads, request, draft)
  const { internetOf: _, ...plan } = authorized.plan
  const internetOf = request.internetGroups.find((group) => request.starter.groupNames.includes(group))
  const authors = await currentAuthors(reads, request, draft)
  return { ...authorized, plan: { ...plan, authors, ...(internetOf === undefined ? {} : { internetOf }) } }
}

async function currentAuthors(
  reads: PlanReads,
  { starter, project, existing }: PlanRequest,
  { image, mounts }: DraftPlan,
): Promise<string> {
  const data = mounts.flatMap((wanted) => (wanted.part === "data" ? wanted.datasets : []))
  const now = await authorsOf(reads, { starter, project, image, data })
  return existing ? mergeAuthors(project.id, existing.authors, now) : now
}

async function draftFromProject(reads: PlanReads, { starter, project, expectsHome = false }: PlanRequest): Promise<DraftPlan> {
  const links = await reads.projects.links([project.id])
  const rows = new Map((await reads.data.parts(links.map((link) => link.dataId))).map((row) => [row.id, row]))
  const image = await reads.images.part(project.imageId)
  const planned = planMounts(
    { UserPath: project.userPath, CodePath: project.codePath, ModelPath: project.modelPath },
    links.map(({ dataId, mountPath }) => ({ id: dataId, name: rows.get(dataId)?.name ?? "", mountPath })),
  )
  // Mount paths were checked when they were written. A dataset that is renamed later cannot make
  // two of them equal.
  const paths = "field" in planned ? { ...defaultMountPaths, data: [] } : planned
  const own = projectDirectories(starter.userName, project.id)
  const fallback = expectsHome ? {} : { fallback: own.user }
  const mounts: DraftMount[] = [
    { part: "own", mount: { source: own.code, target: paths.CodePath, readOnly: false } },
    { part: "own", mount: { source: own.model, target: paths.ModelPath, readOnly: false } },
    { part: "home", mount: { source: homePath(starter.userName), target: paths.UserPath, readOnly: false }, ...fallback },
    ...links.map(({ dataId }, i): DraftMount => {
      const row = rows.get(dataId)
      const mount = { source: row ? normalizePath(row.accessInfo) : "", target: paths.data[i] ?? "", readOnly: false, dataId }
      return { part: "data", mount, datasets: row ? [row] : [] }
    }),
  ]
  return { image, imageId: project.imageId, mounts, plan: planOf(project, image, paths) }
}

function planOf(project: ProjectRow, image: ImageRow | undefined, paths: { CodePath: string; UserPath: string }): RunPlan {
  const words = image ? parseCommand(image.command) : []
  return {
    type: project.type,
    image: image?.image ?? "",
    imageId: project.imageId,
    command: words.length > 0 ? words : null,
    env: image ? parseEnv(image.env) : {},
    port: (image && parsePort(image.port)) ?? null,
    workDir: paths.CodePath,
    home: paths.UserPath,
    ...(project.startMinutes > 0 && { startMinutes: project.startMinutes }),
    ...(project.idleMinutes > 0 && { idleMinutes: project.idleMinutes }),
    ...(project.maxRunHours > 0 && { maxRunHours: project.maxRunHours }),
    mounts: [],
    secret: randomBytes(32).toString("base64url"),
  }
}

async function draftFromPlan(reads: PlanReads, { starter, project }: PlanRequest, plan: RunPlan): Promise<DraftPlan> {
  const mounts = await Promise.all(plan.mounts.map((mount) => draftMount(reads, { starter, project }, mount)))
  return { image: await imageOf(reads, project, plan), imageId: plan.imageId ?? project.imageId, mounts, plan }
}

/**
 * Plans of earlier versions do not name their image. Then it is the project's image, if that has
 * not changed.
 */
async function imageOf(reads: PlanReads, project: ProjectRow, { image, imageId }: RunPlan): Promise<ImageRow | undefined> {
  const found = await reads.images.part(imageId ?? project.imageId)
  return imageId === undefined && found?.image !== image ? undefined : found
}

/**
 * The starter's own directories need no right. Every other mount is a dataset that must still have
 * this directory. Plans of earlier versions, and of adopted containers, do not name the dataset.
 */
async function draftMount(
  reads: PlanReads,
  { starter, project }: Pick<PlanRequest, "starter" | "project">,
  mount: RunPlan["mounts"][number],
): Promise<DraftMount> {
  const { source, dataId } = mount
  if (Object.values(projectDirectories(starter.userName, project.id)).includes(source)) return { part: "own", mount }
  if (source === homePath(starter.userName)) return { part: "home", mount }
  const rows = dataId === undefined ? await reads.data.containing(source) : await reads.data.parts([dataId])
  return { part: "data", mount, datasets: rows.filter((row) => normalizePath(row.accessInfo) === source) }
}
