import { impersonate } from "#access"
import type { ImagePolicy } from "#engine"
import type { Images } from "#images"
import type { Clock } from "#kit"
import type { RunRow, Store } from "#store"

/**
 * The image policy of a run's owner as it is now. An owner who can no longer sign in gets no
 * registry credentials.
 */
export function createImagePolicy({ store, images, clock }: { store: Store; images: Images; clock: Clock }) {
  return async (run: RunRow): Promise<ImagePolicy> => {
    const starter = await impersonate(store, await store.users.get(run.userId), clock.now())
    const person = starter ?? { userName: run.userName, groupNames: [] }
    const terms = images.policyFor(person, { reference: run.spec.image, byAdmin: run.spec.imageByAdmin ?? false })
    if (starter) return terms
    const { credentials: _, ...withoutCredentials } = terms
    return withoutCredentials
  }
}
