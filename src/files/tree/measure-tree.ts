import { assertDepth, forEachEntry } from "./copy-entry.ts"
import { bytesOnDisk, CopyCounter, type CopyTotals, type EntryCopyOptions } from "./copy-totals.ts"
import type { Entry } from "./entry-location.ts"

/** Returns the size of a copy of the entry, by the rules and limits of the copy itself. */
export async function measureTree(entry: Entry, options: EntryCopyOptions): Promise<CopyTotals> {
  const counter = new CopyCounter({ ...options, onProgress: () => {} })
  await measureAny(counter, entry, 0)
  return counter.totals
}

async function measureAny(counter: CopyCounter, { parent, name }: Entry, depth: number): Promise<void> {
  const stats = await parent.lstat(name)
  if (!stats || !(stats.isFile() || stats.isDirectory())) return
  counter.addEntry()
  if (stats.isFile()) counter.addBytes(bytesOnDisk(stats))
  else {
    assertDepth(depth)
    using directory = await parent.openDirectory(name)
    await forEachEntry(directory, depth, (child) => measureAny(counter, { parent: directory, name: child }, depth + 1))
  }
  await counter.yielder.pause()
}
