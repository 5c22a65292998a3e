import { type Action, type Caller, can, dataResource, imageResource, loadGrants, mountMode, ownerAsCaller, type Resource } from "#access"
import type { Reason } from "#contract"
import type { DataRow, ImageRow, ProjectRow, Reads, RunPlan } from "#store"
import { isAdminImage, isTrusted } from "../trust.ts"
import { homeMountRefusal, homeMountWarning } from "./home-mount.ts"

type RightReads = Pick<Reads, "users" | "groups" | "grants">

/**
 * A project as its starter would run it: everything resolved, and the reason for which it cannot
 * run, where there is one.
 */
export interface Plan {
  plan: RunPlan
  refusal: Reason | undefined
  /** What the starter is to know of the run, whatever becomes of it. */
  warning?: string | undefined
}

type Mount = RunPlan["mounts"][number]
/**
 * A mount as it is wanted. `fallback`: what is mounted where the home is not given. `datasets`:
 * those whose directory it is.
 */
export type DraftMount =
  | { part: "own"; mount: Mount }
  | { part: "home"; mount: Mount; fallback?: string }
  | { part: "data"; mount: Mount; datasets: readonly DataRow[] }

/** A plan before anybody has asked who may. `mounts` stand for those of `plan`. */
export interface Draft {
  plan: RunPlan
  /** Undefined where it is not there. */
  image: ImageRow | undefined
  imageId: number
  mounts: readonly DraftMount[]
}

interface Who {
  starter: Caller
  project: ProjectRow
}

/**
 * Judges every part of a draft by the rights of its starter and of the project's owner as they now
 * are.
 */
export async function authorizeDraft(reads: RightReads, who: Who, draft: Draft): Promise<Plan> {
  const owner = await ownerToAsk(reads, who)
  const people: People = { ...who, owner }
  const image = await judgeImage(reads, people, draft)
  const withheld = await homeMountRefusal(reads, { ...who, image: draft.image })
  const levels = await levelsOf(reads, people, draft.mounts)
  const mounts = draft.mounts.map((wanted) => judgeMount(people, wanted, { withheld, levels }))
  const byAdmin = draft.image?.image === draft.plan.image && (await isAdminImage(reads, draft.image))
  const plan: RunPlan = { ...draft.plan, imageByAdmin: byAdmin, mounts: mounts.filter((mount) => "target" in mount) }
  const refusal = image ?? mounts.find((mount) => "code" in mount)
  return { plan, refusal, warning: homeMountWarning(who.starter, who.project, withheld) }
}

interface People extends Who {
  /** Undefined where the starter's own right is enough. */
  owner: Caller | undefined
}

/**
 * Whose right a use of others' resources needs beside the starter's: the project decides what is
 * done with them, so its owner must have the right, too. Not where they are one person, nor where
 * administrators vouch for the project.
 */
async function ownerToAsk(reads: RightReads, { starter, project }: Who): Promise<Caller | undefined> {
  if (project.userId === starter.userId || (await isTrusted(reads, project))) return undefined
  return ownerAsCaller(reads, { id: project.userId, userName: project.userName })
}

async function judgeImage(reads: RightReads, { starter, project, owner }: People, { image, imageId }: Draft): Promise<Reason | undefined> {
  const asked = { actions: ["image:use", "image:refer"] as const, resources: image ? [imageResource(image)] : [] }
  const [own] = await loadGrants(reads, starter, asked)
  const [owners] = owner ? await loadGrants(reads, owner, asked) : []
  const name = image && own && can(starter, "image:refer", own) === "yes" ? ` ${JSON.stringify(image.name)}` : ""
  const what = `The project's image ${imageId}${name}`
  if (!own || can(starter, "image:use", own) !== "yes")
    return { code: "image_unavailable", msg: `${what} was deleted, or ${starter.userName} may not use it` }
  if (owner && (!owners || can(owner, "image:use", owners) !== "yes"))
    return { code: "image_unavailable", msg: `${what} may not be used by ${project.userName}, whose project this is${remedy}` }
  return undefined
}

const remedy = ": they need the right as well, or an administrator's trust in the project"

/**
 * How a dataset may be mounted by the starter, by the project's owner, and whether the starter may
 * know its name.
 */
interface Level {
  starter: "rw" | "ro" | "no"
  owner: "rw" | "ro" | "no"
  isSeen: boolean
}
const noLevel: Level = { starter: "no", owner: "no", isSeen: false }
const order = ["no", "ro", "rw"] as const
const lower = (a: Level["starter"], b: Level["starter"]) => order[Math.min(order.indexOf(a), order.indexOf(b))] ?? "no"

const dataActions: readonly Action[] = ["data:writeFiles", "data:refer"]

async function levelsOf(reads: RightReads, { starter, owner }: People, mounts: readonly DraftMount[]): Promise<Map<number, Level>> {
  const rows = mounts.flatMap((wanted) => (wanted.part === "data" ? wanted.datasets : []))
  const resources = rows.map((row) => dataResource(row))
  const own = await loadGrants(reads, starter, { actions: dataActions, resources })
  const owners = owner ? await loadGrants(reads, owner, { actions: dataActions, resources }) : own
  return new Map(
    rows.map((row, i) => {
      const resource = own[i] as Resource
      const starters = mountMode(starter, row, resource.grants)
      const isSeen = can(starter, "data:refer", resource) === "yes"
      return [row.id, { starter: starters, owner: owner ? mountMode(owner, row, owners[i]?.grants) : starters, isSeen }]
    }),
  )
}

function judgeMount(
  people: People,
  wanted: DraftMount,
  { withheld, levels }: { withheld: string | undefined; levels: ReadonlyMap<number, Level> },
): Mount | Reason {
  const { mount } = wanted
  if (wanted.part === "own") return mount
  if (wanted.part === "home") {
    if (withheld === undefined) return mount
    if (wanted.fallback !== undefined) return { ...mount, source: wanted.fallback }
    return { code: "data_unavailable", msg: `The run had the home of ${people.starter.userName}, which it may not have: ${withheld}` }
  }
  const [best] = wanted.datasets
    .map((row) => ({ row, level: levels.get(row.id) ?? noLevel }))
    .sort((a, b) => order.indexOf(lower(b.level.starter, b.level.owner)) - order.indexOf(lower(a.level.starter, a.level.owner)))
  const level = best?.level ?? noLevel
  const may = lower(level.starter, level.owner)
  if (may !== "no") return { ...mount, readOnly: mount.readOnly || may !== "rw" }
  return refusedData(people, { mount, level, row: best?.row })
}

/** Names the dataset to whoever may see it, and to others its place in the run. */
function refusedData(
  { starter, project }: People,
  { mount, level, row }: { mount: Mount; level: Level; row: DataRow | undefined },
): Reason {
  const id = mount.dataId ?? row?.id
  const name = row && level.isSeen ? ` ${JSON.stringify(row.name)}` : ""
  const what = `The project's dataset ${id === undefined ? "" : `${id}${name} `}at ${mount.target}`
  const msg =
    level.starter === "no"
      ? `${what} was deleted or moved, or ${starter.userName} may not read it`
      : `${what} may not be read by ${project.userName}, whose project this is${remedy}`
  return { code: "data_unavailable", msg }
}
