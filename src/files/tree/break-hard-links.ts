import { renameSync } from "node:fs"
import type { Workplace } from "../staging/staging-area.ts"
import { assertShallow, copyEntry, eachEntry, type Spot } from "./copy-entry.ts"
import { type CopyOptions, Tally } from "./copy-totals.ts"

/**
 * Gives each file below an entry that has another name, there or elsewhere, a copy of its own in
 * its place: whoever has the other name has nothing of it then. What was done before a failure
 * stays; it may be done again.
 */
export async function sever(spot: Spot, workplace: Workplace, { signal }: Pick<CopyOptions, "signal">): Promise<void> {
  const options = signal ? { signal } : {}
  await severAny({ workplace, options, tally: new Tally(options) }, spot, 0)
}

interface Severing {
  workplace: Workplace
  options: CopyOptions
  tally: Tally
}

async function severAny(severing: Severing, { parent, name }: Spot, depth: number): Promise<void> {
  const stats = parent.look(name)
  severing.tally.entry()
  try {
    if (stats?.isFile() && stats.nlink > 1) await severFile(severing, { parent, name })
    else if (stats?.isDirectory()) await severFolder(severing, { parent, name }, depth)
  } catch (error) {
    // It is gone.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error
  }
  await severing.tally.slice.pause()
}

async function severFolder(severing: Severing, { parent, name }: Spot, depth: number): Promise<void> {
  assertShallow(depth)
  using folder = parent.folder(name)
  await eachEntry(folder, depth, (child) => severAny(severing, { parent: folder, name: child }, depth + 1))
}

async function severFile({ workplace, options }: Severing, { parent, name }: Spot): Promise<void> {
  await using stage = workplace.stage(parent)
  await copyEntry({ parent, name }, stage, { ...options, whole: true })
  if (stage.parent.look(stage.name)?.isFile()) renameSync(stage.parent.at(stage.name), parent.at(name))
}
