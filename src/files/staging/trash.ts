import { readlinkSync } from "node:fs"
import type { DirectoryHandle, EntryName } from "../tree/directory-handle.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import type { StagedEntry } from "./staged-entry.ts"

/** A directory that was deleted or replaced, and uses space until it is empty. */
export interface TrashedDirectory {
  /** The directory in which it lies, absolute below the root. */
  folder: string
  /** Its name there. Directories of its own that are being removed have longer ones. */
  name: string
  /** Its path before, absolute below the root. */
  origin: string
}

/** Directories that programs keep from being emptied. */
const maxDirectories = 10_000

/**
 * The directories in the trash. A program that has one open goes on writing there, and can keep it
 * from being removed, so these still count for the person for whom they counted.
 */
export class Trash {
  readonly #root: DirectoryHandle
  readonly #directories = new Map<StagedEntry, TrashedDirectory>()

  constructor(root: DirectoryHandle) {
    this.#root = root
  }

  /** Opens a directory that its owner closed, moves it, and restores its mode if the move fails. */
  async move(parent: TreeDirectory, name: EntryName, trash: StagedEntry): Promise<void> {
    const move = () => parent.rename(name, trash.parent, trash.name)
    try {
      await move()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error
      const mode = (await parent.lstat(name))?.mode ?? 0o755
      await parent.chmodDirectory(name, 0o700)
      try {
        await move()
      } catch (again) {
        await parent.chmodDirectory(name, mode & 0o7777)
        throw again
      }
    }
    this.#add(trash, `${this.#pathOf(parent)}/${name}`)
  }

  #add(trash: StagedEntry, origin: string): void {
    this.#directories.set(trash, { folder: this.#pathOf(trash.parent), name: trash.name, origin })
    for (const oldest of this.#directories.keys()) if (this.#directories.size > maxDirectories) this.#directories.delete(oldest)
  }

  /** The directory is empty and gone, or back in its place. */
  delete(trash: StagedEntry): void {
    this.#directories.delete(trash)
  }

  list(): TrashedDirectory[] {
    return [...this.#directories.values()]
  }

  /** The path below the root; a path that is too long or leads elsewhere counts for nobody. */
  #pathOf(directory: { readonly path: string }): string {
    try {
      const root = readlinkSync(this.#root.path)
      const path = readlinkSync(directory.path)
      return path.startsWith(`${root}/`) ? path.slice(root.length) : ""
    } catch {
      return ""
    }
  }
}
