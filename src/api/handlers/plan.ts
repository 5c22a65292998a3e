import { randomBytes } from "node:crypto"
import { type Caller, can, dataThing, homeOf, imageThing, mayMount, type Thing, withGrants } from "#access"
import { defaultMountPaths, normalPath, parseCommand, parseEnv, parsePort, planMounts, type Reason } from "#contract"
import type { DataRow, ImageRow, ProjectRow, Reads, RunPlan } from "#store"
import { authorsOf } from "./authors.ts"
import { projectDirectories } from "./code.ts"
import { homeWarning, withheldHome } from "./home.ts"
import { isByAdmin } from "./image-contents.ts"

/** A project as its starter would run it: everything resolved, and the reason for which it cannot run, where there is one. */
export interface Plan {
  plan: RunPlan
  refusal: Reason | undefined
  /** What the starter is to know of the run, whatever becomes of it. */
  warning?: string | undefined
}

interface Parts {
  starter: Caller
  project: ProjectRow
  /** Undefined where it is not there. */
  image: Part<ImageRow> | undefined
  byAdmin: boolean
  atHome: boolean
  data: { part: Part<DataRow> | undefined; id: number; mountPath: string }[]
}

/** A part with what the starter was granted on it. */
interface Part<Row> {
  row: Row
  thing: Thing
}

/** Resolves a project for the person who starts it. Hidden and deleted parts become the run's reason, in the words of the starter. */
export async function planRun(
  reads: Pick<Reads, "images" | "data" | "projects" | "users" | "grants">,
  starter: Caller,
  project: ProjectRow,
): Promise<Plan> {
  const links = await reads.projects.links([project.id])
  const rows = await reads.data.getMany(links.map((link) => link.dataId))
  const things = await withGrants(reads, starter, { actions: ["data:writeFiles", "data:refer"], things: rows.map((row) => dataThing(row)) })
  const found = new Map(rows.map((row, i) => [row.id, { row, thing: things[i] as Thing }]))
  const data = links.map(({ dataId, mountPath }) => ({ part: found.get(dataId), id: dataId, mountPath }))
  const image = await imageOf(reads, starter, project.imageId)
  const byAdmin = image !== undefined && (await isByAdmin(reads, image.row))
  const withheld = await withheldHome(reads, { starter, project, image: image?.row })
  const parts = { starter, project, image, byAdmin, atHome: withheld === undefined, data }
  const authors = await authorsOf(reads, { starter, project, image: image?.row, data: rows })
  return { plan: { ...planOf(parts), authors }, refusal: refusalOf(parts), warning: homeWarning(starter, project, withheld) }
}

async function imageOf(reads: Pick<Reads, "images" | "grants">, starter: Caller, id: number): Promise<Part<ImageRow> | undefined> {
  const row = await reads.images.get(id)
  if (!row) return undefined
  const [thing] = await withGrants(reads, starter, { actions: ["image:use", "image:refer"], things: [imageThing(row)] })
  return { row, thing: thing as Thing }
}

function refusalOf({ starter, project, image, data }: Parts): Reason | undefined {
  if (!image || can(starter, "image:use", image.thing) !== "yes") {
    const name = image && can(starter, "image:refer", image.thing) === "yes" ? ` ${JSON.stringify(image.row.name)}` : ""
    return {
      code: "image_unavailable",
      msg: `The project's image ${project.imageId}${name} was deleted, or ${starter.userName} may not use it`,
    }
  }
  for (const { part, id } of data) {
    if (part && mayMount(starter, part.row, part.thing.grants) !== "no") continue
    const name = part && can(starter, "data:refer", part.thing) === "yes" ? ` ${JSON.stringify(part.row.name)}` : ""
    return { code: "data_unavailable", msg: `The project's dataset ${id}${name} was deleted, or ${starter.userName} may not read it` }
  }
  return undefined
}

function planOf({ starter, project, image: used, byAdmin, atHome, data }: Parts): RunPlan {
  const image = used?.row
  const places = planMounts(
    { UserPath: project.userPath, CodePath: project.codePath, ModelPath: project.modelPath },
    data.map(({ part, id, mountPath }) => ({ id, name: part?.row.name ?? "", mountPath })),
  )
  // Places were checked when they were written; a dataset's later name cannot make two the same.
  const at = "field" in places ? { ...defaultMountPaths, data: [] } : places
  const own = projectDirectories(starter.userName, project.id)
  const mounts = [
    { source: own.code, target: at.CodePath, readOnly: false },
    { source: own.model, target: at.ModelPath, readOnly: false },
    { source: atHome ? homeOf(starter.userName) : own.user, target: at.UserPath, readOnly: false },
    ...data.flatMap(({ part }, i) =>
      part
        ? [
            {
              source: normalPath(part.row.accessInfo),
              target: at.data[i] ?? "",
              readOnly: mayMount(starter, part.row, part.thing.grants) !== "rw",
            },
          ]
        : [],
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
