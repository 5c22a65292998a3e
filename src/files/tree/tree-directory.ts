import { closeSync, constants, fstatSync, lstat, open, openSync, type Stats } from "node:fs"
import { chmod, link, mkdir, opendir, readlink, rename, rmdir, symlink, unlink } from "node:fs/promises"
import { promisify } from "node:util"
import { type TurnOwner, withDiskTurn } from "../requests/disk-turns.ts"
import { lstatCached, openCached } from "./cached-calls.ts"
import { assertSingleName, disposableDescriptor, type EntryName, safeOpenFlags } from "./directory-handle.ts"

const openFile = promisify(open)
const lookUpEntry = promisify(lstat)

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY
const pathOnly = 0o10000000
/** Entries that one call of the thread pool reads. */
const batchSize = 256

/** A name that a directory's reading returned, and its kind at that time. */
export interface DirectoryEntry {
  name: Buffer
  isDirectory(): boolean
}

/**
 * An open directory below the files root, identified by its descriptor. Links are never followed.
 *
 * Programs can hold the kernel's locks of their directories and files for seconds, and a change
 * may wait for the file system's journal. So the event loop only makes calls that the kernel
 * answers from its caches. All others are made by the thread pool, in turns of the owner.
 */
export class TreeDirectory implements Disposable {
  readonly fd: number
  readonly owner: TurnOwner
  readonly #isBorrowed: boolean

  private constructor(fd: number, owner: TurnOwner, isBorrowed = false) {
    this.fd = fd
    this.owner = owner
    this.#isBorrowed = isBorrowed
  }

  /** The same descriptor, which stays open when this is disposed. */
  static of({ fd }: { readonly fd: number }, owner: TurnOwner): TreeDirectory {
    return new TreeDirectory(fd, owner, true)
  }

  /** The path by which the kernel reaches this directory, or one name in it. */
  pathTo(name: string): string
  pathTo(name: EntryName): EntryName
  pathTo(name: EntryName): EntryName {
    assertSingleName(name)
    if (typeof name === "string") return `${this.path}/${name}`
    return Buffer.concat([Buffer.from(`${this.path}/`), name])
  }

  get path(): string {
    return `/proc/self/fd/${this.fd}`
  }

  stat(): Stats {
    return fstatSync(this.fd)
  }

  /** A second descriptor of the same directory. */
  duplicate(owner = this.owner): TreeDirectory {
    return new TreeDirectory(openSync(this.path, directoryFlags), owner)
  }

  /** Whether both are one directory. */
  isSame(other: TreeDirectory): boolean {
    const [here, there] = [this.stat(), other.stat()]
    return here.ino === there.ino && here.dev === there.dev
  }

  /** Runs calls of the thread pool for the owner, one after another. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    return withDiskTurn(this.owner, work)
  }

  async openDirectory(name: EntryName): Promise<TreeDirectory> {
    return new TreeDirectory(await this.open(name, directoryFlags), this.owner)
  }

  /** Walks down by single names. An empty list opens this directory a second time. */
  async openDescendant(names: readonly string[]): Promise<TreeDirectory> {
    for (const name of names) assertSingleName(name)
    if (names.length === 0) return this.duplicate()
    const known = openCached(this.fd, names.join("/"), directoryFlags)
    return known === undefined ? this.#walkDown(names) : new TreeDirectory(known, this.owner)
  }

