import { createHash, randomBytes } from "node:crypto"
import { futimesSync, readlinkSync } from "node:fs"
import { createProcessId, hasProcessEnded } from "#kit"
import { fileFailure } from "../failures.ts"
import { reservedDirectory, reservedPrefix } from "../requests/address.ts"
import { readQuotaProject, writeQuotaProject } from "../storage/quota-project.ts"
import type { DirectoryHandle, EntryName } from "../tree/directory-handle.ts"
import type { Entry } from "../tree/entry-location.ts"
import { withLabel } from "../tree/move-entry.ts"
import { namesIn, openOrMake } from "../tree/names-in.ts"
import { removeTree } from "../tree/remove-tree.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { Markers } from "./markers.ts"
import { StagedEntry } from "./staged-entry.ts"
import { folderPrefix, noteSuffix, removeLeftovers, sweeper } from "./sweep.ts"
import { TempFile } from "./temp-file.ts"
import { Trash } from "./trash.ts"

const heartbeatMs = 60_000
const abandonedMs = 600_000
/**
 * Retries for a tree that a program keeps changing start with this delay, which doubles each time.
 */
const minRetryMs = 500
const maxRetryMs = 600_000
/** Each holds one or two descriptors. The next worker's sweep removes the rest. */
const maxRetried = 400
const maxRetriedOfOwner = 20
/** To a name at which a program makes entries again and again. */
const maxMoves = 5

/** An entry that is gone from its place. */
export interface Discarded {
  /** Resolves when its space is free; never rejects. */
  emptied: Promise<void>
}

const nothingDiscarded: Discarded = { emptied: Promise.resolve() }

/**
 * The worker's own directory in the reserved one. It alone holds unfinished and deleted entries.
 */
export class StagingArea implements AsyncDisposable {
  readonly #workDirectory: DirectoryHandle
  #openedOwn: DirectoryHandle | undefined
  readonly #id = createProcessId()
  readonly #heartbeat: NodeJS.Timeout
  readonly #device: number
  readonly #report: (error: unknown) => void
  readonly trash: Trash
  readonly #markers = new Markers(() => this.#own)
  readonly #undeletable = new Set<StagedEntry>()
  #retryMs = minRetryMs
  #retryTimer: NodeJS.Timeout | undefined
  #count = 0
  #sweeping: Promise<void> = Promise.resolve()

  constructor(root: DirectoryHandle, report: (error: unknown) => void) {
    this.#report = report
    this.trash = new Trash(root)
    using reserved = openOrMake(root, reservedDirectory)
    this.#workDirectory = openOrMake(reserved, "work")
    this.#makeUnlessFull()
    this.#device = root.stat().dev
    this.#heartbeat = setInterval(() => this.#touchHeartbeat(), heartbeatMs)
    this.#heartbeat.unref()
  }

