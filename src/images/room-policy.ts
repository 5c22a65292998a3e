import { bounds } from "#contract"
import type { StoredImage } from "#engine"
import { isInUse, needOf, type PruneFacts } from "./prune-policy.ts"

const { imageFreshMs } = bounds.containers

/**
 * The image to remove next, so that a pull has room: of those that nobody needs, one of the person
 * for whom most bytes were fetched, and the longest unused of these. So a person who fetches image
 * after image removes their own. Those in `tried` could not be removed.
 */
export function nextForRoom(facts: PruneFacts, tried: ReadonlySet<string>): StoredImage | undefined {
  const totals = bytesByPerson(facts.stored, facts)
  const usedAt = ({ digest }: StoredImage) => facts.fetched.get(digest)?.usedAt ?? facts.now
  const mayGo = (image: StoredImage) =>
    !tried.has(image.digest) && needOf(image, facts) === undefined && facts.now - usedAt(image) >= imageFreshMs.value
  const bytesOf = (image: StoredImage) => totals.get(personOf(image, facts)) ?? 0
  return facts.stored.filter(mayGo).sort((a, b) => bytesOf(b) - bytesOf(a) || usedAt(a) - usedAt(b))[0]
}

/** Bytes of the images that were fetched for a person and that runs use. */
export function bytesInUse(facts: PruneFacts, person: string): number {
  const used = facts.stored.filter((image) => isInUse(image, facts))
  return bytesByPerson(used, facts).get(person) ?? 0
}

function bytesByPerson(images: readonly StoredImage[], facts: PruneFacts): Map<string, number> {
  const totals = new Map<string, number>()
  for (const image of images) {
    const person = personOf(image, facts)
    totals.set(person, (totals.get(person) ?? 0) + (image.room ?? image.size))
  }
  return totals
}

/** Those that Quayside did not fetch are nobody's. */
function personOf({ digest }: StoredImage, { fetched }: PruneFacts): string {
  return fetched.get(digest)?.fetchedFor ?? ""
}
