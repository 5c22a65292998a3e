import { Failure } from "#contract"

/**
 * The fields of a row that make its tag. After a backup is restored, a version may repeat, but the
 * time of its change does not.
 */
export interface VersionedRow {
  id: number
  version: number
  updatedAt: number
}

/** The tag of a row's current version. */
export function etagOf({ id, version, updatedAt }: VersionedRow): string {
  return `"${id}-${version}-${updatedAt.toString(36)}"`
}

/**
 * Rejects (412) a change that was meant for another version. Without `If-Match`, any version
 * matches.
 */
export function checkIfMatch(ifMatch: string | undefined, row: VersionedRow): void {
  if (ifMatch === undefined || ifMatch.trim() === "*") return
  // A tag may hold commas, and members of a list may be empty (RFC 9110, 5.6.1 and 8.8.3).
  const tags: string[] = ifMatch.match(/(?:W\/)?"[^"]*"/g) ?? []
  if (!/^[\s,]*(?:W\/)?"[^"]*"(?:\s*,(?:\s*(?:W\/)?"[^"]*")?)*\s*$/.test(ifMatch)) {
    throw new Failure("invalid", `If-Match must be * or a list of tags in quotes; got ${JSON.stringify(ifMatch.slice(0, 60))}`, {
      field: "If-Match",
    })
  }
  if (!tags.includes(etagOf(row)))
    throw new Failure("stale", "The object was changed meanwhile: read it again", { headers: { etag: etagOf(row) } })
}
