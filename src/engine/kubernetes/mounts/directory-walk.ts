import { Directory } from "#kit"
import { keyOfName, namesOf } from "./path-set.ts"

interface Entry {
  parent: Directory
  name: string
  /** The key of the directory's path. */
  key: string
  /** The first key that leads through the directory. */
  source: string
}

/** Opens a directory. Undefined skips what lies in it. */
export type Enter = (entry: Entry) => Promise<Directory | undefined>

interface Visitor {
  enter: Enter
  /** Called when all that lies in the directory has been left. */
  leave?: (directory: Directory, key: string) => Promise<void>
}

/**
 * Visits the directories below the root that lead to these paths, each once, although most lead to
 * several. Only those on one path are open at a time.
 */
export async function visitDirectories(rootPath: string, keys: Iterable<string>, { enter, leave }: Visitor): Promise<void> {
  await using root = await Directory.open(rootPath)
  const open: { name: string; key: string; directory: Directory }[] = []
  const closeTo = async (depth: number) => {
    for (let last = open[open.length - 1]; last && open.length > depth; last = open[open.length - 1]) {
      await leave?.(last.directory, last.key)
      await last.directory.close()
      open.pop()
    }
  }
  try {
    for (const source of [...new Set(keys)].sort()) {
      const names = namesOf(source)
      const isOpen = names.findIndex((name, i) => open[i]?.name !== name)
      await closeTo(isOpen < 0 ? names.length : isOpen)
      for (const name of names.slice(open.length)) {
        const { directory: parent, key: above } = open.at(-1) ?? { directory: root, key: "" }
        const key = `${above}${keyOfName(name)}`
        const directory = await enter({ parent, name, key, source })
        if (!directory) break
        open.push({ name, key, directory })
      }
    }
    await closeTo(0)
  } finally {
    for (const { directory } of open) await directory.close()
  }
}
