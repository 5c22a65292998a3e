import { assertShallow, eachEntry, type Spot } from "./copy-entry.ts"
import { type Copied, type CopyOptions, Tally, takenBy } from "./copy-totals.ts"

/**
 * What a copy of the entry would hold as things stand, by the same rules and limits as the copy
 * itself.
 */
export async function measure(spot: Spot, options: CopyOptions): Promise<Copied> {
  const tally = new Tally({ ...options, onProgress: () => {} })
  await measureAny(tally, spot, 0)
  return tally.done
}

async function measureAny(tally: Tally, { parent, name }: Spot, depth: number): Promise<void> {
  const stats = parent.look(name)
  if (!stats || !(stats.isFile() || stats.isDirectory())) return
  tally.entry()
  if (stats.isFile()) tally.add(takenBy(stats))
  else {
    assertShallow(depth)
    using folder = parent.folder(name)
    await eachEntry(folder, depth, (child) => measureAny(tally, { parent: folder, name: child }, depth + 1))
  }
  await tally.slice.pause()
}
