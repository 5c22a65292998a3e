import type { DataRow, GrantRow, GroupRow, ImageRow, ProjectRow, RightsRow, RunRow, SessionRow, TokenRow, UserRow } from "#store"
import type { PolicyGrant, Resource } from "./policy.ts"
import type { ResourceType } from "./rights.ts"

/**
 * Stands for a missing resource, so that it costs the same queries as a hidden one. It has no owner
 * and no grants.
 */
export function missingResource(type: ResourceType): Resource {
  return { type, id: 0, ownerId: 0 }
}

/** Rows as the policy sees them. `grants` are those in force on that row. */
export function imageResource(row: RightsRow<ImageRow>, grants: readonly PolicyGrant[] = []): Resource {
  return { type: "image", id: row.id, ownerId: row.userId, published: row.isPublished, deleted: row.deletedAt !== null, grants }
}

export function dataResource(row: RightsRow<DataRow>, grants: readonly PolicyGrant[] = []): Resource {
  return { type: "data", id: row.id, ownerId: row.userId, published: row.isPublished, deleted: row.deletedAt !== null, grants }
}

export function projectResource(row: RightsRow<ProjectRow>, grants: readonly PolicyGrant[] = []): Resource {
  const { id, userId: ownerId, isPublic: published, groupId } = row
  return { type: "project", id, ownerId, published, groupId, deleted: row.deletedAt !== null, grants }
}

/**
 * `projectOwnerId`: the owner of the run's project, if known; owners see that others run their
 * project.
 */
export function runResource(row: RunRow, projectOwnerId?: number, grants: readonly PolicyGrant[] = []): Resource {
  return { type: "run", id: row.id, ownerId: row.userId, ...(projectOwnerId === undefined ? {} : { projectOwnerId }), grants }
}

export function userResource(row: UserRow): Resource {
  return { type: "user", id: row.id, ownerId: row.id, deleted: row.deletedAt !== null }
}

export function groupResource(row: GroupRow): Resource {
  return { type: "group", id: row.id, groupId: row.id, deleted: row.deletedAt !== null }
}

export function tokenResource(row: TokenRow): Resource {
  return { type: "token", id: row.id, ownerId: row.userId }
}

export function sessionResource({ id, userId: ownerId }: Pick<SessionRow, "id" | "userId">): Resource {
  return { type: "session", id, ownerId }
}

/** A grant as the policy counts it. */
export function toGrant({ access, userId, groupId }: GrantRow): PolicyGrant {
  return { access, ...(groupId === 0 ? { userId } : { groupId }) }
}

/**
 * A grant as a resource of its own: it belongs to the owner of its resource, and its recipients see
 * it.
 */
export function grantResource(row: GrantRow): Resource {
  return { type: "grant", id: row.id, ownerId: row.ownerId, grants: [toGrant(row)] }
}

/** A resource that is about to be created for a person. Only administrators create for others. */
export function newResource(type: "image" | "data" | "project" | "token", ownerId: number): Resource {
  return { type, ownerId }
}
