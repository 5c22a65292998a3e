import { readdir, stat } from "node:fs/promises"
import { basename, join } from "node:path"
import { CliError } from "../io/failures.ts"
import { usageError } from "../io/formats.ts"
import type { FilesClient } from "./files-client.ts"

/** A file of a tree. Its path is relative, with `/` between the names. */
export interface TreeFile {
  path: string
  size: number
  modifiedMs: number
}

export interface Tree {
  /** Parents come before what is in them. */
  directories: string[]
  files: TreeFile[]
  /** Links, devices and the like, which are not copied. */
  skipped: string[]
}

const maxFiles = 1_000_000

/** The files below a directory of this machine. Links are not followed. */
export async function readLocalTree(directory: string): Promise<Tree> {
  const tree: Tree = { directories: [], files: [], skipped: [] }
  const visit = async (path: string) => {
    const entries = await readdir(join(directory, path), { withFileTypes: true })
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const below = path === "" ? entry.name : `${path}/${entry.name}`
      if (entry.isDirectory()) {
        tree.directories.push(below)
        await visit(below)
      } else if (entry.isFile()) addFile(tree, below, await stat(join(directory, below)))
      else tree.skipped.push(below)
    }
  }
  await visit("")
  return tree
}

function addFile(tree: Tree, path: string, { size, mtimeMs }: { size: number; mtimeMs: number }): void {
  if (tree.files.length === maxFiles) throw new CliError(`A folder may have ${maxFiles} files at once; push its folders one by one.`)
  tree.files.push({ path, size, modifiedMs: mtimeMs })
}

/** The files below a directory of the server; undefined if there is none. */
export async function readRemoteTree(client: FilesClient, root: string): Promise<Tree | undefined> {
  const tree: Tree = { directories: [], files: [], skipped: [] }
  const visit = async (path: string): Promise<boolean> => {
    const entries = await client.list(path === "" ? root : `${root}/${path}`)
    if (!entries) return false
    for (const { Name, IsDirectory, Size = 0, ModifiedAt } of entries) {
      assertPlainName(Name)
      const below = path === "" ? Name : `${path}/${Name}`
      if (IsDirectory) tree.directories.push(below)
      else addFile(tree, below, { size: Size, mtimeMs: Date.parse(ModifiedAt) })
      if (IsDirectory) await visit(below)
    }
    return true
  }
  return (await visit("")) ? tree : undefined
}

/** A name that a server answers must not lead out of the folder that is written to. */
export function assertPlainName(name: string): void {
  if (name === "" || name === "." || name === ".." || /[/\\\0]/.test(name))
    throw new CliError(`The server has a file that cannot be written here: ${JSON.stringify(name)}`)
}

/**
 * The folder here that gets the name of a dataset's directory. Its owner chose that name, and
 * programs read some hidden folders unasked.
 */
export function defaultFolder(path: string): string {
  const name = basename(path)
  if (name === "" || name.startsWith("."))
    throw usageError(`The folder here must be named, since the dataset's directory is called ${JSON.stringify(name)}`)
  assertPlainName(name)
  return `./${name}`
}

/** Servers count the time of a file in whole seconds when it is uploaded. */
export function isSameFile(a: TreeFile, b: TreeFile | undefined): boolean {
  return b !== undefined && a.size === b.size && Math.floor(a.modifiedMs / 1000) === Math.floor(b.modifiedMs / 1000)
}
