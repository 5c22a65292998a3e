import type { Grant, Whoami } from "#contract"

/** The actions that a page offers on an image, dataset or project. The server judges each again. */
export interface Rights {
  /** Changing it, publication aside. */
  canChange: boolean
  /** Publishing, sharing, deleting, releasing. */
  canManage: boolean
  canUse: boolean
}

export interface OwnedResource {
  UserName: string
  isPublished: boolean
  GroupName?: string
}

type Person = Pick<Whoami, "UserName" | "IsAdmin" | "Groups">

/** The rights of a person, from ownership, publication, groups and grants that have not expired. */
export function rightsOn(resource: OwnedResource, person: Person, grants: readonly Grant[], now: Date): Rights {
  const canManage = person.IsAdmin || resource.UserName === person.UserName
  const inGroup = resource.GroupName !== undefined && resource.GroupName !== "" && person.Groups.includes(resource.GroupName)
  const held = grants.filter((grant) => isHeldBy(grant, person) && isCurrent(grant, now)).map(({ Access }) => Access)
  const canChange = canManage || held.includes("write")
  return { canManage, canChange, canUse: canChange || inGroup || resource.isPublished || held.includes("use") }
}

function isHeldBy({ UserName, GroupName }: Grant, person: Person): boolean {
  return UserName === "" ? person.Groups.includes(GroupName) : UserName === person.UserName
}

function isCurrent({ Until }: Grant, now: Date): boolean {
  return Until === null || Date.parse(Until) > now.getTime()
}
