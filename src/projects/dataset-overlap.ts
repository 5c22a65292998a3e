import { bounds, Failure } from "#contract"
import type { DatasetDirectory, GrantRow, Reads } from "#store"

interface SharedDataset {
  /** Undefined before the dataset is stored. */
  id?: number
  accessInfo: string
  userId: number
  isPublished: boolean
}

const maxOverlapping = bounds.texts.overlappingDatasets.value

interface OverlapOptions {
  /** The field that messages name. */
  field?: string
  /** Whether the dataset has this directory already. */
  isInPlace?: boolean
}

/**
 * Throws `conflict` if a dataset's directory is, contains or lies in the directory of another
 * dataset on which other people have rights, or the same people have other rights. Throws also if
 * too many would contain one directory: each question about a path reads them all.
 */
export async function checkDatasetOverlap(
  reads: Pick<Reads, "data" | "grants">,
  dataset: SharedDataset,
  { field = "AccessInfo", isInPlace = false }: OverlapOptions = {},
): Promise<void> {
  const others = (await reads.data.overlapping(dataset.accessInfo)).filter((other) => other.id !== dataset.id)
  if (others.length === 0) return
  if (!isInPlace) checkDepth(dataset.accessInfo, others, field)
  const ids = [...(dataset.id === undefined ? [] : [dataset.id]), ...others.map(({ id }) => id)]
  const grants = Map.groupBy(await reads.grants.onResources("data", ids), ({ resourceId }) => resourceId)
  const wanted = rightsOn(dataset, grants.get(dataset.id ?? 0))
  if (others.every((other) => rightsOn(other, grants.get(other.id)) === wanted)) return
  throw new Failure(
    "conflict",
    `${dataset.accessInfo} is, contains or lies in the directory of another dataset on which other people have rights, or the same people others`,
    { field },
  )
}

/**
 * In this order every directory directly precedes all that lies in it, so the ones around the
 * present path are on a stack: a look-up of each directory above each path would take seconds.
 */
function checkDepth(path: string, others: readonly DatasetDirectory[], field: string): void {
  const paths = [path, ...others.map(({ accessInfo }) => accessInfo)].map((each) => each.replaceAll("/", "\0"))
  const around: string[] = []
  for (const inner of paths.sort((a, b) => (a < b ? -1 : 1))) {
    while (around.length > 0 && !isWithin(inner, around.at(-1) as string)) around.pop()
    around.push(inner)
    if (around.length <= maxOverlapping) continue
    const named = inner.replaceAll("\0", "/")
    throw new Failure(
      "conflict",
      `${named} would be in the directories of ${around.length} datasets; at most ${maxOverlapping} may contain it`,
      { field },
    )
  }
}

/** For thousands of long paths, `startsWith` would take ten times as long. */
function isWithin(inner: string, outer: string): boolean {
  return inner.slice(0, outer.length) === outer && (inner.length === outer.length || inner[outer.length] === "\0")
}

/**
 * All rights on a dataset as one text. A grant counts, with its expiry, if it adds to ownership and
 * publication.
 */
function rightsOn({ userId: owner, isPublished }: SharedDataset, grants: readonly GrantRow[] = []): string {
  const granted = grants
    .filter(({ userId, access }) => userId !== owner && (access === "write" || !isPublished))
    .map(({ userId, groupId, access, expiresAt }) => `${userId} ${groupId} ${access === "write"} ${expiresAt}`)
  return JSON.stringify([owner, isPublished, granted.sort()])
}
