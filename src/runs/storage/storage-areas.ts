import { dirname } from "node:path/posix"
import type { StorageAccount } from "./storage-meter.ts"

/**
 * Divides a person's directories into those whose counts are separate and those that such a count
 * includes. `others`: directories of other people, which are excluded where they lie below.
 */
export function divideAreas(own: ReadonlySet<string>, others: Iterable<string>): Pick<StorageAccount, "roots" | "excluded" | "subAreas"> {
  const excluded = new Set([...others].filter((path) => directoriesAbove(path).some((directory) => own.has(directory))))
  const { roots = [], subAreas = [] } = Object.groupBy(own, (path) => (isCovered(path, { own, excluded }) ? "subAreas" : "roots"))
  return { roots, excluded: [...excluded], subAreas }
}

/** Whether the count of a directory above, without what is excluded, includes this one. */
function isCovered(path: string, { own, excluded }: { own: ReadonlySet<string>; excluded: ReadonlySet<string> }): boolean {
  if (excluded.has(path)) return false
  for (const directory of directoriesAbove(path)) {
    if (excluded.has(directory)) return false
    if (own.has(directory)) return true
  }
  return false
}

/** The nearest first. */
function* directoriesAbove(path: string): Generator<string, void, void> {
  for (let at = path; at !== "/"; ) {
    at = dirname(at)
    yield at
  }
}
