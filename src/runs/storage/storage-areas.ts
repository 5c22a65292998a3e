import { dirname } from "node:path/posix"
import { enclosingArea } from "./growth-tracker.ts"
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

interface Areas {
  areas: readonly string[]
  /** All of these, and the directories that areas do not contain. */
  boundaries: ReadonlySet<string>
}

/**
 * Tells whether something below a directory is part of one of the areas. A person may have
 * thousands of areas, and all runs together thousands of directories, so no pair is compared.
 */
export function reachesAny({ areas, boundaries }: Areas): (directory: string) => boolean {
  const own = new Set(areas)
  const around = new Set(areas)
  for (const area of areas) {
    for (const directory of directoriesAbove(area)) {
      if (around.has(directory)) break
      around.add(directory)
    }
  }
  const isBelow = (directory: string) => !boundaries.has(directory) && own.has(enclosingArea(directory, boundaries) ?? "")
  const top = (directory: string, names: number) => directory.split("/", names + 1).join("/")
  const mayBeBelow = (directory: string) => own.has(top(directory, 1)) || around.has(top(directory, 2))
  return (directory) => around.has(directory) || (mayBeBelow(directory) && isBelow(directory))
}

/** The nearest first. */
function* directoriesAbove(path: string): Generator<string, void, void> {
  for (let at = path; at.length > 1; ) {
    at = dirname(at)
    yield at
  }
}
