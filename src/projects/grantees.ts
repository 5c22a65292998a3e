import type { Change, GrantRow } from "#store"

/** The people to whom a grant gives a right. */
export async function granteesOf(tx: Change, { userId, groupId }: GrantRow): Promise<readonly number[]> {
  return groupId === 0 ? [userId] : tx.groups.memberIds(groupId)
}
