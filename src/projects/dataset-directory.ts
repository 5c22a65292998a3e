import type { Caller } from "#access"
import { Failure, slugify } from "#contract"
import type { FileTree } from "#files"
import { makeUniqueDirectory } from "./unique-directory.ts"

/**
 * A person may have a dataset below their own home, but not among the directories of their
 * projects. Administrators may have one anywhere.
 */
export function checkDatasetPath(caller: Caller, path: string): void {
  const home = `/users/${caller.userName}/`
  const projects = `${home}projects`
  if (caller.isAdmin || (path.startsWith(home) && path !== projects && !path.startsWith(`${projects}/`))) return
  throw new Failure(
    "invalid",
    `AccessInfo must be a directory below ${home}, not in its projects; got ${JSON.stringify(path.slice(0, 200))}`,
    { field: "AccessInfo" },
  )
}

export async function ensureDatasetDirectory(tree: Pick<FileTree, "ensureDirectory">, path: string): Promise<void> {
  await tree.ensureDirectory(path).catch((error: unknown) => {
    if (!(error instanceof Failure) || error.code === "storage_full") throw error
    throw new Failure(error.code, error.message, { field: "AccessInfo", cause: error })
  })
}

/** Makes a new directory in the owner's home, with a suffix if the name is taken. */
export async function makeNewDatasetDirectory(tree: Pick<FileTree, "makeNewDirectory">, userName: string, name: string): Promise<string> {
  const base = `/users/${userName}/datasets/${slugify(name, "data")}`
  return makeUniqueDirectory(tree, (suffix) => (suffix === "1" ? base : `${base}-${suffix}`))
}
