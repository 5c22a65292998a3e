import type { StoredImage } from "#engine"

const dayMs = 86_400_000
/** An image that was fetched or used this recently is never pruned for its size. */
const minIdleMs = dayMs

export interface PruneRules {
  /** Days without use; 0: age does not count. */
  days: number
  /** Bytes of all images that Quayside fetched; 0: size does not count. */
  maxBytes: number
}

/** The record of the pulls of an image. */
export interface PullRecord {
  references: readonly string[]
  fetchedAt: number
  usedAt: number
  /** The name of the person for whom it was fetched first; empty: nobody. */
  fetchedFor: string
}

export interface PruneFacts {
  stored: readonly StoredImage[]
  /** By digest: the images that Quayside fetched. */
  fetched: ReadonlyMap<string, PullRecord>
  /** Complete references that administrators keep. */
  kept: ReadonlySet<string>
  /** Complete references and digests of the images of live runs, queued ones included. */
  inUse: ReadonlySet<string>
  now: number
}

export interface PruneDecision {
  image: StoredImage
  /** Undefined: Quayside did not fetch it. */
  record: PullRecord | undefined
  prune: boolean
  /** Why it stays or goes: a sentence. */
  why: string
}

/**
 * Decides which images the rules prune. The engine has the last word, as it knows all containers.
 */
export function decidePruning(facts: PruneFacts, rules: PruneRules): PruneDecision[] {
  const idleMs = ({ digest }: StoredImage) => facts.now - (facts.fetched.get(digest)?.usedAt ?? facts.now)
  const needed = new Map(facts.stored.map((image) => [image, needOf(image, facts)]))
  const unneeded = facts.stored.filter((image) => needed.get(image) === undefined)
  const isOld = (image: StoredImage) => rules.days > 0 && idleMs(image) > rules.days * dayMs
  const fetched = facts.stored.filter(({ digest }) => facts.fetched.has(digest))
  let bytes = sizeOf(fetched) - sizeOf(unneeded.filter(isOld))
  const excess = new Set<StoredImage>()
  const longestUnusedFirst = unneeded.filter((image) => !isOld(image)).toSorted((a, b) => idleMs(b) - idleMs(a))
  for (const image of longestUnusedFirst) {
    if (rules.maxBytes === 0 || bytes <= rules.maxBytes || idleMs(image) < minIdleMs) break
    excess.add(image)
    bytes -= image.size
  }
  return facts.stored.map((image) => {
    const need = needed.get(image)
    const days = Math.floor(idleMs(image) / dayMs)
    const unused = days === 0 ? "It was used within the last day" : `Nobody has used it for ${days} ${days === 1 ? "day" : "days"}`
    const why = need ?? (excess.has(image) ? `${unused}, and the images are too large together` : unused)
    return { image, record: facts.fetched.get(image.digest), prune: need === undefined && (isOld(image) || excess.has(image)), why }
  })
}

/** Why an image must stay, whatever the rules; undefined: it need not. */
export function needOf(image: StoredImage, facts: PruneFacts): string | undefined {
  const { digest, references } = image
  const record = facts.fetched.get(digest)
  if (!record) return "Quayside did not fetch it"
  const foreign = references.find((reference) => !record.references.includes(reference))
  if (foreign !== undefined) return `Somebody else named it ${foreign}`
  if (namesOf(references, record).some((name) => facts.kept.has(name))) return "Administrators keep it present"
  if (isInUse(image, facts)) return "A run uses it or waits for it"
  return undefined
}

/** Whether Quayside fetched the image, and a run uses it or waits for it. */
export function isInUse({ digest, references }: StoredImage, { fetched, inUse }: PruneFacts): boolean {
  const record = fetched.get(digest)
  return record !== undefined && [digest, ...namesOf(references, record)].some((name) => inUse.has(name))
}

/** A name that moved to another image keeps that one. A digest cannot move. */
function namesOf(references: readonly string[], record: PullRecord): string[] {
  return [...references, ...record.references.filter((reference) => reference.includes("@"))]
}

function sizeOf(images: readonly StoredImage[]): number {
  return images.reduce((sum, { size }) => sum + size, 0)
}
