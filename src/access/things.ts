import type { DataRow, GrantRow, GroupRow, ImageRow, ProjectRow, RunRow, TokenRow, UserRow } from "#store"
import type { Grant, Thing } from "./policy.ts"
import type { ThingType } from "./rights.ts"

/**
 * Stands for what is not there, where what is hidden must cost the same: nobody's, and nobody was
 * given it.
 */
export function noThing(type: ThingType): Thing {
  return { type, id: 0, ownerId: 0 }
}

/** Rows as the policy sees them. `grants` are those in force on that row. */
export function imageThing(row: ImageRow, grants: readonly Grant[] = []): Thing {
  return { type: "image", id: row.id, ownerId: row.userId, published: row.isPublished, deleted: row.deletedAt !== null, grants }
}

export function dataThing(row: DataRow, grants: readonly Grant[] = []): Thing {
  return { type: "data", id: row.id, ownerId: row.userId, published: row.isPublished, deleted: row.deletedAt !== null, grants }
}

export function projectThing(row: ProjectRow, grants: readonly Grant[] = []): Thing {
  const { id, userId: ownerId, isPublic: published, groupId } = row
  return { type: "project", id, ownerId, published, groupId, deleted: row.deletedAt !== null, grants }
}

/**
 * `projectOwnerId`: whose the run's project is, where that is known; it shows the owner that others
 * run it.
 */
export function runThing(row: RunRow, projectOwnerId?: number, grants: readonly Grant[] = []): Thing {
  return { type: "run", id: row.id, ownerId: row.userId, ...(projectOwnerId === undefined ? {} : { projectOwnerId }), grants }
}

export function userThing(row: UserRow): Thing {
  return { type: "user", id: row.id, ownerId: row.id, deleted: row.deletedAt !== null }
}

export function groupThing(row: GroupRow): Thing {
  return { type: "group", id: row.id, groupId: row.id, deleted: row.deletedAt !== null }
}

export function tokenThing(row: TokenRow): Thing {
  return { type: "token", id: row.id, ownerId: row.userId }
}

/** A grant as the policy counts it. */
export function grantOf({ access, userId, groupId }: GrantRow): Grant {
  return { access, ...(groupId === 0 ? { userId } : { groupId }) }
}

/**
 * A grant as a thing that is told of: it is its thing's owner's, and seen by those to whom it was
 * given.
 */
export function grantThing(row: GrantRow): Thing {
  return { type: "grant", id: row.id, ownerId: row.ownerId, grants: [grantOf(row)] }
}

/** Something that is to be made for a person: naming somebody else is for administrators. */
export function newThing(type: "image" | "data" | "project" | "token", ownerId: number): Thing {
  return { type, ownerId }
}
