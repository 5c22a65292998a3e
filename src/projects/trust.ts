import { isDeepStrictEqual } from "node:util"
import type { Caller } from "#access"
import { Failure } from "#contract"
import { type Change, type ImageRow, type ProjectRow, type Reads, unrestrictedViewer } from "#store"
import type { ProjectsContext, Requester } from "./context.ts"

type UserReads = Pick<Reads, "users">
/** The people who are responsible for what an image or a project runs. */
export type Authorship = Pick<ImageRow | ProjectRow, "userId" | "isTrusted" | "writtenBy">

/**
 * Whether administrators trust an image or a project: one marked it as trusted, or it belongs to
 * one and only administrators have changed it.
 */
export async function isTrusted(reads: UserReads, { isTrusted: isMarked, userId, writtenBy }: Authorship): Promise<boolean> {
  return isMarked || ((await isAdmin(reads, userId)) && (await isAdmin(reads, writtenBy)))
}

export async function isAdmin(reads: UserReads, userId: number): Promise<boolean> {
  return userId !== 0 && (await reads.users.get(userId))?.isAdmin === true
}

/** Throws `forbidden` if anybody but an administrator changes the flag. */
export function checkTrustChange(caller: Caller, given: boolean | undefined, stored: boolean): void {
  if (given !== undefined && given !== stored && !caller.isAdmin) {
    throw new Failure("forbidden", "Only administrators may mark something as trusted", { field: "IsTrusted" })
  }
}

/** Throws `forbidden` if anybody but an administrator changes the paths. */
export function checkWritablePathsChange(caller: Caller, given: readonly string[] | undefined, stored: readonly string[]): void {
  if (given === undefined || caller.isAdmin || isDeepStrictEqual(given, stored)) return
  throw new Failure("forbidden", "Only administrators may set the directories that runs may write to", { field: "WritablePaths" })
}

/** Throws `forbidden` if anybody but an administrator changes whether the image is kept. */
export function checkKeepPresentChange(caller: Caller, given: boolean | undefined, stored: boolean): void {
  if (given === undefined || caller.isAdmin || given === stored) return
  throw new Failure("forbidden", "Only administrators may choose the images that stay on the engine", { field: "KeepPresent" })
}

/**
 * The columns to write with another reference, for which no administrator chose the paths, nor to
 * keep it.
 */
export function administratorFieldsOfReference(caller: Caller): { writablePaths?: []; keepPresent?: false } {
  return caller.isAdmin ? {} : { writablePaths: [], keepPresent: false }
}

/** Whether a change of an image changes what its runs execute. */
export function changesWhatRuns(was: ImageRow, now: Partial<ImageRow>): boolean {
  return (["image", "command", "env", "port"] as const).some((name) => now[name] !== undefined && now[name] !== was[name])
}

/**
 * Throws if a person changes the reference of an administrator's image, for which that one vouches.
 */
export async function checkImageReferenceChange(reads: UserReads, caller: Caller, { userId }: Pick<ImageRow, "userId">): Promise<void> {
  if (caller.isAdmin || !(await isAdmin(reads, userId))) return
  throw new Failure("forbidden", "Only administrators may change which image an administrator's definition names", { field: "Image" })
}

/**
 * The columns to write with a change of what runs: who made it, and the end of the trust unless an
 * administrator made it. If another person changed what an administrator owns, their name stays
 * until an administrator marks it as trusted. A later change by an administrator does not vouch for
 * the earlier one.
 */
export async function authorshipAfterChange(
  reads: UserReads,
  caller: Caller,
  { userId, writtenBy: before }: Pick<Authorship, "userId" | "writtenBy">,
): Promise<{ writtenBy: number; isTrusted?: false }> {
  if (!caller.isAdmin) return { writtenBy: caller.userId, isTrusted: false }
  const isTainted = before !== 0 && (await isAdmin(reads, userId)) && !(await isAdmin(reads, before))
  return { writtenBy: isTainted ? before : caller.userId }
}

/**
 * The column to write with a publication or a release. More people may use the resource from now
 * on, so a publication by anybody but an administrator ends the trust in it.
 */
export function trustAfterPublication(caller: Caller): { isTrusted?: false } {
  return caller.isAdmin ? {} : { isTrusted: false }
}

/**
 * The `writtenBy` of a resource that is copied or gets another owner: its last writer, or its
 * former owner if an administrator or the new owner was the last to write to it.
 */
export async function writerAfterTransfer(
  reads: UserReads,
  { userId, writtenBy: writer }: Pick<Authorship, "userId" | "writtenBy">,
  to: number,
): Promise<number> {
  if (userId === to || (writer !== to && !(await isAdmin(reads, writer)))) return writer
  return (await isAdmin(reads, userId)) ? writer : userId
}

/**
 * Publishes to the owner and the administrators that the trust in something has ended, and why.
 * Part of the change's own transaction.
 */
export async function publishTrustEnd(
  { events }: Pick<ProjectsContext, "events">,
  tx: Change,
  { caller }: Pick<Requester, "caller">,
  ended: { type: "image" | "project"; was: Authorship & { id: number }; now: Pick<Authorship, "isTrusted">; by: string },
): Promise<void> {
  const { type, was, now, by } = ended
  if (!was.isTrusted || now.isTrusted) return
  const text = `The ${type} is no longer marked as trusted: ${caller.userName}, who is no administrator, ${by}. An administrator who has looked at it may mark it again`
  await events.trustRevoked(tx, { resource: { type, id: was.id }, owner: was.userId, text })
}

/**
 * Ends the trust in all projects with an image that somebody changed. An administrator who marked
 * one of them looked at its image, too.
 */
export async function endTrustInProjectsWithImage(
  context: Pick<ProjectsContext, "events">,
  tx: Change,
  requester: Requester,
  imageId: number,
): Promise<void> {
  if (requester.caller.isAdmin) return
  for (const deleted of [false, true]) {
    const filter = { where: { imageId, isTrusted: true }, ...(deleted ? { deleted } : {}) }
    for (;;) {
      const { rows } = await tx.projects.list(filter, unrestrictedViewer, { page: 1, pageSize: 200 })
      for (const was of rows) await endProjectTrust(context, tx, requester, { was, by: "changed its image" })
      if (rows.length === 0) break
    }
  }
}

/** Removes the mark from a project. */
export async function endProjectTrust(
  context: Pick<ProjectsContext, "events">,
  tx: Change,
  requester: Requester,
  { was, by }: { was: ProjectRow; by: string },
): Promise<ProjectRow> {
  const now = (await tx.projects.update(was.id, { isTrusted: false })) ?? was
  await context.events.changed(tx, requester.actor, { verb: "updated", resource: { type: "project", id: was.id } })
  await publishTrustEnd(context, tx, requester, { type: "project", was, now, by })
  return now
}

/** Whether an administrator registered an image: it belongs to one, or one marked it as trusted. */
export async function isAdminImage(reads: UserReads, image: Pick<ImageRow, "userId" | "isTrusted">): Promise<boolean> {
  return image.isTrusted || (await reads.users.get(image.userId))?.isAdmin === true
}
