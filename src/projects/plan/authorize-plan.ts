import {
  type Action,
  type Caller,
  can,
  dataResource,
  homePath,
  imageResource,
  loadGrants,
  mountMode,
  ownerAsCaller,
  type Resource,
} from "#access"
import type { Reason } from "#contract"
import type { DataRow, ImageRow, ProjectRow, Reads, RunPlan } from "#store"
import { isAdminImage, isTrusted } from "../trust.ts"
import { homeMountRefusal, homeMountWarning } from "./home-mount.ts"

type RightReads = Pick<Reads, "users" | "groups" | "grants">

/** A project as its starter would run it. */
export interface AuthorizedPlan {
  plan: RunPlan
  /** The reason why it may not run, if there is one. */
  refusal: Reason | undefined
  /** A message for the starter about the run that does not keep it from running. */
  warning?: string | undefined
}

type Mount = RunPlan["mounts"][number]
/**
 * A mount before the rights are checked. `fallback` is mounted if the home may not be. `datasets`
 * are the datasets with that directory.
 */
export type DraftMount =
  | { part: "own"; mount: Mount }
  | { part: "home"; mount: Mount; fallback?: string }
  | { part: "data"; mount: Mount; datasets: readonly DataRow[] }

/** A plan before the rights are checked. Its mounts are `mounts`, not `plan.mounts`. */
export interface DraftPlan {
  plan: RunPlan
  /** Undefined if it does not exist. */
  image: ImageRow | undefined
  imageId: number
  mounts: readonly DraftMount[]
}

interface Start {
  starter: Caller
  project: ProjectRow
}

/**
 * Checks every part of a draft against the rights that its starter and the project's owner have
 * now.
 */
export async function authorizeDraft(reads: RightReads, start: Start, draft: DraftPlan): Promise<AuthorizedPlan> {
  const owner = await ownerToCheck(reads, start)
  const parties: Parties = { ...start, owner }
  const imageRefusal = await refuseImage(reads, parties, draft)
  const homeRefusal = await homeMountRefusal(reads, { ...start, image: draft.image })
  const rights = await dataRightsOf(reads, parties, draft.mounts)
  const mounts = draft.mounts.map((wanted) => authorizeMount(parties, wanted, { homeRefusal, rights }))
  const image = draft.image?.image === draft.plan.image ? draft.image : undefined
  const { writablePaths: _, homeRefusal: earlierRefusal, ...planned } = draft.plan
  const allowed = mounts.filter((mount) => "target" in mount)
  const hasHome = allowed.some(({ source }) => source === homePath(start.starter.userName))
  const plan: RunPlan = {
    ...(imageRefusal ? withoutImageSettings(planned) : planned),
    imageByAdmin: image !== undefined && (await isAdminImage(reads, image)),
    ...(image && image.writablePaths.length > 0 && { writablePaths: image.writablePaths }),
    mounts: allowed,
    ...(!hasHome && { homeRefusal: homeRefusal ?? earlierRefusal ?? "the run began without it" }),
  }
  const refusal = imageRefusal ?? mounts.find((mount) => "code" in mount)
  return { plan, refusal, warning: homeMountWarning(start.starter, start.project, homeRefusal) }
}

/** Nothing may later run with settings of an image that its starter, or the owner, may not use. */
function withoutImageSettings(plan: RunPlan): RunPlan {
  return { ...plan, command: null, env: {}, port: null }
}

interface Parties extends Start {
  /** Undefined if the starter's own right is enough. */
  owner: Caller | undefined
}

/**
 * The project's owner, if their right is needed beside the starter's. A project decides what is
 * done with the resources of others, so its owner must have the right as well. Not needed if
 * starter and owner are the same person, or if administrators trust the project.
 */
async function ownerToCheck(reads: RightReads, { starter, project }: Start): Promise<Caller | undefined> {
  if (project.userId === starter.userId || (await isTrusted(reads, project))) return undefined
  return ownerAsCaller(reads, { id: project.userId, userName: project.userName })
}

async function refuseImage(
  reads: RightReads,
  { starter, project, owner }: Parties,
  { image, imageId }: DraftPlan,
): Promise<Reason | undefined> {
  const request = { actions: ["image:use", "image:refer"] as const, resources: image ? [imageResource(image)] : [] }
  const [forStarter] = await loadGrants(reads, starter, request)
  const [forOwner] = owner ? await loadGrants(reads, owner, request) : []
  const isVisible = image && forStarter && can(starter, "image:refer", forStarter) === "yes"
  const subject = `The project's image ${imageId}${isVisible ? ` ${JSON.stringify(image.name)}` : ""}`
  if (!forStarter || can(starter, "image:use", forStarter) !== "yes") {
    const msg = isVisible
      ? `${subject} was deleted, or ${starter.userName} may not use it`
      : notShared({ starter, project }, { part: "The project's image", lost: "deleted", advice: "choose another one" })
    return { code: "image_unavailable", msg }
  }
  if (owner && (!forOwner || can(owner, "image:use", forOwner) !== "yes"))
    return { code: "image_unavailable", msg: `${subject} may not be used by ${project.userName}, whose project this is${remedy}` }
  return undefined
}

