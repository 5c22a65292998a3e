import { groupResource, type Identity } from "#access"
import type { Actor, Events } from "#events"
import type { Change, GroupRow } from "#store"
import { publishMemberVisibility } from "./visibility.ts"

interface GroupContext {
  events: Events
  identity: Pick<Identity, "invalidate">
}

interface GroupChange {
  verb: "created" | "updated" | "deleted"
  row: GroupRow
  /** The IDs of the members before and after the change. */
  before: readonly number[]
  after: readonly number[]
}

/**
 * Publishes a change of a group to its members. People who joined or left also learn which
 * resources they see now, or no longer see.
 */
export async function publishGroupChange(
  { events, identity }: GroupContext,
  tx: Change,
  { actor }: { actor: Actor },
  { verb, row, before, after }: GroupChange,
): Promise<void> {
  const people = [...new Set([...before, ...after])]
  const [known, remaining] = [new Set(before), new Set(after)]
  const left = before.filter((each) => !remaining.has(each))
  const was = { ...groupResource(row), grants: left.map((userId) => ({ access: "use", userId })) }
  await events.changed(tx, actor, { verb, resource: { type: "group", id: row.id }, was, people })
  const joinedOrLeft = people.filter((each) => known.has(each) !== remaining.has(each))
  await publishMemberVisibility(events, tx, { groupId: row.id, people: joinedOrLeft })
  tx.afterCommit(() => identity.invalidate(...people))
}

/**
 * Removes a deleted person from all groups. The responses of these groups change, so their versions
 * do, and their members learn of it.
 */
export async function removeFromAllGroups(
  context: GroupContext,
  tx: Change,
  { actor, userId }: { actor: Actor; userId: number },
): Promise<void> {
  for (const row of await tx.groups.ofUser(userId)) {
    const before = await tx.groups.memberIds(row.id)
    await tx.groups.removeMember(row.id, userId)
    await tx.groups.update(row.id, {})
    await publishGroupChange(context, tx, { actor }, { verb: "updated", row, before, after: before.filter((each) => each !== userId) })
  }
}
