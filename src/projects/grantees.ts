import type { Change, GrantRow } from "#store"

/** The people to whom a grant gives a right. */
export async function granteesOf(tx: Change, { userId, groupId }: GrantRow): Promise<readonly number[]> {
  return groupId === 0 ? [userId] : memberIdsOf(tx, groupId)
}

/** The IDs of a group's members. */
export async function memberIdsOf(tx: Change, groupId: number): Promise<number[]> {
  const members = await Promise.all((await tx.groups.members(groupId)).map((name) => tx.users.byName(name)))
  return members.filter((member) => member !== undefined).map((member) => member.id)
}
