import { Failure } from "#contract"
import { deadline, splitPath } from "#kit"
import { fileFailure, forbidden, invalid } from "../failures.ts"
import type { DeadProperties } from "../properties/dead-properties.ts"
import { isReservedName, joinPath } from "../requests/address.ts"
import { CopyQueue } from "../requests/request-limiter.ts"
import type { StagingArea } from "../staging/staging-area.ts"
import type { StorageLedger } from "../storage/ledger.ts"
import { readQuotaProject } from "../storage/quota-project.ts"
import type { Reservation } from "../storage/reservation.ts"
import { breakHardLinks } from "./break-hard-links.ts"
import { copyEntry } from "./copy-entry.ts"
import { CopyLimitError, type CopyTotals } from "./copy-totals.ts"
import type { DirectoryHandle } from "./directory-handle.ts"
import type { Entry } from "./entry-location.ts"
import type { TreeOperation, TreeOperationOptions } from "./file-tree.ts"
import { measureTree } from "./measure-tree.ts"
import { TreeDirectory } from "./tree-directory.ts"

type Copy = Extract<TreeOperation, { op: "copyTree" }>

/**
 * Performs a `FileTree`'s operations, by descriptor. Rejects with a `Failure` when the caller can
 * be told the reason.
 */
export class LocalFileTree {
  readonly #root: DirectoryHandle
  readonly #staging: StagingArea
  readonly #storage: StorageLedger
  readonly #properties: DeadProperties
  /** A copy takes a buffer and descriptors, and its person may request thousands at once. */
  readonly #copies = new CopyQueue<string>()

  constructor(parts: { root: DirectoryHandle; staging: StagingArea; storage: StorageLedger; properties: DeadProperties }) {
    this.#root = parts.root
    this.#staging = parts.staging
    this.#storage = parts.storage
    this.#properties = parts.properties
  }

  async run(operation: TreeOperation, options: TreeOperationOptions): Promise<unknown> {
    switch (operation.op) {
      case "exists":
        return this.#exists(operation.path)
      case "ensureDirectories":
        for (const path of operation.paths) (await this.#ensure(path, namesFor(path)))[Symbol.dispose]()
        return true
      case "makeNewDirectory":
        return this.#makeNew(operation.path)
      case "removeEmptyDirectory":
        return this.#removeEmpty(operation.path)
      case "copyTree":
        return this.#copy(operation, options)
      case "move":
        return this.#move(operation.from, operation.to)
      case "breakHardLinks":
        return this.#breakHardLinks(operation.path, options)
      case "count":
        return this.#storage.count(operation.account)
      default:
        return this.#remove(operation.path)
    }
  }

  /** The root for an operation: those on what one person has share that person's turns. */
  #rootFor(path: string): TreeDirectory {
    return TreeDirectory.of(this.#root, `tree ${splitPath(path).slice(0, 2).join("/")}`)
  }

  async #exists(path: string): Promise<boolean> {
    try {
      using _folder = await this.#rootFor(path).openDescendant(splitPath(path))
      return true
    } catch (error) {
      if (isAbsence(error)) return false
      return throwRefusal(path, error)
    }
  }

