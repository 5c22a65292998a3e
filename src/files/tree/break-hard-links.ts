import type { StagingArea } from "../staging/staging-area.ts"
import { assertDepth, copyEntry, forEachEntry } from "./copy-entry.ts"
import { CopyCounter, type EntryCopyOptions } from "./copy-totals.ts"
import type { Entry } from "./entry-location.ts"

/**
 * Replaces each file below an entry that has another hard link by a copy of its own. A program with
 * the other name then has no access to it. After a failure the files already replaced stay so, and
 * the work may be repeated.
 */
export async function breakHardLinks(entry: Entry, staging: StagingArea, { signal }: Pick<EntryCopyOptions, "signal">): Promise<void> {
  const options = signal ? { signal } : {}
  await breakLinksWithin({ staging, options, counter: new CopyCounter(options) }, entry, 0)
}

interface LinkBreaking {
  staging: StagingArea
  options: EntryCopyOptions
  counter: CopyCounter
}

async function breakLinksWithin(work: LinkBreaking, { parent, name }: Entry, depth: number): Promise<void> {
  const stats = await parent.lstat(name)
  work.counter.addEntry()
  try {
    if (stats?.isFile() && stats.nlink > 1) await replaceWithCopy(work, { parent, name })
    else if (stats?.isDirectory()) await breakLinksInDirectory(work, { parent, name }, depth)
  } catch (error) {
    // Skipped when it is gone.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
  }
  await work.counter.yielder.pause()
}

async function breakLinksInDirectory(work: LinkBreaking, { parent, name }: Entry, depth: number): Promise<void> {
  assertDepth(depth)
  using directory = await parent.openDirectory(name)
  await forEachEntry(directory, depth, (child) => breakLinksWithin(work, { parent: directory, name: child }, depth + 1))
}

async function replaceWithCopy({ staging, options }: LinkBreaking, { parent, name }: Entry): Promise<void> {
  await using staged = await staging.createEntry(parent)
  await copyEntry({ parent, name }, staged, { ...options, preserveLinksAndTimes: true })
  if ((await staged.parent.lstat(staged.name))?.isFile()) await staging.place(staged, { parent, name })
}
