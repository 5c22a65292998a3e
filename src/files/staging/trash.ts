import { readlinkSync } from "node:fs"
import { bounds, Failure } from "#contract"
import type { TurnOwner } from "../requests/disk-turns.ts"
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

const maxDirectories = bounds.files.trashedDirectories.value

/**
 * The directories in the trash. A program that has one open goes on writing there, and can keep it
 * from being removed, so these still count for the person for whom they counted.
 */
export class Trash {
  readonly #root: DirectoryHandle
  readonly #directories = new Map<StagedEntry, TrashedDirectory>()
  /** By owner. */
  readonly #counts = new Map<TurnOwner, number>()

  constructor(root: DirectoryHandle) {
    this.#root = root
  }

  /**
   * Opens a directory that its owner closed, moves it, and restores its mode if the move fails.
   * Throws a 429 beyond the maximum: one that was forgotten would count for nobody.
   */
  async move(parent: TreeDirectory, name: EntryName, trash: StagedEntry): Promise<void> {
    const count = this.#counts.get(trash.parent.owner) ?? 0
    if (count >= maxDirectories)
      throw new Failure(
        "too_many_requests",
        `${count} of your deleted directories are still being emptied: try again, or end the programs that write there`,
        { headers: { "Retry-After": "10" } },
      )
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
    const { parent, name } = trash
    this.#directories.set(trash, { folder: this.#pathOf(parent), name, origin })
    this.#counts.set(parent.owner, (this.#counts.get(parent.owner) ?? 0) + 1)
  }

  /** The directory is empty and gone, or back in its place. */
  delete(trash: StagedEntry): void {
    if (!this.#directories.delete(trash)) return
    const { owner } = trash.parent
    const count = (this.#counts.get(owner) ?? 0) - 1
    if (count > 0) this.#counts.set(owner, count)
    else this.#counts.delete(owner)
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
