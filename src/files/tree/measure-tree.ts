import type { Stats } from "node:fs"
import { assertDepth, forEachEntry } from "./copy-entry.ts"
import { bytesOnDisk, CopyCounter, type CopyTotals, type EntryCopyOptions } from "./copy-totals.ts"
import type { Entry } from "./entry-location.ts"

/** Returns the size of a copy of the entry, by the rules and limits of the copy itself. */
export async function measureTree(entry: Entry, options: EntryCopyOptions): Promise<CopyTotals> {
  const counter = new CopyCounter({ ...options, onProgress: () => {} })
  await measureAny({ counter, onEntry: () => {} }, entry, 0)
  return counter.totals
}

/**
 * Returns a text that is another one when something in the tree has changed: its content, names,
 * modes or times. It misses a change within the same tick of the kernel's clock (4 ms).
 */
export async function stateOfTree(entry: Entry, options: EntryCopyOptions): Promise<string> {
  let [newest, length] = [0, 0]
  const onEntry = ({ ctimeMs, size }: Stats) => {
    newest = Math.max(newest, ctimeMs)
    length += size
  }
  const counter = new CopyCounter({ ...options, onProgress: () => {} })
  await measureAny({ counter, onEntry }, entry, 0)
  return `${counter.totals.entries}-${length}-${newest}`
}

interface Walk {
  counter: CopyCounter
  onEntry(stats: Stats): void
}

async function measureAny(walk: Walk, { parent, name }: Entry, depth: number): Promise<void> {
  const { counter } = walk
  const stats = await parent.lstat(name)
  if (!stats || !(stats.isFile() || stats.isDirectory())) return
  counter.addEntry()
  walk.onEntry(stats)
  if (stats.isFile()) counter.addBytes(bytesOnDisk(stats))
  else {
    assertDepth(depth)
    using directory = await parent.openDirectory(name)
    await forEachEntry(directory, depth, (child) => measureAny(walk, { parent: directory, name: child }, depth + 1))
  }
  await counter.yielder.pause()
}
