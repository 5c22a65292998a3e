import type { FileEntry } from "../../api/files-client.ts"

export type SortBy = "name" | "size" | "time"
export interface Sorting {
  by: SortBy
  isDescending: boolean
}

type Compare = (one: FileEntry, other: FileEntry) => number

const collator = new Intl.Collator(undefined, { numeric: true })

/**
 * Long names of many accents or digits take microseconds to compare, and a folder has thousands.
 */
const maxCollatingMs = 1_000
const comparisonsPerLook = 64

class SlowNamesError extends Error {}

/** Compares names as people do. Throws `SlowNamesError` when all together took too long. */
function compareByCollation(now: () => number): Compare {
  const until = now() + maxCollatingMs
  let count = 0
  return (one, other) => {
    count += 1
    if (count % comparisonsPerLook === 0 && now() > until) throw new SlowNamesError()
    return collator.compare(one.Name, other.Name)
  }
}

const compareByCode: Compare = (one, other) => (one.Name < other.Name ? -1 : one.Name > other.Name ? 1 : 0)

/**
 * Directories first, then by the chosen column; equal ones by name. If it takes too long to compare
 * the names as people do, their characters' codes count.
 */
export function sortEntries(entries: readonly FileEntry[], sorting: Sorting, now: () => number = () => performance.now()): FileEntry[] {
  try {
    return sortBy(entries, sorting, compareByCollation(now))
  } catch (error) {
    if (!(error instanceof SlowNamesError)) throw error
    return sortBy(entries, sorting, compareByCode)
  }
}

function sortBy(entries: readonly FileEntry[], { by, isDescending }: Sorting, compareNames: Compare): FileEntry[] {
  const sign = isDescending ? -1 : 1
  const compare = {
    name: () => 0,
    size: (one: FileEntry, other: FileEntry) => (one.Size ?? 0) - (other.Size ?? 0),
    time: (one: FileEntry, other: FileEntry) => (one.ModifiedAt < other.ModifiedAt ? -1 : one.ModifiedAt > other.ModifiedAt ? 1 : 0),
  }[by]
  return entries.toSorted(
    (one, other) =>
      Number(other.IsDirectory) - Number(one.IsDirectory) ||
      sign * compare(one, other) ||
      (by === "name" ? sign : 1) * compareNames(one, other),
  )
}

/** Entries whose names contain the text, in any case. */
export function filterEntries(entries: readonly FileEntry[], text: string): readonly FileEntry[] {
  const wanted = text.trim().toLocaleLowerCase()
  return wanted === "" ? entries : entries.filter(({ Name }) => Name.toLocaleLowerCase().includes(wanted))
}

/** Why a name cannot be used; undefined if it can. */
export function nameError(name: string): "empty" | "slash" | "long" | "reserved" | undefined {
  if (name.trim() === "") return "empty"
  if (name.includes("/") || name.includes("\0")) return "slash"
  if (name === "." || name === ".." || name.startsWith(".quayside-upload-")) return "reserved"
  return new TextEncoder().encode(name).length > 255 ? "long" : undefined
}

/** The directories above a path, from the top, each with its name. */
export function breadcrumbs(path: string): { name: string; path: string }[] {
  const names = path.split("/").filter(Boolean)
  return names.map((name, i) => ({ name, path: `/${names.slice(0, i + 1).join("/")}` }))
}
