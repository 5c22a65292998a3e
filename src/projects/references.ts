import { type Action, type Caller, can, imageResource, isAllowed, type Resource } from "#access"
import { Failure, invalidField } from "#contract"
import type { Reads, UserRow } from "#store"

/**
 * The failure for a reference to a resource that the caller cannot see or may not use. Its text is
 * the same for hidden and missing resources.
 */
export function invalidReference(field: string, what: string, id: number): Failure {
  return new Failure("invalid", `${field} names ${what} ${id}, which does not exist or may not be used`, { field })
}

export type Owner = Pick<UserRow, "id" | "userName">

/** The owner of a new resource: the caller, unless an administrator names somebody else. */
export async function resolveOwner(reads: Pick<Reads, "users">, caller: Caller, userName: string | undefined): Promise<Owner> {
  const name = userName || caller.userName
  if (name === caller.userName) return { id: caller.userId, userName: name }
  if (!caller.isAdmin) {
    throw new Failure("forbidden", "Only administrators may name somebody else as UserName", { field: "UserName" })
  }
  const owner = await reads.users.byName(name)
  if (!owner || owner.deletedAt !== null)
    throw new Failure("invalid", `There is no person called ${JSON.stringify(name)}`, { field: "UserName" })
  return owner
}

/**
 * The new owner, if an administrator names somebody else than the present one. Undefined if the
 * owner stays.
 */
export async function resolveNewOwner(
  reads: Pick<Reads, "users">,
  caller: Caller,
  { resource, userName, given }: { resource: Resource; userName: string; given: string | undefined },
): Promise<Owner | undefined> {
  if (!given || given === userName) return undefined
  if (can(caller, `${resource.type}:transferOwnership` as Action, resource) !== "yes")
    throw new Failure("forbidden", "Only administrators may transfer ownership: UserName names another owner", { field: "UserName" })
  return resolveOwner(reads, caller, given)
}

/**
 * The group of a name. Administrators may name any group; everybody else must be a member, and
 * cannot find out whether another group exists.
 */
export async function resolveGroup(reads: Pick<Reads, "groups">, caller: Caller, groupName: string): Promise<{ id: number }> {
  if (groupName === "") return { id: 0 }
  const group = await reads.groups.byName(groupName)
  if (!group || group.deletedAt !== null || !(caller.isAdmin || caller.groupIds.includes(group.id))) {
    throw invalidField("GroupName", caller.isAdmin ? "a group that exists" : `a group that ${caller.userName} is in`, groupName)
  }
  return { id: group.id }
}

/**
 * The image of a project. A body names it in `Image` or `ImageID` or both, and 0 names none; if one
 * of them is the stored image, the other counts. The caller must be allowed to use a new image; the
 * stored one is always accepted.
 */
export async function resolveImage(
  reads: Pick<Reads, "images" | "grants">,
  caller: Caller,
  { given, stored }: { given: { Image?: number | undefined; ImageID?: number | undefined }; stored: number | undefined },
): Promise<number> {
  const image = given.Image || undefined
  const imageId = given.ImageID || undefined
  const added = [...new Set([image, imageId].filter((each) => each !== undefined && each !== stored))]
  if (added.length > 1)
    throw new Failure("invalid", `Image and ImageID name two images, ${image} and ${imageId}; one is meant`, { field: "ImageID" })
  const wanted = added[0] ?? stored
  if (wanted === undefined) throw new Failure("invalid", "Image or ImageID is needed", { field: "Image" })
  if (wanted === stored) return wanted
  const row = await reads.images.part(wanted)
  if (!(await isAllowed(reads, caller, "image:use", row && imageResource(row))))
    throw invalidReference(image === wanted ? "Image" : "ImageID", "the image", wanted)
  return wanted
}