  async #makeNew(path: string): Promise<boolean> {
    const names = namesFor(path)
    using parent = await this.#ensure(path, names.slice(0, -1))
    return await withRefusals(path, () => makeUnlessTaken(parent, names.at(-1) ?? ""))
  }

  async #removeEmpty(path: string): Promise<void> {
    const names = namesFor(path)
    try {
      using parent = await this.#rootFor(path).openDescendant(names.slice(0, -1))
      await parent.removeDirectory(names.at(-1) ?? "")
      await this.#properties.remove(joinPath(names))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (!isAbsence(error) && code !== "ENOTEMPTY" && code !== "EEXIST") throwRefusal(path, error)
    }
  }

  async #copy(operation: Copy, options: TreeOperationOptions): Promise<CopyTotals | null> {
    const { from, to, replace, maxMs } = operation
    const [source, target] = [namesFor(from), namesFor(to)]
    const name = target.at(-1) ?? ""
    using _slot = await this.#copies.acquire(operation.account ?? "")
    options.signal?.throwIfAborted()
    using parent = await this.#ensure(to, target.slice(0, -1))
    if (!replace && (await parent.lstat(name))) return null
    using signal = deadline(maxMs, "The copy", options.signal)
    try {
      using above = await this.#rootFor(from).openDescendant(source.slice(0, -1))
      await using staged = await this.#staging.createDirectoryEntry(parent)
      using room = await this.#storage.reserve(operation.account, parent, { bytes: 0 })
      const entry = { parent: above, name: source.at(-1) ?? "" }
      const copied = await copyToStaging(operation, { entry, staged, room, storage: this.#storage, options: { ...options, signal } })
      if (!(await staged.parent.lstat(staged.name))?.isDirectory()) throw notDirectory(from)
      if (replace) await this.#replace(target, { parent, name }, staged)
      else if (!(await renameUnlessTaken(staged, { parent, name }))) return null
      room.commit(this.#storage.maxSizeOf(copied))
      return copied
    } catch (error) {
      if (!options.signal?.aborted && (error as Error).name === "TimeoutError") throw tooLong(from, maxMs)
      return throwRefusal(from, error)
    }
  }

  async #replace(names: readonly string[], to: Entry & { name: string }, staged: Entry): Promise<void> {
    const { emptied } = await this.#staging.replace(to, () => staged.parent.rename(staged.name, to.parent, to.name))
    await this.#properties.remove(joinPath(names))
    await emptied
  }

  async #move(from: string, to: string): Promise<boolean> {
    const [source, target] = [namesFor(from), namesFor(to)]
    const name = source.at(-1) ?? ""
    using parent = await this.#ensure(to, target.slice(0, -1))
    await this.#labelFor(parent, from)
    return await withRefusals(to, async () => {
      try {
        using above = await this.#rootFor(from).openDescendant(source.slice(0, -1))
        if (!(await above.lstat(name))?.isDirectory()) return false
        await above.rename(name, parent, target.at(-1) ?? "")
        await this.#properties.move(joinPath(source), joinPath(target))
        return true
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === "ENOENT") return false
        throw error
      }
    })
  }

  /** The kernel renames a directory only within its project. */
  async #labelFor(parent: TreeDirectory, from: string): Promise<void> {
    const project = readQuotaProject(parent.fd)
    if (!project?.isInherited || !(await this.#exists(from))) return
    using moved = await this.#rootFor(from).openDescendant(namesFor(from))
    const before = readQuotaProject(moved.fd)
    if (!before || before.id === project.id) return
    if ((await this.#storage.label(from, project.id)) === 0) return
    await this.#storage.label(from, before.id)
    throw new Failure("storage_full", `${from} cannot be moved: its new owner may not store so much more`)
  }

  async #breakHardLinks(path: string, { signal }: TreeOperationOptions): Promise<void> {
    if (!(await this.#exists(path))) return
    const names = namesFor(path)
    try {
      using parent = await this.#rootFor(path).openDescendant(names.slice(0, -1))
      await breakHardLinks({ parent, name: names.at(-1) ?? "" }, this.#staging, signal ? { signal } : {})
    } catch (error) {
      throwRefusal(path, error)
    }
  }

  async #remove(path: string): Promise<void> {
    const names = namesFor(path)
    try {
      using parent = await this.#rootFor(path).openDescendant(names.slice(0, -1))
      const name = names.at(-1) ?? ""
      if (!(await parent.lstat(name))) return
      const { emptied } = await this.#staging.discard(parent, name)
      await this.#properties.remove(joinPath(names))
      await emptied
    } catch (error) {
      if (!isAbsence(error)) throwRefusal(path, error)
    }
  }

  async #ensure(path: string, names: readonly string[]): Promise<TreeDirectory> {
    let here = this.#rootFor(path).duplicate()
    for (const name of names) {
      using above = here
      here = await withRefusals(path, async () => {
        if (!(await above.lstat(name))) await makeUnlessTaken(above, name)
        return await above.openDirectory(name)
      })
    }
    return here
  }
}

interface StagedCopy {
  entry: Entry
  staged: Entry
  room: Reservation
  storage: StorageLedger
  options: TreeOperationOptions
}

async function copyToStaging(operation: Copy, { entry, staged, room, storage, options }: StagedCopy): Promise<CopyTotals> {
  const { limits, from } = operation
  const { onProgress, signal } = options
  const bounds = { ...limits, ...(signal ? { signal } : {}) }
  if (!(await entry.parent.lstat(entry.name))?.isDirectory()) throw notDirectory(from)
  const total = await measureTree(entry, bounds)
  room.extend(storage.maxSizeOf(total), staged.parent)
  onProgress?.({ done: { entries: 0, bytes: 0 }, total })
  const checkDisk = storage.pacedDiskCheck()
  const onCopied = (what: CopyTotals) => checkDisk(staged.parent, storage.maxSizeOf(what))
  const copied = await copyEntry(entry, staged, { ...bounds, onCopied, onProgress: (done) => onProgress?.({ done, total }) })
  onProgress?.({ done: copied, total })
  return copied
}

/**
 * Returns false when another caller was quicker: the kernel never renames a directory over one that
 * is not empty.
 */
async function renameUnlessTaken(staged: Entry, to: Entry): Promise<boolean> {
  try {
    await staged.parent.rename(staged.name, to.parent, to.name)
    return true
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return false
    throw error
  }
}

/** Returns false when the name is taken. */
async function makeUnlessTaken(parent: TreeDirectory, name: string): Promise<boolean> {
  try {
    await parent.makeDirectory(name)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false
    throw error
  }
}

function namesFor(path: string): string[] {
  const names = splitPath(path)
  if (names.length === 0) throw forbidden("The files root itself cannot be changed")
  if (names.some((name, depth) => isReservedName(name, depth))) throw invalid(`${path} has a name that is reserved for Quayside`)
  return names
}

async function withRefusals<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    return throwRefusal(path, error)
  }
}

function throwRefusal(path: string, error: unknown): never {
  if (error instanceof Failure) throw error
  const { code } = error as NodeJS.ErrnoException
  if (error instanceof CopyLimitError) throw new Failure("conflict", `${path} cannot be copied: ${error.message}`)
  if (code === "ENAMETOOLONG") throw invalid(`A name in ${path} has more than 255 bytes`)
  if (isAbsence(error)) throw new Failure("conflict", `${path} cannot be used: something in it is not a directory, or vanished`)
  const failure = fileFailure(error)
  if (failure) throw new Failure(failure.code, `${path}: ${failure.message}`, { status: failure.status })
  throw error
}

const notDirectory = (path: string): Failure => new Failure("not_found", `${path} is not a directory`)
const tooLong = (path: string, ms: number): Failure =>
  new Failure("conflict", `${path} cannot be copied: it took longer than ${Math.round(ms / 1_000)} s`)

function isAbsence(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR", "ELOOP"].includes((error as NodeJS.ErrnoException).code ?? "")
}