  async #walkDown(names: readonly string[]): Promise<TreeDirectory> {
    let here = this.duplicate()
    for (const name of names) {
      using above = here
      here = await above.openDirectory(name)
    }
    return here
  }

  /**
   * Opens an entry of any kind and returns its descriptor. The caller checks the kind and closes
   * it. No open blocks: a FIFO opens at once, and a leased file fails with `EAGAIN`.
   */
  async open(name: EntryName, flags: number, mode?: number): Promise<number> {
    const path = this.pathTo(name)
    const known = flags & constants.O_CREAT ? undefined : openCached(this.fd, name, flags | safeOpenFlags)
    return known ?? (await this.inTurn(() => openFile(path, flags | safeOpenFlags, mode)))
  }

  /** The entry's current stats, of the link itself for a link; undefined when nothing is there. */
  async lstat(name: EntryName): Promise<Stats | undefined> {
    const known = this.knownStats(name)
    return known === undefined ? (await this.lookUp([name]))[0] : (known ?? undefined)
  }

  /** The same without waiting. Null: nothing is there; undefined: it has to be looked up. */
  knownStats(name: EntryName): Stats | null | undefined {
    assertSingleName(name)
    return lstatCached(this.fd, name)
  }

  /** Looks several names up in one turn of the thread pool. */
  lookUp(names: readonly EntryName[]): Promise<(Stats | undefined)[]> {
    return this.inTurn(async () => {
      const found: (Stats | undefined)[] = []
      for (const name of names) found.push(await statsAt(this.pathTo(name)))
      return found
    })
  }

  async makeDirectory(name: EntryName, mode = 0o755): Promise<void> {
    await this.inTurn(() => mkdir(this.pathTo(name), { mode }))
  }

  /**
   * Changes a directory's mode through a handle on the entry: no link is followed. A directory
   * that its owner may not write to can be neither moved nor emptied.
   */
  async chmodDirectory(name: EntryName, mode: number): Promise<void> {
    using handle = disposableDescriptor(await this.open(name, pathOnly | constants.O_DIRECTORY))
    await this.inTurn(() => chmod(`/proc/self/fd/${handle.fd}`, mode))
  }

  /** Renames an entry, replacing one that is there as `rename(2)` does. */
  async rename(name: EntryName, to: TreeDirectory, newName: EntryName): Promise<void> {
    const [from, target] = [this.pathTo(name), to.pathTo(newName)]
    await this.inTurn(() => rename(from, target))
  }

  /** Gives a file a second name, which must be free. */
  async link(name: EntryName, to: TreeDirectory, newName: EntryName): Promise<void> {
    const [from, target] = [this.pathTo(name), to.pathTo(newName)]
    await this.inTurn(() => link(from, target))
  }

  /** The bytes of a link. */
  readLink(name: EntryName): Promise<Buffer> {
    return this.inTurn(() => readlink(this.pathTo(name), { encoding: "buffer" }))
  }

  async makeLink(name: EntryName, target: EntryName): Promise<void> {
    await this.inTurn(() => symlink(target, this.pathTo(name)))
  }

  /** Removes a name that is no directory. */
  async unlink(name: EntryName): Promise<void> {
    await this.inTurn(() => unlink(this.pathTo(name)))
  }

  /** Removes an empty directory. */
  async removeDirectory(name: EntryName): Promise<void> {
    await this.inTurn(() => rmdir(this.pathTo(name)))
  }

  /** Reads the entries in the kernel's order, some hundreds at a time. */
  async *batches(): AsyncGenerator<DirectoryEntry[]> {
    const options = { encoding: "buffer" as BufferEncoding, bufferSize: batchSize }
    const entries = await this.inTurn(() => opendir(this.path, options))
    const nextBatch = async () => {
      const batch: DirectoryEntry[] = []
      while (batch.length < batchSize) {
        const entry = await entries.read()
        if (!entry) break
        batch.push(entry as unknown as DirectoryEntry)
      }
      return batch
    }
    try {
      let batch: DirectoryEntry[]
      do {
        batch = await this.inTurn(nextBatch)
        if (batch.length > 0) yield batch
      } while (batch.length === batchSize)
    } finally {
      entries.closeSync()
    }
  }

  [Symbol.dispose](): void {
    if (!this.#isBorrowed) closeSync(this.fd)
  }
}

async function statsAt(path: EntryName): Promise<Stats | undefined> {
  try {
    return await lookUpEntry(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === "ENOENT" || code === "ENOTDIR") return undefined
    throw error
  }
}
