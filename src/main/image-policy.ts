import { impersonate } from "#access"
import type { ImagePolicy } from "#engine"
import type { Images } from "#images"
import type { Clock } from "#kit"
import { isAdminImage } from "#projects"
import type { ImageRow, RunRow, Store } from "#store"

/**
 * The current image policy of a run's owner, without registry credentials if the owner can no
 * longer sign in.
 */
export function createImagePolicy({ store, images, clock }: { store: Store; images: Images; clock: Clock }) {
  return async (run: RunRow): Promise<ImagePolicy> => {
    const reads = store.memoized()
    const starter = await impersonate(reads, await reads.users.get(run.userId), clock.now())
    const person = starter ?? { userName: run.userName, groupNames: [] }
    const policy = images.policyFor(person, { reference: run.spec.image, byAdmin: run.spec.imageByAdmin ?? false })
    if (starter) return policy
    const { credentials: _, ...withoutCredentials } = policy
    return withoutCredentials
  }
}

/** Looks up an image's owner, without groups if they can no longer sign in. */
export function createImageOwnerLookup({ store, clock }: { store: Store; clock: Clock }) {
  return async (image: ImageRow) => {
    const reads = store.memoized()
    const owner = await impersonate(reads, await reads.users.get(image.userId), clock.now())
    return { person: owner ?? { userName: image.userName, groupNames: [] }, byAdmin: await isAdminImage(reads, image) }
  }
}
