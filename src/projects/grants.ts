import { type Caller, dataResource, imageResource, projectResource, type Resource, runResource } from "#access"
import { type Body, Failure } from "#contract"
import type { Change, GrantRow, Reads } from "#store"
import { checkDatasetOverlap } from "./dataset-overlap.ts"
import { resolveGroup } from "./references.ts"

type GrantBody = Body<"createGrant">
export type GrantableType = GrantRow["resourceType"]

/** The field that names a resource of each type, and the word for the type in messages. */
export const grantableResources = {
  image: { field: "ImageID", label: "image" },
  data: { field: "DataID", label: "dataset" },
  project: { field: "ProjectID", label: "project" },
  run: { field: "RunID", label: "running project" },
} as const satisfies Record<GrantableType, { field: string; label: string }>
export const grantableTypes = Object.keys(grantableResources) as GrantableType[]

/** The resource that a body names by exactly one of four IDs. An ID of 0 names nothing. */
export function parseGrantTarget(body: GrantBody): { type: GrantableType; id: number } {
  const named = grantableTypes.filter((type) => body[grantableResources[type].field] !== 0)
  const [type] = named
  if (!type || named.length > 1) {
    const field = grantableResources[named[1] ?? "image"].field
    throw new Failure("invalid", `Exactly one of ImageID, DataID, ProjectID and RunID is needed; got ${named.length}`, { field })
  }
  return { type, id: body[grantableResources[type].field] }
}

/** The resource of a grant as the policy sees it; undefined if it does not exist. */
export async function loadGrantTarget(reads: Reads, type: GrantableType, id: number): Promise<Resource | undefined> {
  if (type === "image") return toResource(await reads.images.part(id), imageResource)
  if (type === "data") return toResource(await reads.data.part(id), dataResource)
  if (type === "project") return toResource(await reads.projects.part(id), projectResource)
  const run = await reads.runs.get(id)
  return run && runResource(run, (await reads.projects.part(run.projectId))?.userId)
}

function toResource<Row>(row: Row | undefined, resource: (row: Row) => Resource): Resource | undefined {
  return row && resource(row)
}

/** Throws if a body names neither a person nor a group, or both. */
export function checkOneGrantee({ UserName, GroupName }: GrantBody): void {
  if ((UserName === "") === (GroupName === ""))
    throw new Failure("invalid", `Either UserName or GroupName is needed; got ${UserName === "" ? "neither" : "both"}`, {
      field: "UserName",
    })
}

/** The time at which a grant expires; null if it never does. Throws if that time is in the past. */
export function parseGrantExpiry({ Until }: GrantBody, now: number): number | null {
  const expiresAt = Until === null ? null : Date.parse(Until)
  if (expiresAt !== null && expiresAt <= now)
    throw new Failure("invalid", `Until must be a time in the future, or null; got ${Until}`, { field: "Until" })
  return expiresAt
}

/** The person or the group of a new grant, as its row stores them. */
export async function resolveGrantee(
  reads: Pick<Reads, "users" | "groups">,
  caller: Caller,
  { UserName, GroupName }: GrantBody,
): Promise<{ userId: number; groupId: number }> {
  if (GroupName !== "") return { userId: 0, groupId: (await resolveGroup(reads, caller, GroupName)).id }
  return { userId: await resolveKnownPerson(reads, caller, UserName), groupId: 0 }
}

/**
 * The ID of a person whom the caller may know: themselves, and members of their groups.
 * Administrators know everybody. All other names get the same refusal, after the same queries,
 * whether or not they exist.
 */
async function resolveKnownPerson(reads: Pick<Reads, "users" | "groups">, caller: Caller, userName: string): Promise<number> {
  const user = await reads.users.byName(userName)
  const groups = await reads.groups.ofUser(user?.id ?? 0)
  const isKnown = caller.isAdmin || user?.id === caller.userId || groups.some(({ id }) => caller.groupIds.includes(id))
  if (user && user.deletedAt === null && isKnown) return user.id
  const wanted = caller.isAdmin
    ? "a person who exists"
    : `a person with whom ${caller.userName} shares a group (an administrator may name anybody)`
  throw new Failure("invalid", `UserName must name ${wanted}; got ${JSON.stringify(userName)}`, { field: "UserName" })
}

/** Throws if a changed grant on a dataset breaks the rule about shared directories. */
export async function checkGrantOnOverlappingDatasets(tx: Change, { resourceType, resourceId }: GrantRow): Promise<void> {
  const row = resourceType === "data" ? await tx.data.part(resourceId) : undefined
  if (row) await checkDatasetOverlap(tx, row, { field: "DataID", isInPlace: true })
}
