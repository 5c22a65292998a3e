import { randomBytes } from "node:crypto"
import { Failure } from "#contract"
import type { FileTree } from "#files"

/** People may have taken any number of names, and each attempt asks the file server. */
const maxNumbered = 20

/**
 * Makes a new directory and returns its path, with the first free suffix of 1 to 20, or else a
 * random one.
 */
export async function makeUniqueDirectory(tree: Pick<FileTree, "makeNewDirectory">, pathOf: (suffix: string) => string): Promise<string> {
  const numbers = Array.from({ length: maxNumbered }, (_, i) => String(i + 1))
  for (const suffix of [...numbers, randomBytes(8).toString("hex")]) {
    const path = pathOf(suffix)
    if (await tree.makeNewDirectory(path)) return path
  }
  throw new Failure("conflict", `No name for a new directory ${pathOf("…")} is free: try again`)
}
