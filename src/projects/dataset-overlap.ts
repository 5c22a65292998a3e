import { bounds, Failure } from "#contract"
import type { DataRow, GrantRow, Reads } from "#store"

interface SharedDataset {
  /** Undefined before the dataset is stored. */
  id?: number
  accessInfo: string
  userId: number
  isPublished: boolean
}

const maxOverlapping = bounds.texts.overlappingDatasets.value

/**
 * Throws `conflict` if a dataset's directory is, contains or lies in the directory of another
 * dataset on which other people have rights, or the same people have other rights. Throws also if
 * too many contain one directory: each question about a path reads them all.
 */
export async function checkDatasetOverlap(
  reads: Pick<Reads, "data" | "grants">,
  dataset: SharedDataset,
  field = "AccessInfo",
): Promise<void> {
  const others = (await reads.data.overlapping(dataset.accessInfo)).filter((other) => other.id !== dataset.id)
  if (others.length === 0) return
  checkDepth(dataset.accessInfo, others, field)
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

function checkDepth(path: string, others: readonly DataRow[], field: string): void {
  const counts = new Map([[path, 1]])
  for (const { accessInfo } of others) counts.set(accessInfo, (counts.get(accessInfo) ?? 0) + 1)
  for (const inner of counts.keys()) {
    let count = 0
    for (let at = inner; at !== ""; at = at.slice(0, at.lastIndexOf("/"))) count += counts.get(at) ?? 0
    if (count <= maxOverlapping) continue
    throw new Failure("conflict", `${inner} would be in the directories of ${count} datasets; at most ${maxOverlapping} may contain it`, {
      field,
    })
  }
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
