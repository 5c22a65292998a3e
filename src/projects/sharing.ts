import { Failure } from "#contract"
import type { GrantRow, Reads } from "#store"

interface Shared {
  id?: number
  accessInfo: string
  userId: number
  isPublished: boolean
}

/**
 * Directories are shared, or lie in each other, only where the same people have the same rights on
 * them. Refuses with `conflict` a dataset that is otherwise.
 */
export async function checkSharedDirectory(tx: Pick<Reads, "data" | "grants">, row: Shared, field = "AccessInfo"): Promise<void> {
  const others = (await tx.data.overlapping(row.accessInfo)).filter((other) => other.id !== row.id)
  if (others.length === 0) return
  const ids = [...(row.id === undefined ? [] : [row.id]), ...others.map(({ id }) => id)]
  const grants = Map.groupBy(await tx.grants.of("data", ids), ({ thingId }) => thingId)
  const wanted = rightsOn(row, grants.get(row.id ?? 0))
  if (others.every((other) => rightsOn(other, grants.get(other.id)) === wanted)) return
  throw new Failure(
    "conflict",
    `${row.accessInfo} is, contains or lies in the directory of another dataset on which other people have rights, or the same people others`,
    { field },
  )
}

/**
 * Who may do what, as one text: what a grant adds to ownership and publication counts, until when
 * included.
 */
function rightsOn({ userId: owner, isPublished }: Shared, grants: readonly GrantRow[] = []): string {
  const given = grants
    .filter(({ userId, access }) => userId !== owner && (access === "write" || !isPublished))
    .map(({ userId, groupId, access, expiresAt }) => `${userId} ${groupId} ${access === "write"} ${expiresAt}`)
  return JSON.stringify([owner, isPublished, given.sort()])
}
