import { ownerAsCaller } from "#access"
import { normalizeOciReference } from "#contract"
import { serviceActor } from "#events"
import type { Change, ImageRow, ProjectRow, Reads, RunRow } from "#store"
import type { ProjectsContext, Requester } from "../context.ts"
import { endTrustInProjectsWithImage, isAdmin, publishTrustEnd } from "../trust.ts"

type TrustReads = Pick<Reads, "users" | "images" | "projects">

/**
 * Ends the trust in a person's image, and in the projects with it, if its tag leads to another one
 * than at its first start after an administrator's mark: the person can push any image under it.
 * Called right before the mounts of a start are made. `digest`: by which the registry provides the
 * image of the start, empty if it was built on the machine.
 */
export async function checkTrustedDigest(
  { store, events }: Pick<ProjectsContext, "store" | "events">,
  run: Pick<RunRow, "spec" | "projectId">,
  digest: string,
): Promise<void> {
  const image = await imageTrustedByTag(store, run)
  if (!image || (await store.images.trustedDigest(image.id)) === digest) return
  await store.change(async (tx) => {
    const current = await imageTrustedByTag(tx, run)
    if (!current) return
    const trusted = await tx.images.trustedDigest(current.id)
    if (trusted === undefined) await tx.images.recordTrustedDigest(current.id, digest)
    else if (trusted !== digest) await endImageTrust({ events }, tx, current)
  })
}

async function imageTrustedByTag(
  reads: TrustReads,
  { spec, projectId }: Pick<RunRow, "spec" | "projectId">,
): Promise<ImageRow | undefined> {
  const image = spec.imageId === undefined ? undefined : await reads.images.part(spec.imageId)
  if (!image || image.image !== spec.image || hasDigest(image.image) || (await isAdmin(reads, image.userId))) return undefined
  const isTrusted = image.isTrusted || (await reads.projects.part(projectId))?.isTrusted
  return isTrusted ? image : undefined
}

function hasDigest(reference: string): boolean {
  return (normalizeOciReference(reference)?.digest ?? "") !== ""
}

async function endImageTrust(context: Pick<ProjectsContext, "events">, tx: Change, image: ImageRow): Promise<void> {
  const owner: Requester = { caller: await ownerAsCaller(tx, { id: image.userId, userName: image.userName }), actor: serviceActor }
  if (image.isTrusted) {
    const now = (await tx.images.update(image.id, { isTrusted: false })) ?? image
    await context.events.changed(tx, serviceActor, { verb: "updated", resource: { type: "image", id: image.id } })
    const by = "owns it, and its tag leads to another image now"
    await publishTrustEnd(context, tx, owner, { type: "image", was: image, now, by })
  }
  await endTrustInProjectsWithImage(context, tx, owner, image.id)
}

/** Lets the trust in an image be for the digest that its next start has. */
export async function renewTrustedDigest(
  tx: Change,
  { was, now }: { was?: Pick<ImageRow, "isTrusted" | "image">; now: Pick<ImageRow, "id" | "isTrusted" | "image"> },
): Promise<void> {
  if (now.isTrusted && !(was?.isTrusted && was.image === now.image)) await tx.images.forgetTrustedDigest(now.id)
}

/** The same when a project is marked as trusted: whoever marked it looked at its image, too. */
export async function renewTrustedDigestOfProject(
  tx: Change,
  { was, now }: { was?: Pick<ProjectRow, "isTrusted" | "imageId">; now: Pick<ProjectRow, "isTrusted" | "imageId"> },
): Promise<void> {
  if (now.isTrusted && !(was?.isTrusted && was.imageId === now.imageId)) await tx.images.forgetTrustedDigest(now.imageId)
}
