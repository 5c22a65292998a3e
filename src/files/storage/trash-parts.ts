import { dirname } from "node:path"
import { reservedDirectory } from "../requests/address.ts"
import type { TrashedDirectory } from "../staging/trash.ts"
import type { StorageAccount } from "./storage.ts"

/** A directory in the trash, counted as if it were where it was. */
export interface TrashPart {
  folder: string
  name: string
  /** The account's root in which it was. */
  root: string
  /** Names below the root. */
  names: readonly string[]
  /** The root, or the innermost sub-area in which it was. */
  area: string
}

/**
 * The directories in the trash that count for an account. Those beside their places, on another
 * file system, are counted with their surroundings.
 */
export function trashOf({ roots, excluded, subAreas }: StorageAccount, trash: readonly TrashedDirectory[]): TrashPart[] {
  if (trash.length === 0) return []
  const sets = { roots: new Set(roots), excluded: new Set(excluded), subAreas: new Set(subAreas) }
  const reserved = trash.filter(({ folder }) => folder.startsWith(`/${reservedDirectory}/`))
  return reserved.flatMap(({ folder, name, origin }) => {
    const place = placeOf(origin, sets)
    return place ? [{ folder, name, ...place }] : []
  })
}

function placeOf(
  origin: string,
  { roots, excluded, subAreas }: Record<"roots" | "excluded" | "subAreas", ReadonlySet<string>>,
): Pick<TrashPart, "root" | "names" | "area"> | undefined {
  let area: string | undefined
  for (let path = origin; path.length > 1 && !excluded.has(path); path = dirname(path)) {
    if (roots.has(path)) return { root: path, names: origin.slice(path.length + 1).split("/"), area: area ?? path }
    if (area === undefined && subAreas.has(path)) area = path
  }
  return undefined
}