  get #own(): DirectoryHandle {
    this.#openedOwn ??= openOrMake(this.#workDirectory, this.#id)
    return this.#openedOwn
  }

  /**
   * On a full disk the directory is made when it is first needed. Reading and deleting work without
   * it.
   */
  #makeUnlessFull(): void {
    try {
      void this.#own
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }

  /** Reserves a name for an entry that will be moved to `parent`, or was moved away from it. */
  async createEntry(parent: TreeDirectory): Promise<StagedEntry> {
    if (parent.stat().dev !== this.#device) return await this.#createBeside(parent)
    return new StagedEntry(await this.#folderFor(parent), this.#nextName())
  }

  /** The same in the directory itself, by a name that no program can take before. */
  async #createBeside(parent: TreeDirectory): Promise<StagedEntry> {
    using stack = new DisposableStack()
    const directory = stack.use(parent.duplicate())
    const marker = await this.#markers.mark(parent)
    stack.move()
    return new StagedEntry(directory, `${reservedPrefix}${this.#id}-${randomBytes(12).toString("hex")}`, marker)
  }

  /**
   * The folder for entries of a directory's owner. The kernel locks it while one of them is renamed
   * to a place whose lock a program holds, and then everything else in it waits.
   */
  async #folderFor({ owner }: TreeDirectory): Promise<TreeDirectory> {
    const own = TreeDirectory.of(this.#own, owner)
    const name = `${folderPrefix}${createHash("sha256").update(String(owner)).digest("hex").slice(0, 16)}`
    try {
      if (!(await own.lstat(name))) await own.makeDirectory(name, 0o700)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (isFull(error)) return own.duplicate()
      if (code !== "EEXIST") throw error
    }
    return await own.openDirectory(name)
  }

  /**
   * The same for a directory. Its content gets the project of `parent` while it is made, since the
   * kernel renames no directory into another project.
   */
  async createDirectoryEntry(parent: TreeDirectory): Promise<StagedEntry> {
    const project = readQuotaProject(parent.fd)
    if (!project?.isInherited || parent.stat().dev !== this.#device) return await this.createEntry(parent)
    using folder = openOrMake(this.#own, `${folderPrefix}project-${project.id}`)
    if (!readQuotaProject(folder.fd)?.isInherited) writeQuotaProject(folder.fd, project)
    return new StagedEntry(TreeDirectory.of(folder, parent.owner).duplicate(), this.#nextName())
  }

  /** Creates a file that will be moved to a name in `parent`. */
  async createTempFile(parent: TreeDirectory): Promise<TempFile> {
    return await TempFile.open(await this.createEntry(parent), this.#making({ isFlushed: false, mode: 0o644 }))
  }

  /**
   * The same for one that is moved very soon: it lies beside its place, and each write is flushed.
   */
  async createSmallFile(parent: TreeDirectory, mode: number): Promise<TempFile> {
    return await TempFile.open(await this.#createBeside(parent), this.#making({ isFlushed: true, mode }))
  }

  #making(options: { isFlushed: boolean; mode: number }): Parameters<typeof TempFile.open>[1] {
    return { place: (from, to) => this.place(from, to), ...options }
  }

  /**
   * Gives a staged entry its place; a file replaces a file there. `fd`: the file, if it is open for
   * writing.
   *
   * A rename between two directories needs a lock that the kernel has once for each file system,
   * and that a program can hold for seconds. So a file first gets a second name beside its place.
   */
  async place(from: Entry & { fd?: number }, to: Entry): Promise<void> {
    const beside = from.parent.isSame(to.parent) ? undefined : await this.#linkBeside(from, to)
    if (!beside) return await withLabel(from, to, () => from.parent.rename(from.name, to.parent, to.name))
    try {
      await beside.parent.rename(beside.name, to.parent, to.name)
    } catch (error) {
      await beside.remove()
      throw error
    }
    beside.release()
    // One that remains is removed by the sweep.
    await from.parent.unlink(from.name).catch(() => {})
  }

  /** Undefined for a directory, and where no second name can be made, as on a full disk. */
  async #linkBeside(from: Entry & { fd?: number }, to: Entry): Promise<StagedEntry | undefined> {
    let beside: StagedEntry | undefined
    try {
      beside = await this.#createBeside(to.parent)
      const { parent, name } = beside
      await withLabel(from, to, () => from.parent.link(from.name, parent, name))
      return beside
    } catch (error) {
      beside?.release()
      if (cannotLink.has((error as NodeJS.ErrnoException).code ?? "")) return undefined
      throw error
    }
  }

  /** Removes an entry: a directory goes to the trash as a whole. */
  async discard(parent: TreeDirectory, name: EntryName): Promise<Discarded> {
    try {
      await parent.unlink(name)
      return nothingDiscarded
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EISDIR") throw error
    }
    const trash = await this.createEntry(parent)
    try {
      await this.trash.move(parent, name, trash)
    } catch (error) {
      trash.release()
      throw error
    }
    return { emptied: this.#emptyTrash(trash) }
  }

  /**
   * Moves an entry to a name by `move`, and before that an entry already there to the trash.
   * Between the two a note records for the sweep what to restore.
   */
  async replace(to: Entry & { name: string }, move: () => Promise<void>): Promise<Discarded> {
    if (!(await to.parent.lstat(to.name))) {
      await move()
      return nothingDiscarded
    }
    using folder = await this.#folderFor(to.parent)
    const trash = await this.createEntry(to.parent)
    const note = `${trash.name}${noteSuffix}`
    try {
      await folder.makeLink(note, `${readlinkSync(to.parent.path)}/${to.name}`)
      await this.trash.move(to.parent, to.name, trash)
      await restoreOnError(() => this.#moveOver(to, move), to, trash)
    } catch (error) {
      // Nobody could reach, or would count, an old entry that could not be restored.
      void this.#emptyTrash(trash)
      throw error
    } finally {
      await folder.unlink(note).catch(() => {})
    }
    return { emptied: this.#emptyTrash(trash) }
  }

  /** Moves an entry to a name, over entries that a program makes there meanwhile. */
  async #moveOver(to: Entry, move: () => Promise<void>): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await move()
      } catch (error) {
        if (attempt === maxMoves || !takenCodes.has((error as NodeJS.ErrnoException).code ?? "")) throw error
        await this.discard(to.parent, to.name).catch(() => {})
      }
    }
  }

  async #emptyTrash(trash: StagedEntry): Promise<void> {
    const isRemoved = await trash.removeContent().catch((error: unknown) => void this.#report(error))
    if (isRemoved === false && this.#mayRetry(trash)) this.#retryLater(trash)
    else {
      this.#undeletable.delete(trash)
      if (isRemoved) this.trash.delete(trash)
      trash.release()
    }
  }

  #mayRetry(trash: StagedEntry): boolean {
    if (this.#undeletable.has(trash)) return true
    const own = [...this.#undeletable].filter(({ parent }) => parent.owner === trash.parent.owner)
    return own.length < maxRetriedOfOwner && this.#undeletable.size < maxRetried
  }

  /** Retries the removal: a program inside keeps changing the tree. */
  #retryLater(trash: StagedEntry): void {
    this.#undeletable.add(trash)
    if (this.#retryTimer) return
    this.#retryTimer = setTimeout(() => this.#afterOthers(() => this.#retry()).catch(this.#report), this.#retryMs)
    this.#retryTimer.unref()
  }

  async #retry(): Promise<void> {
    this.#retryTimer = undefined
    this.#retryMs = Math.min(this.#retryMs * 2, maxRetryMs)
    for (const trash of this.#undeletable) await this.#emptyTrash(trash)
    if (this.#undeletable.size === 0) this.#retryMs = minRetryMs
  }

  #afterOthers(work: () => Promise<void>): Promise<void> {
    const done = this.#sweeping.then(work)
    this.#sweeping = done.catch(() => {})
    return done
  }

  /** Removes what ended workers left. Sweeps run one after another. */
  sweep(root: DirectoryHandle): Promise<void> {
    return this.#afterOthers(() => this.#sweepNow(TreeDirectory.of(root, sweeper)))
  }

  async #sweepNow(root: TreeDirectory): Promise<void> {
    for (const name of namesIn(this.#workDirectory)) {
      const ageMs = Date.now() - (this.#workDirectory.lstat(name)?.mtimeMs ?? Date.now())
      if (name === this.#id || (!hasProcessEnded(name) && ageMs <= abandonedMs)) continue
      await removeLeftovers(root, this.#workDirectory, name).catch(this.#report)
    }
  }

  #touchHeartbeat(): void {
    const now = new Date()
    if (this.#openedOwn) futimesSync(this.#openedOwn.fd, now, now)
  }

  #nextName(): string {
    this.#count += 1
    return this.#count.toString(36)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat)
    await this.#sweeping
    clearTimeout(this.#retryTimer)
    for (const trash of this.#undeletable) trash.release()
    await removeTree(TreeDirectory.of(this.#workDirectory, sweeper), this.#id, () => `${this.#id}-${this.#nextName()}`)
    this.#openedOwn?.[Symbol.dispose]()
    this.#workDirectory[Symbol.dispose]()
  }
}

/** Restores the replaced entry when the move into its place fails. */
async function restoreOnError(move: () => Promise<void>, to: Entry, trash: StagedEntry): Promise<void> {
  try {
    await move()
  } catch (error) {
    await trash.parent.rename(trash.name, to.parent, to.name).catch(() => {})
    throw error
  }
}

/** An entry is where another one is to be moved. */
const takenCodes: ReadonlySet<string> = new Set(["ENOTEMPTY", "EEXIST", "ENOTDIR", "EISDIR"])

/** File systems without hard links, files that others own, and full disks. */
const cannotLink: ReadonlySet<string> = new Set(["EPERM", "EOPNOTSUPP", "ENOTSUP", "ENOSYS", "EMLINK", "ENOSPC", "EDQUOT"])

function isFull(error: unknown): boolean {
  return fileFailure(error)?.code === "storage_full"
}
