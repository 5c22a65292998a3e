import { randomBytes } from "node:crypto"
import { type Caller, can, dataThing, homeOf, imageThing, mayMount } from "#access"
import { defaultMountPaths, normalPath, parseCommand, parseEnv, parsePort, planMounts, type Reason } from "#contract"
import type { DataRow, ImageRow, ProjectRow, Reads, RunPlan } from "#store"
import { projectDirectories } from "./code.ts"
import { isByAdmin } from "./image-contents.ts"

/** A project as its starter would run it: everything resolved, and the reason for which it cannot run, where there is one. */
export interface Plan {
  plan: RunPlan
  refusal: Reason | undefined
}

interface Parts {
  starter: Caller
  project: ProjectRow
  image: ImageRow | undefined
  byAdmin: boolean
  data: { row: DataRow | undefined; id: number; mountPath: string }[]
}

/** Resolves a project for the person who starts it. Hidden and deleted parts become the run's reason, in the words of the starter. */
export async function planRun(
  reads: Pick<Reads, "images" | "data" | "projects" | "users">,
  starter: Caller,
  project: ProjectRow,
): Promise<Plan> {
  const links = await reads.projects.links([project.id])
  const rows = new Map((await reads.data.getMany(links.map((link) => link.dataId))).map((row) => [row.id, row]))
  const data = links.map(({ dataId, mountPath }) => ({ row: rows.get(dataId), id: dataId, mountPath }))
  const image = await reads.images.get(project.imageId)
  const byAdmin = image !== undefined && (await isByAdmin(reads, image))
  const parts = { starter, project, image, byAdmin, data }
  return { plan: planOf(parts), refusal: refusalOf(parts) }
}

function refusalOf({ starter, project, image, data }: Parts): Reason | undefined {
  if (!image || can(starter, "image:use", imageThing(image)) !== "yes") {
    const name = image && can(starter, "image:refer", imageThing(image)) === "yes" ? ` ${JSON.stringify(image.name)}` : ""
    return {
      code: "image_unavailable",
      msg: `The project's image ${project.imageId}${name} was deleted, or ${starter.userName} may not use it`,
    }
  }
  for (const { row, id } of data) {
    if (row && mayMount(starter, row) !== "no") continue
    const name = row && can(starter, "data:refer", dataThing(row)) === "yes" ? ` ${JSON.stringify(row.name)}` : ""
    return { code: "data_unavailable", msg: `The project's dataset ${id}${name} was deleted, or ${starter.userName} may not read it` }
  }
  return undefined
}

function planOf({ starter, project, image, byAdmin, data }: Parts): RunPlan {
  const places = planMounts(
    { UserPath: project.userPath, CodePath: project.codePath, ModelPath: project.modelPath },
    data.map(({ row, id, mountPath }) => ({ id, name: row?.name ?? "", mountPath })),
  )
  // Places were checked when they were written; a dataset's later name cannot make two the same.
  const at = "field" in places ? { ...defaultMountPaths, data: [] } : places
  const own = projectDirectories(starter.userName, project.id)
  const mounts = [
    { source: own.code, target: at.CodePath, readOnly: false },
    { source: own.model, target: at.ModelPath, readOnly: false },
    { source: holdsHome({ starter, project, image }) ? homeOf(starter.userName) : own.user, target: at.UserPath, readOnly: false },
    ...data.flatMap(({ row }, i) =>
      row ? [{ source: normalPath(row.accessInfo), target: at.data[i] ?? "", readOnly: mayMount(starter, row) !== "rw" }] : [],
    ),
  ]
  const words = image ? parseCommand(image.command) : []
  return {
    type: project.type,
    image: image?.image ?? "",
    imageId: project.imageId,
    imageByAdmin: byAdmin,
    command: words.length > 0 ? words : null,
    env: image ? parseEnv(image.env) : {},
    port: (image && parsePort(image.port)) ?? null,
    workDir: at.CodePath,
    home: at.UserPath,
    mounts,
    secret: randomBytes(32).toString("base64url"),
  }
}

/** A stranger's image never holds somebody's home: only one's own project with one's own image, or what an administrator trusts. */
export function holdsHome({ starter, project, image }: Pick<Parts, "starter" | "project" | "image">): boolean {
  const own = project.userId === starter.userId && image?.userId === starter.userId
  return own || (project.isTrusted && image?.isTrusted === true)
}
