import type { Caller } from "#access"
import { Failure } from "#contract"
import type { Change, ImageRow, ProjectRow, Reads } from "#store"
import type { ProjectsContext, Requester } from "./context.ts"

type UserReads = Pick<Reads, "users">
/** As much of an image or a project as tells who answers for it. */
export type Answered = Pick<ImageRow | ProjectRow, "userId" | "isTrusted" | "writtenBy">

/**
 * Whether administrators vouch for an image or a project: one marked it, or it is one's own and
 * administrators alone have changed it.
 */
export async function isTrusted(reads: UserReads, { isTrusted: isMarked, userId, writtenBy }: Answered): Promise<boolean> {
  return isMarked || ((await isAdmin(reads, userId)) && (await isAdmin(reads, writtenBy)))
}

async function isAdmin(reads: UserReads, userId: number): Promise<boolean> {
  return userId !== 0 && (await reads.users.get(userId))?.isAdmin === true
}

/** A flag that only an administrator may turn; sending back what is stored is fine. */
export function checkTrustChange(caller: Caller, given: boolean | undefined, stored: boolean): void {
  if (given !== undefined && given !== stored && !caller.isAdmin) {
    throw new Failure("forbidden", "Only administrators may mark something as trusted", { field: "IsTrusted" })
  }
}

/**
 * What a change of what runs writes along: who did it, and that no administrator vouches for it any
 * more unless one did it. A stranger's name stays on what an administrator owns until an
 * administrator marks it as trusted: one change by an administrator does not vouch for an earlier
 * one.
 */
export async function authorshipAfterChange(
  reads: UserReads,
  caller: Caller,
  { userId, writtenBy: before }: Pick<Answered, "userId" | "writtenBy">,
): Promise<{ writtenBy: number; isTrusted?: false }> {
  if (!caller.isAdmin) return { writtenBy: caller.userId, isTrusted: false }
  const isStained = before !== 0 && (await isAdmin(reads, userId)) && !(await isAdmin(reads, before))
  return { writtenBy: isStained ? before : caller.userId }
}

/**
 * What was looked at is another resource for whoever may use it from now on: a publication or a
 * release by somebody who is no administrator ends the trust in it.
 */
export function trustAfterPublication(caller: Caller): { isTrusted?: false } {
  return caller.isAdmin ? {} : { isTrusted: false }
}

/**
 * Whom something goes back to that gets another owner, or is copied: its last writer, or its owner
 * where an administrator or the new owner was the last to touch what is not theirs.
 */
export async function writerAfterTransfer(
  reads: UserReads,
  { userId, writtenBy: writer }: Pick<Answered, "userId" | "writtenBy">,
  to: number,
): Promise<number> {
  if (userId === to || (writer !== to && !(await isAdmin(reads, writer)))) return writer
  return (await isAdmin(reads, userId)) ? writer : userId
}

/**
 * Tells the owner and the administrators that the trust in something has ended, and by what. Part
 * of the change's own transaction.
 */
export async function publishTrustEnd(
  { events }: Pick<ProjectsContext, "events">,
  tx: Change,
  { caller }: Pick<Requester, "caller">,
  what: { type: "image" | "project"; was: Answered & { id: number }; now: Pick<Answered, "isTrusted">; by: string },
): Promise<void> {
  const { type, was, now, by } = what
  if (!was.isTrusted || now.isTrusted) return
  const administrators = await tx.users.list({ where: { isAdmin: true } }, { page: 1, pageSize: 200 })
  const people = [...new Set([was.userId, ...administrators.rows.map(({ id }) => id)])]
  const text = `The ${type} is no longer marked as trusted: ${caller.userName}, who is no administrator, ${by}. An administrator who has looked at it may mark it again`
  await events.trustEnded(tx, { resource: { type, id: was.id }, people, text })
}

const everything = { userId: 0, groupIds: [], everything: true }

/**
 * Who marked a project as trusted looked at its image, too: what changes the image ends the trust
 * in all projects that run it.
 */
export async function endTrustInProjectsWithImage(
  services: Pick<ProjectsContext, "events">,
  tx: Change,
  context: Requester,
  imageId: number,
): Promise<void> {
  if (context.caller.isAdmin) return
  for (const deleted of [false, true]) {
    const filter = { where: { imageId, isTrusted: true }, ...(deleted ? { deleted } : {}) }
    for (;;) {
      const { rows } = await tx.projects.list(filter, everything, { page: 1, pageSize: 200 })
      for (const was of rows) await endProjectTrust(services, tx, context, { was, by: "changed its image" })
      if (rows.length === 0) break
    }
  }
}

/** Takes the mark off a project. */
export async function endProjectTrust(
  services: Pick<ProjectsContext, "events">,
  tx: Change,
  context: Requester,
  { was, by }: { was: ProjectRow; by: string },
): Promise<ProjectRow> {
  const now = (await tx.projects.update(was.id, { isTrusted: false })) ?? was
  await services.events.changed(tx, context.actor, { verb: "updated", resource: { type: "project", id: was.id } })
  await publishTrustEnd(services, tx, context, { type: "project", was, now, by })
  return now
}

/** Whether an administrator registered an image: it is theirs, or one of them vouches for it. */
export async function isAdminImage(reads: Pick<Reads, "users">, image: Pick<ImageRow, "userId" | "isTrusted">): Promise<boolean> {
  return image.isTrusted || (await reads.users.get(image.userId))?.isAdmin === true
}
