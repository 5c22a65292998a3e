import { link, lstat, mkdir, mkdtemp, readdir, rename, rm, rmdir, stat, unlink } from "node:fs/promises"
import { dirname, join } from "node:path"
import { CliError } from "../io/failures.ts"
import { type IsIgnored, syncFilePrefix } from "./ignored.ts"
import { type FileState, isUnchanged, type LocalEntry } from "./plan.ts"

/** A path changed between the look at both sides and the step: the next round looks again. */
export class ChangedMeanwhileError extends Error {}

const maxEntries = 1_000_000

/** The folder of this machine. Nothing outside is read or written, and no link is followed. */
export class LocalFolder implements AsyncDisposable {
  readonly root: string
  /** The names that versions of this side got; whoever reports them empties it. */
  readonly conflicts: string[] = []
  readonly #tempDirectory: string
  #count = 0

  private constructor(root: string, tempDirectory: string) {
    this.root = root
    this.#tempDirectory = tempDirectory
  }

  static async open(root: string): Promise<LocalFolder> {
    return new LocalFolder(root, await mkdtemp(join(root, syncFilePrefix)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#tempDirectory, { recursive: true, force: true })
  }

  async scan(isIgnored: IsIgnored): Promise<Map<string, LocalEntry>> {
    const found = new Map<string, LocalEntry>()
    const visit = async (path: string) => {
      for (const entry of await readdir(join(this.root, path), { withFileTypes: true })) {
        const below = path === "" ? entry.name : `${path}/${entry.name}`
        if (isIgnored(below, entry.isDirectory())) continue
        const state = await stateOf(join(this.root, below))
        if (state) found.set(below, state)
        if (found.size > maxEntries) throw new CliError(`A folder may have ${maxEntries} entries; ignore some, or synchronize its folders.`)
        if (state?.kind === "directory") await visit(below)
      }
    }
    await visit("")
    return found
  }

  /** A new path for a file that is not whole yet. */
  newTempFile(): string {
    this.#count += 1
    return join(this.#tempDirectory, String(this.#count))
  }

  /** The absolute path, if nothing leads out of the folder. */
  async resolvePath(path: string): Promise<string> {
    const names = path.split("/")
    for (let i = 1; i < names.length; i += 1) {
      const parent = names.slice(0, i).join("/")
      if ((await stateOf(join(this.root, parent)))?.kind !== "directory") throw new ChangedMeanwhileError(`${parent} is no folder any more`)
    }
    return join(this.root, path)
  }

  /**
   * Puts a whole file in its place. The file that was there is moved away before it is looked at,
   * so that a change of the last moment is not lost either.
   */
  async replace(path: string, tempFile: string, expected: FileState | undefined): Promise<FileState> {
    if (expected) await this.remove(path, expected)
    await moveNew(tempFile, await this.resolvePath(path))
    return this.state(path)
  }

  /** Removes a file, or an empty folder. */
  async remove(path: string, expected: LocalEntry): Promise<void> {
    const absolute = await this.resolvePath(path)
    if (expected.kind !== "file") return rmdir(absolute).catch(changed)
    const away = this.newTempFile()
    await rename(absolute, away).catch(changed)
    const found = await stateOf(away)
    if (found?.kind === "file" && isUnchanged(found, expected)) return unlink(away)
    await this.#moveBeside(away, path)
    throw new ChangedMeanwhileError(`${path} was changed meanwhile`)
  }

  /** Gives a file or folder the name of a conflict. */
  async moveAside(path: string): Promise<void> {
    await this.#moveBeside(await this.resolvePath(path), path)
  }

  async #moveBeside(from: string, path: string): Promise<void> {
    for (let i = 0; ; i += 1) {
      const name = conflictName(path, i)
      try {
        await moveNew(from, await this.resolvePath(name))
        this.conflicts.push(name)
        return
      } catch (error) {
        if (!(error instanceof ChangedMeanwhileError) || i === 100) throw error
      }
    }
  }

  async createDirectory(path: string): Promise<void> {
    const absolute = await this.resolvePath(path)
    await mkdir(absolute).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST" || (await stateOf(absolute))?.kind !== "directory") changed(error)
    })
  }

  /** The file as it is now. */
  async state(path: string): Promise<FileState> {
    const state = await stateOf(await this.resolvePath(path))
    if (state?.kind === "file") return state
    throw new ChangedMeanwhileError(`${path} is no file any more`)
  }
}

/** `NAME.conflict-20260131T120000Z`; several of the same second are numbered. */
export function conflictName(path: string, count = 0): string {
  const time = new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "")
  return `${path}.conflict-${time}${count === 0 ? "" : `-${count}`}`
}

async function stateOf(absolute: string): Promise<LocalEntry | undefined> {
  const found = await lstat(absolute).catch(() => undefined)
  if (!found) return undefined
  if (found.isDirectory()) return { kind: "directory" }
  return found.isFile() ? { kind: "file", size: found.size, modifiedMs: found.mtimeMs } : { kind: "other" }
}

/** Renames, but never onto something that is there. */
async function moveNew(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
    await unlink(from)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // Folders have no hard links, and some file systems know none.
    if (code === "EEXIST" || (await stateOf(to))) throw new ChangedMeanwhileError(`${to} is there already`)
    if (code === "ENOENT") throw new ChangedMeanwhileError(`${dirname(to)} is gone`)
    await rename(from, to)
  }
}

function changed(error: NodeJS.ErrnoException): never {
  if (["ENOENT", "ENOTEMPTY", "EEXIST", "ENOTDIR"].includes(error.code ?? "")) throw new ChangedMeanwhileError(error.message)
  throw error
}

/** A folder that is not there must not look like one that was emptied. */
export async function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
}
