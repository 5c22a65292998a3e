import { futimesSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs"
import { createProcessId, hasProcessEnded } from "#kit"
import { fileFailure } from "../failures.ts"
import { reservedDirectory, reservedPrefix } from "../requests/address.ts"
import { readQuotaProject, writeQuotaProject } from "../storage/quota-project.ts"
import type { DirectoryHandle, EntryName } from "../tree/directory-handle.ts"
import type { Entry } from "../tree/entry-location.ts"
import { ignoreErrors } from "../tree/ignore-errors.ts"
import { moveEntry } from "../tree/move-entry.ts"
import { namesIn, openOrMake } from "../tree/names-in.ts"
import { removeTree } from "../tree/remove-tree.ts"
import { StagedEntry } from "./staged-entry.ts"
import { TempFile } from "./temp-file.ts"

const heartbeatMs = 60_000
const abandonedMs = 600_000
/**
 * Retries for a tree that a program keeps changing start with this delay, which doubles each time.
 */
const minRetryMs = 500
const maxRetryMs = 600_000
/** Each holds one or two descriptors. The next worker's sweep removes the rest. */
const maxRetried = 100
const noteSuffix = ".from"

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
  readonly #undeletable = new Set<StagedEntry>()
  #retryMs = minRetryMs
  #retryTimer: NodeJS.Timeout | undefined
  #count = 0
  #sweeping: Promise<void> = Promise.resolve()

  constructor(root: DirectoryHandle, report: (error: unknown) => void) {
    this.#report = report
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
  createEntry(parent: DirectoryHandle): StagedEntry {
    const name = this.#nextName()
    if (parent.stat().dev === this.#device) return new StagedEntry(this.#own.duplicate(), name)
    const marker = { directory: this.#own.duplicate(), name }
    return StagedEntry.besideTarget(parent.duplicate(), `${reservedPrefix}${this.#id}-${name}`, marker)
  }

  /**
   * The same for a directory. Its content gets the project of `parent` while it is made, since the
   * kernel renames no directory into another project.
   */
  createDirectoryEntry(parent: DirectoryHandle): StagedEntry {
    const project = readQuotaProject(parent.fd)
    if (!project?.isInherited || parent.stat().dev !== this.#device) return this.createEntry(parent)
    using folder = openOrMake(this.#own, `project-${project.id}`)
    if (!readQuotaProject(folder.fd)?.isInherited) writeQuotaProject(folder.fd, project)
    return new StagedEntry(folder.duplicate(), this.#nextName())
  }

  /** Creates a file of that person, which will be moved to a name in `parent`. */
  createTempFile(parent: DirectoryHandle, userId: number): Promise<TempFile> {
    return TempFile.open(this.createEntry(parent), userId)
  }

  /**
   * Moves an entry to the trash before it returns. The promise resolves when its space is free, and
   * never rejects.
   */
  discard(parent: DirectoryHandle, name: EntryName): Promise<void> {
    const trash = this.#trashFor(parent, name)
    try {
      if (!trash) return Promise.resolve(unlinkSync(parent.pathTo(name)))
      moveToTrash(parent, name, trash)
    } catch (error) {
      trash?.release()
      throw error
    }
    return this.#emptyTrash(trash)
  }

  /**
   * Undefined for a file when the full disk has no room for a trash entry: deleting still works.
   */
  #trashFor(parent: DirectoryHandle, name: EntryName): StagedEntry | undefined {
    try {
      return this.createEntry(parent)
    } catch (error) {
      if (isFull(error) && parent.lstat(name)?.isFile()) return undefined
      throw error
    }
  }

  /**
   * Moves an entry to a name before it returns, and an entry already there to the trash. Between
   * the two renames a note records for the sweep what to restore. The promise resolves when the
   * replaced entry's space is free, and never rejects.
   */
  replace(from: Entry, to: Entry & { name: string }): Promise<void> {
    const move = () => moveEntry(from, to)
    if (!to.parent.lstat(to.name)) {
      move()
      return Promise.resolve()
    }
    const trash = this.createEntry(to.parent)
    const note = this.#own.pathTo(`${trash.name}${noteSuffix}`)
    try {
      symlinkSync(`${readlinkSync(to.parent.path)}/${to.name}`, note)
      moveToTrash(to.parent, to.name, trash)
      restoreOnError(move, to, trash)
    } catch (error) {
      trash.release()
      throw error
    } finally {
      ignoreErrors(() => unlinkSync(note))
    }
    return this.#emptyTrash(trash)
  }

  async #emptyTrash(trash: StagedEntry): Promise<void> {
    const isRemoved = await trash.removeContent().catch((error: unknown) => void this.#report(error))
    if (isRemoved === false && this.#undeletable.size < maxRetried) this.#retryLater(trash)
    else {
      this.#undeletable.delete(trash)
      trash.release()
    }
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
    return this.#afterOthers(() => this.#sweepNow(root))
  }

  async #sweepNow(root: DirectoryHandle): Promise<void> {
    for (const name of namesIn(this.#workDirectory)) {
      const ageMs = Date.now() - (this.#workDirectory.lstat(name)?.mtimeMs ?? Date.now())
      if (name !== this.#id && (hasProcessEnded(name) || ageMs > abandonedMs)) await this.#remove(root, name).catch(this.#report)
    }
  }

  async #remove(root: DirectoryHandle, name: string): Promise<void> {
    using left = this.#workDirectory.openDirectory(name)
    for (const entry of namesIn(left)) if (entry.endsWith(noteSuffix)) restoreReplaced(root, left, entry)
    for (const entry of namesIn(left)) if (left.lstat(entry)?.isSymbolicLink()) await removeBeside(root, left, entry)
    await removeTree(this.#workDirectory, name, () => `${name}-${this.#nextName()}`)
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
    await removeTree(this.#workDirectory, this.#id, () => `${this.#id}-${this.#nextName()}`)
    this.#openedOwn?.[Symbol.dispose]()
    this.#workDirectory[Symbol.dispose]()
  }
}

/** Opens a directory that its owner closed, moves it, and restores its mode if the move fails. */
function moveToTrash(parent: DirectoryHandle, name: EntryName, trash: StagedEntry): void {
  const move = () => renameSync(parent.pathTo(name), trash.parent.pathTo(trash.name))
  try {
    move()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error
    const mode = parent.lstat(name)?.mode ?? 0o755
    parent.chmodDirectory(name, 0o700)
    try {
      move()
    } catch (again) {
      parent.chmodDirectory(name, mode & 0o7777)
      throw again
    }
  }
}

/** Restores the replaced entry when the move into its place fails. */
function restoreOnError(move: () => void, to: Entry, trash: StagedEntry): void {
  try {
    move()
  } catch (error) {
    ignoreErrors(() => renameSync(trash.parent.pathTo(trash.name), to.parent.pathTo(to.name)))
    throw error
  }
}

/** Restores an entry whose replacement was not finished when a worker ended. */
function restoreReplaced(root: DirectoryHandle, left: DirectoryHandle, note: string): void {
  ignoreErrors(() => {
    const target = targetBelow(root, left, note)
    const name = target?.at(-1)
    if (!target || name === undefined) return
    using parent = root.openDescendant(target.slice(0, -1))
    if (parent.lstat(name)) return
    const trash = note.slice(0, -noteSuffix.length)
    const isBeside = left.lstat(trash)?.isSymbolicLink()
    renameSync(isBeside ? parent.pathTo(`${reservedPrefix}${idOf(left)}-${trash}`) : left.pathTo(trash), parent.pathTo(name))
  })
}

/** The target of a link in a worker's directory, as names below the root. */
function targetBelow(root: DirectoryHandle, left: DirectoryHandle, link: string): string[] | undefined {
  const rootPath = readlinkSync(root.path)
  const target = readlinkSync(left.pathTo(link))
  return target.startsWith(`${rootPath}/`) ? target.slice(rootPath.length + 1).split("/") : undefined
}

function idOf(left: DirectoryHandle): string {
  return readlinkSync(left.path).split("/").at(-1) ?? ""
}

/** The marker names the directory; the ended worker's entries there have its ID in their names. */
async function removeBeside(root: DirectoryHandle, left: DirectoryHandle, marker: string): Promise<void> {
  const target = targetBelow(root, left, marker)
  if (!target) return
  try {
    using directory = root.openDescendant(target)
    const own = namesIn(directory).filter((name) => name.startsWith(`${reservedPrefix}${idOf(left)}-`))
    for (const name of own) await removeTree(directory, name, nameSequence(name))
  } catch (error) {
    if (!fileFailure(error)) throw error
  }
}

function nameSequence(name: string): () => string {
  let count = 0
  return () => {
    count += 1
    return `${name}-s${count}`
  }
}

function isFull(error: unknown): boolean {
  return fileFailure(error)?.code === "storage_full"
}
