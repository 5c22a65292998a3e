import { listRows } from "../lists/list.ts"
import { query } from "../queries/query.ts"
import type { GroupRow, RowPage, RowPageRequest, UserRow } from "../rows.ts"
import type { GroupReads, GroupWrites, NewRow, ResourceFilter, UserReads } from "../store.ts"
import { groupsTable } from "../tables/groups.ts"
import { resourceTables } from "../tables/index.ts"
import { usersTable } from "../tables/users.ts"
import { unrestrictedViewer } from "../viewer.ts"
import { type RepositoryContext, StampedRepository } from "./resource.ts"

const q = {
  userByName: query("userByName"),
  adminsAmong: query("adminsAmong"),
  userCount: query("userCount"),
  ownedCounts: query("ownedCounts"),
  userIds: query("userIds"),
  ownedTogether: query("ownedTogether"),
  ownedTextBytes: query("ownedTextBytes"),
  groupByName: query("groupByName"),
  members: query("groupMembers"),
  memberIds: query("groupMemberIds"),
  ofUser: query("groupsOfUser"),
  clearMembers: query("clearMembers"),
  addMember: query("addMember"),
  removeMember: query("removeMember"),
  deleteGrantsToUser: query("deleteGrantsToUser"),
  deleteGrantsToGroup: query("deleteGrantsToGroup"),
}

/** The keys of the counters of a person's resources. */
function ownedKeys(userId: number): string[] {
  return resourceTables.flatMap((table) => [`${table} public ${userId}`, `${table} private ${userId}`])
}

export class UserRepository extends StampedRepository<UserRow> implements UserReads {
  constructor(context: RepositoryContext) {
    super(context, usersTable)
  }

  async byName(userName: string): Promise<UserRow | undefined> {
    const values = await this.runner.first(q.userByName, { name: userName })
    return values && usersTable.toRow(values)
  }

  async adminsAmong(ids: readonly number[]): Promise<number[]> {
    return (await this.runner.all(q.adminsAmong, { ids })).map(([id]) => id as number)
  }

  list(filter: ResourceFilter<UserRow>, page: RowPageRequest): Promise<RowPage<UserRow>> {
    return listRows(this.runner, usersTable, { filter, viewer: unrestrictedViewer, page, now: this.clock.now() })
  }

  async count(): Promise<number> {
    return ((await this.runner.first(q.userCount, {})) as [number])[0]
  }

  async countOwned(id: number): Promise<{ live: number; deleted: number }> {
    const [live, deleted] = (await this.runner.first(q.ownedCounts, { user_id: id, keys: ownedKeys(id) })) as [number, number]
    return { live: Number(live), deleted: Number(deleted) }
  }

  async countOwnedBy(userNames: readonly string[]): Promise<number> {
    const ids = (await this.runner.all(q.userIds, { names: userNames })).map(([id]) => id as number)
    const found = await this.runner.first(q.ownedTogether, { user_ids: ids, keys: ids.flatMap(ownedKeys) })
    return Number(found?.[0])
  }

  async countTextBytes(id: number): Promise<number> {
    return Number((await this.runner.first(q.ownedTextBytes, { user_id: id }))?.[0])
  }

  override async setDeleted(id: number, deleted: boolean): Promise<UserRow | undefined> {
    if (deleted) await this.runner.run(q.deleteGrantsToUser, { user_id: id })
    return super.setDeleted(id, deleted)
  }

  override async update(id: number, fields: Partial<NewRow<UserRow>>): Promise<UserRow | undefined> {
    const { userName: _, ...changeable } = fields
    return super.update(id, changeable)
  }
}

export class GroupRepository extends StampedRepository<GroupRow> implements GroupReads, GroupWrites {
  constructor(context: RepositoryContext) {
    super(context, groupsTable)
  }

  async byName(groupName: string): Promise<GroupRow | undefined> {
    const values = await this.runner.first(q.groupByName, { name: groupName })
    return values && groupsTable.toRow(values)
  }

  list(filter: ResourceFilter<GroupRow> & { memberId?: number }, page: RowPageRequest): Promise<RowPage<GroupRow>> {
    return listRows(this.runner, groupsTable, { filter, viewer: unrestrictedViewer, page, now: this.clock.now() })
  }

  async members(groupId: number): Promise<string[]> {
    return (await this.runner.all(q.members, { group_id: groupId })).map(([name]) => name as string)
  }

  async memberIds(groupId: number): Promise<number[]> {
    return (await this.runner.all(q.memberIds, { group_id: groupId })).map(([id]) => id as number)
  }

  async ofUser(userId: number): Promise<GroupRow[]> {
    return (await this.runner.all(q.ofUser, { user_id: userId })).map(groupsTable.toRow)
  }

  async setMembers(groupId: number, userIds: readonly number[]): Promise<void> {
    await this.runner.run(q.clearMembers, { group_id: groupId })
    for (const userId of userIds) await this.addMember(groupId, userId)
  }

  async addMember(groupId: number, userId: number): Promise<void> {
    await this.runner.run(q.addMember, { group_id: groupId, user_id: userId })
  }

  async removeMember(groupId: number, userId: number): Promise<void> {
    await this.runner.run(q.removeMember, { group_id: groupId, user_id: userId })
  }

  override async setDeleted(id: number, deleted: boolean): Promise<GroupRow | undefined> {
    if (deleted) await this.runner.run(q.deleteGrantsToGroup, { group_id: id })
    return super.setDeleted(id, deleted)
  }

  override async update(id: number, fields: Partial<NewRow<GroupRow>>): Promise<GroupRow | undefined> {
    const { groupName: _, ...changeable } = fields
    return super.update(id, changeable)
  }
}