const remedy = ": they need the right as well, or an administrator's trust in the project"

/** How starter and owner may mount a dataset, and whether the starter may read its name. */
interface DataRights {
  starter: "rw" | "ro" | "no"
  owner: "rw" | "ro" | "no"
  isVisible: boolean
}
const noRights: DataRights = { starter: "no", owner: "no", isVisible: false }
const order = ["no", "ro", "rw"] as const
const lowerOf = (a: DataRights["starter"], b: DataRights["starter"]) => order[Math.min(order.indexOf(a), order.indexOf(b))] ?? "no"

const dataActions: readonly Action[] = ["data:writeFiles", "data:refer"]

async function dataRightsOf(
  reads: RightReads,
  { starter, owner }: Parties,
  mounts: readonly DraftMount[],
): Promise<Map<number, DataRights>> {
  const rows = mounts.flatMap((wanted) => (wanted.part === "data" ? wanted.datasets : []))
  const resources = rows.map((row) => dataResource(row))
  const forStarter = await loadGrants(reads, starter, { actions: dataActions, resources })
  const forOwner = owner ? await loadGrants(reads, owner, { actions: dataActions, resources }) : forStarter
  return new Map(
    rows.map((row, i) => {
      const resource = forStarter[i] as Resource
      const byStarter = mountMode(starter, row, resource.grants)
      const isVisible = can(starter, "data:refer", resource) === "yes"
      return [row.id, { starter: byStarter, owner: owner ? mountMode(owner, row, forOwner[i]?.grants) : byStarter, isVisible }]
    }),
  )
}

function authorizeMount(
  parties: Parties,
  wanted: DraftMount,
  { homeRefusal, rights }: { homeRefusal: string | undefined; rights: ReadonlyMap<number, DataRights> },
): Mount | Reason {
  const { mount } = wanted
  if (wanted.part === "own") return mount
  if (wanted.part === "home") {
    if (homeRefusal === undefined) return mount
    if (wanted.fallback !== undefined) return { ...mount, source: wanted.fallback }
    return { code: "data_unavailable", msg: `The run had the home of ${parties.starter.userName}, which it may not have: ${homeRefusal}` }
  }
  const [best] = wanted.datasets
    .map((row) => ({ row, rights: rights.get(row.id) ?? noRights }))
    .sort((a, b) => order.indexOf(lowerOf(b.rights.starter, b.rights.owner)) - order.indexOf(lowerOf(a.rights.starter, a.rights.owner)))
  const mountRights = best?.rights ?? noRights
  const mode = lowerOf(mountRights.starter, mountRights.owner)
  if (mode !== "no") return { ...mount, readOnly: mount.readOnly || mode !== "rw" }
  return dataRefusal(parties, { mount, rights: mountRights, row: best?.row })
}

/** A part that the starter may not see: nothing but its role in the project, and whom to ask. */
function notShared({ starter, project }: Start, { part, lost, advice }: { part: string; lost: string; advice: string }): string {
  return project.userId === starter.userId
    ? `${part} was ${lost}, or is no longer shared with ${starter.userName}, whose project this is: ${advice}`
    : `${part} is not shared with ${starter.userName}, or was ${lost}: ask ${project.userName}, the project's owner`
}

/** Names the dataset if the starter may see it, and otherwise only its path in the run. */
function dataRefusal(
  { starter, project }: Parties,
  { mount, rights, row }: { mount: Mount; rights: DataRights; row: DataRow | undefined },
): Reason {
  if (rights.starter === "no" && !(row && rights.isVisible)) {
    const part = `A dataset mounted at ${mount.target}`
    const advice = "remove it from the project, or ask its owner"
    return { code: "data_unavailable", msg: notShared({ starter, project }, { part, lost: "deleted or moved", advice }) }
  }
  const id = mount.dataId ?? row?.id
  const name = row && rights.isVisible ? ` ${JSON.stringify(row.name)}` : ""
  const subject = `The project's dataset ${id === undefined ? "" : `${id}${name} `}at ${mount.target}`
  const msg =
    rights.starter === "no"
      ? `${subject} was deleted or moved, or ${starter.userName} may not read it`
      : `${subject} may not be read by ${project.userName}, whose project this is${remedy}`
  return { code: "data_unavailable", msg }
}
