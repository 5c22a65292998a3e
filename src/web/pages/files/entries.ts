import type { FileEntry } from "../../api/files-client.ts"

export type SortBy = "name" | "size" | "time"
export interface Sorting {
  by: SortBy
  isDescending: boolean
}

const collator = new Intl.Collator(undefined, { numeric: true })

/** Directories first, then by the chosen column; equal ones by name. */
export function sortEntries(entries: readonly FileEntry[], { by, isDescending }: Sorting): FileEntry[] {
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
      (by === "name" ? sign : 1) * collator.compare(one.Name, other.Name),
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
