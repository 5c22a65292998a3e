import { chmodSync, close, closeSync, constants, fstatSync, lstatSync, mkdirSync, opendirSync, openSync, type Stats } from "node:fs"

/** A single name in a directory; bytes if it may not be UTF-8. */
export type EntryName = string | Buffer

/** An open directory stream. */
export interface DirectoryStream {
  /** The kind is the one at the time of reading. */
  readSync(): { name: Buffer; isDirectory(): boolean } | null
  closeSync(): void
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** `open(2)`: a handle on the entry itself, which needs no right on it. */
const O_PATH = 0o10000000
/** The mode that lets an owner list a directory and reach its entries. */
const ownerMayRead = 0o500
/** Links are not followed, and no open blocks. */
export const safeOpenFlags = constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * An open directory, identified by its descriptor and used synchronously: by the thread that counts
 * files, and where only this server writes. `TreeDirectory` is for all that requests do. Links are
 * never followed and no call blocks: with `O_NONBLOCK` a FIFO opens at once and a leased file fails
 * with `EAGAIN`.
 */
export class DirectoryHandle implements Disposable {
  readonly fd: number

  private constructor(fd: number) {
    this.fd = fd
  }

  /** Opens a directory by a path that only trusted people can change. */
  static open(trustedPath: string): DirectoryHandle {
    return new DirectoryHandle(openSync(trustedPath, constants.O_RDONLY | constants.O_DIRECTORY))
  }

  /** Takes over a descriptor that is a directory. */
  static fromDescriptor(fd: number): DirectoryHandle {
    if (!fstatSync(fd).isDirectory()) throw new TypeError(`Descriptor ${fd} is not a directory`)
    return new DirectoryHandle(fd)
  }

  /** The path by which the kernel reaches this directory, or one name in it. */
  pathTo(name: string): string
  pathTo(name: EntryName): EntryName
  pathTo(name: EntryName): EntryName {
    assertSingleName(name)
    if (typeof name === "string") return `/proc/self/fd/${this.fd}/${name}`
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.fd}/`), name])
  }

  get path(): string {
    return `/proc/self/fd/${this.fd}`
  }

  openDirectory(name: EntryName): DirectoryHandle {
    return new DirectoryHandle(openSync(this.pathTo(name), directoryFlags))
  }

  /**
   * Opens a directory whose mode may hide its entries from its owner, after changing that mode: a
   * program can write to a directory that it may not read.
   */
  openReadable(name: EntryName): DirectoryHandle {
    const stats = this.lstat(name)
    if (stats?.isDirectory() && (stats.mode & ownerMayRead) !== ownerMayRead)
      this.chmodDirectory(name, (stats.mode & 0o7777) | ownerMayRead)
    return this.openDirectory(name)
  }

  /**
   * Opens an entry of any kind and returns its descriptor. The caller checks the kind and closes
   * it.
   */
  open(name: EntryName, flags: number, mode?: number): number {
    return openSync(this.pathTo(name), flags | safeOpenFlags, mode)
  }

  /** A second descriptor of the same directory. */
  duplicate(): DirectoryHandle {
    return new DirectoryHandle(openSync(this.path, constants.O_RDONLY | constants.O_DIRECTORY))
  }

  /** The entry's current stats, of the link itself for a link; undefined when nothing is there. */
  lstat(name: EntryName): Stats | undefined {
    return lstatSync(this.pathTo(name), { throwIfNoEntry: false })
  }

  stat(): Stats {
    return fstatSync(this.fd)
  }

  makeDirectory(name: EntryName, mode = 0o755): void {
    mkdirSync(this.pathTo(name), { mode })
  }

  /**
   * Changes a directory's mode through a handle on the entry: no link is followed. A directory
   * that its owner may not write to can be neither moved nor emptied.
   */
  chmodDirectory(name: EntryName, mode: number): void {
    using handle = disposableDescriptor(this.open(name, O_PATH | constants.O_DIRECTORY))
    chmodSync(`/proc/self/fd/${handle.fd}`, mode)
  }

  /** Reads the entries in the kernel's order, bytes as names. */
  readEntries(): DirectoryStream {
    return opendirSync(this.path, { encoding: "buffer" as BufferEncoding, bufferSize: 256 }) as unknown as DirectoryStream
  }

  [Symbol.dispose](): void {
    closeSync(this.fd)
  }
}

export function assertSingleName(name: EntryName): void {
  const text = typeof name === "string" ? name : name.toString("latin1")
  if (text === "" || text === "." || text === ".." || text.includes("/") || text.includes("\0")) {
    throw new TypeError(`A single file name is required; got ${JSON.stringify(text)}`)
  }
}

/** Closes a descriptor at the end of a `using` scope. */
export function disposableDescriptor(fd: number): Disposable & { readonly fd: number } {
  return { fd, [Symbol.dispose]: () => closeDescriptor(fd) }
}

/** A file with more blocks, of 512 bytes, is closed by the thread pool. */
const quicklyFreedBlocks = 2_048

/** The last descriptor of a deleted file frees its blocks, which may take long. */
export function closeDescriptor(fd: number): void {
  if (fstatSync(fd).blocks <= quicklyFreedBlocks) closeSync(fd)
  else close(fd, () => {})
}
