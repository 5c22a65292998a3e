import { chownSync, fchownSync, mkdirSync, renameSync, rmdirSync } from "node:fs"
import { Failure } from "#contract"
import { namesOf } from "#kit"
import { isHidden } from "./address.ts"
import { type Copied, CopyLimit, type CopyOptions, copyEntry } from "./copy.ts"
import { Folder } from "./descriptor.ts"
import type { Owner } from "./messages.ts"
import { refusalOf } from "./refusal.ts"
import { Workplace } from "./workplace.ts"

export interface TreeOptions {
  /** The files root, a path that only trusted people can change; made when missing. */
  root: string
  /** Who new entries belong to. Counts only when this process is root. */
  owner?: Owner
  report?: (error: unknown) => void
}

/**
 * The files root as the main process works on it, by descriptor. Paths are absolute below the root and normalized (`/users/ann/data`).
 *
 * New directories have mode 0755 and belong to the uid of the runs: all runs share it, and what keeps people apart is that a container holds mounts of its own
 * directories only. Refuses with `Failure`: `conflict` where something else stands in the way, `storage_full`.
 */
export class Tree implements AsyncDisposable {
  readonly #root: Folder
  readonly #owner: Owner | undefined
  readonly #report: (error: unknown) => void
  #workplace: Workplace | undefined

  private constructor(root: Folder, options: TreeOptions) {
    this.#root = root
    this.#owner = process.getuid?.() === 0 ? options.owner : undefined
    this.#report = options.report ?? (() => {})
  }

  static open(options: TreeOptions): Tree {
    return new Tree(openRoot(options.root, options.owner), options)
  }

  /** Whether it is a directory now. */
  async exists(path: string): Promise<boolean> {
    try {
      using _folder = this.#root.descend(namesOf(path))
      return true
    } catch (error) {
      if (isAbsence(error)) return false
      throw error
    }
  }

  /** Makes the directory and those above it, as far as they are missing. */
  async ensureDirectory(path: string): Promise<void> {
    using _folder = this.#ensure(path, namesFor(path))
  }

  /** Makes the directory, and those above it as far as they are missing; false when something of its name is there already. */
  async makeNewDirectory(path: string): Promise<boolean> {
    const names = namesFor(path)
    using parent = this.#ensure(path, names.slice(0, -1))
    return explained(path, () => this.#make(parent, names.at(-1) ?? ""))
  }

  /** Takes a directory back that was made in vain; one that is not empty, or missing, stays as it is. */
  async removeEmptyDirectory(path: string): Promise<void> {
    const names = namesFor(path)
    try {
      using parent = this.#root.descend(names.slice(0, -1))
      rmdirSync(parent.at(names.at(-1) ?? ""))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!isAbsence(error) && code !== "ENOTEMPTY" && code !== "EEXIST") throw error
    }
  }

  /**
   * Copies a directory's tree to a place that does not exist, or replaces what is there, in one step: nobody sees half of it. Regular files
   * and directories only. Refuses with `conflict` what is beyond the limits, and with `not_found` a source that is no directory.
   */
  async copyTree(from: string, to: string, options: Omit<CopyOptions, "owner" | "shallow"> = {}): Promise<Copied> {
    const [source, target] = [namesFor(from), namesFor(to)]
    this.#workplace ??= new Workplace(this.#root, this.#report, this.#owner)
    using parent = this.#ensure(to, target.slice(0, -1))
    await using stage = this.#workplace.stage(parent)
    using above = explained(from, () => this.#root.descend(source.slice(0, -1)))
    const copied = await copyEntry({ parent: above, name: source.at(-1) ?? "" }, stage, { ...options, owner: this.#owner }).catch((error) =>
      refuse(from, error),
    )
    if (!stage.parent.look(stage.name)?.isDirectory()) throw new Failure("not_found", `${from} is not a directory`)
    const name = target.at(-1) ?? ""
    const replaced = parent.look(name) && this.#workplace.discard(parent, name)
    explained(to, () => renameSync(stage.parent.at(stage.name), parent.at(name)))
    await replaced
    return copied
  }

  /**
   * Moves a directory to a place that does not exist or is an empty directory, in one step; false when there is none to move. Refuses with `conflict` a place that holds
   * something.
   */
  async move(from: string, to: string): Promise<boolean> {
    const [source, target] = [namesFor(from), namesFor(to)]
    const name = source.at(-1) ?? ""
    using parent = this.#ensure(to, target.slice(0, -1))
    return explained(to, () => {
      try {
        using above = this.#root.descend(source.slice(0, -1))
        if (!above.look(name)?.isDirectory()) return false
        renameSync(above.at(name), parent.at(target.at(-1) ?? ""))
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false
        throw error
      }
    })
  }

  /** Removes a directory with all below it; it is gone at once, the promise resolves when its space is free. A missing one is no error. */
  async removeTree(path: string): Promise<void> {
    const names = namesFor(path)
    this.#workplace ??= new Workplace(this.#root, this.#report, this.#owner)
    try {
      using parent = this.#root.descend(names.slice(0, -1))
      const name = names.at(-1) ?? ""
      if (parent.look(name)) await this.#workplace.discard(parent, name)
    } catch (error) {
      if (!isAbsence(error)) refuse(path, error)
    }
  }

  #ensure(path: string, names: readonly string[]): Folder {
    let here = this.#root.again()
    for (const name of names) {
      using above = here
      here = explained(path, () => {
        this.#make(above, name)
        return above.folder(name)
      })
    }
    return here
  }

  /** Answers false when the name is taken. */
  #make(parent: Folder, name: string): boolean {
    try {
      parent.make(name)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
      throw error
    }
    if (this.#owner) {
      using made = parent.folder(name)
      fchownSync(made.fd, this.#owner.uid, this.#owner.gid)
    }
    return true
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#workplace?.[Symbol.asyncDispose]()
    this.#root[Symbol.dispose]()
  }
}

/** Opens the files root, and makes it where it is missing. */
export function openRoot(path: string, owner: Owner | undefined): Folder {
  mkdirSync(path, { recursive: true, mode: 0o755 })
  if (process.getuid?.() === 0 && owner) chownSync(path, owner.uid, owner.gid)
  return Folder.open(path)
}

function namesFor(path: string): string[] {
  const names = namesOf(path)
  if (names.length === 0) throw new Failure("forbidden", "The files root itself cannot be changed")
  if (names.some((name, depth) => isHidden(name, depth))) throw new Failure("invalid", `${path} has a name that Quayside keeps for itself`)
  return names
}

function explained<T>(path: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    return refuse(path, error)
  }
}

function refuse(path: string, error: unknown): never {
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof CopyLimit) throw new Failure("conflict", `${path} cannot be copied: ${error.message}`)
  if (code === "ENOSPC" || code === "EDQUOT") throw new Failure("storage_full", "There is no room left on the disk", { cause: error })
  if (code === "ENAMETOOLONG") throw new Failure("invalid", `A name in ${path} has more than 255 bytes`)
  if (isAbsence(error))
    throw new Failure("conflict", `${path} cannot be used: something in it is not a directory, or vanished`, { cause: error })
  const told = refusalOf(error)
  if (told) throw new Failure(told.code, `${path}: ${told.message}`, { cause: error })
  throw error
}

function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")
}
