import { renameSync } from "node:fs"
import type { StagingArea } from "../staging/staging-area.ts"
import { assertDepth, copyEntry, forEachEntry } from "./copy-entry.ts"
import { CopyCounter, type CopyOptions } from "./copy-totals.ts"
import type { Entry } from "./entry-location.ts"

/**
 * Replaces each file below an entry that has another hard link by a copy of its own. A program with
 * the other name then has no access to it. After a failure the files already replaced stay so, and
 * the work may be repeated.
 */
export async function breakHardLinks(entry: Entry, staging: StagingArea, { signal }: Pick<CopyOptions, "signal">): Promise<void> {
  const options = signal ? { signal } : {}
  await breakLinksWithin({ staging, options, counter: new CopyCounter(options) }, entry, 0)
}

interface LinkBreaking {
  staging: StagingArea
  options: CopyOptions
  counter: CopyCounter
}

async function breakLinksWithin(severing: LinkBreaking, { parent, name }: Entry, depth: number): Promise<void> {
  const stats = parent.lstat(name)
  severing.counter.addEntry()
  try {
    if (stats?.isFile() && stats.nlink > 1) await replaceWithCopy(severing, { parent, name })
    else if (stats?.isDirectory()) await breakLinksInDirectory(severing, { parent, name }, depth)
  } catch (error) {
    // It is gone.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
  }
  await severing.counter.yielder.pause()
}

async function breakLinksInDirectory(severing: LinkBreaking, { parent, name }: Entry, depth: number): Promise<void> {
  assertDepth(depth)
  using directory = parent.openDirectory(name)
  await forEachEntry(directory, depth, (child) => breakLinksWithin(severing, { parent: directory, name: child }, depth + 1))
}

async function replaceWithCopy({ staging, options }: LinkBreaking, { parent, name }: Entry): Promise<void> {
  await using stage = staging.createEntry(parent)
  await copyEntry({ parent, name }, stage, { ...options, preserveLinksAndTimes: true })
  if (stage.parent.lstat(stage.name)?.isFile()) renameSync(stage.parent.pathTo(stage.name), parent.pathTo(name))
}
