import { closeSync, constants, fstatSync, lstatSync, mkdirSync, opendirSync, openSync, type Stats } from "node:fs"

/** A single name in a directory. Bytes where it may not be UTF-8. */
export type Name = string | Buffer

/** An open directory stream. */
export interface Entries {
  /** The kind is what it was when the entry was read. */
  readSync(): { name: Buffer; isDirectory(): boolean } | null
  closeSync(): void
}

const directoryFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Links are not followed, and nothing is waited for. */
export const fileFlags = constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * A directory held by a plain descriptor, worked on synchronously.
 *
 * The kit's `Directory` does the same through the thread pool; a name costs it ten times as much,
 * and this server resolves several for every request. Links are never followed and nothing is
 * waited for: `O_NONBLOCK` makes a FIFO open at once and a leased file fail with `EAGAIN`.
 */
export class Folder implements Disposable {
  readonly fd: number

  private constructor(fd: number) {
    this.fd = fd
  }

  /** Opens a directory by a path that only trusted people can change. */
  static open(trustedPath: string): Folder {
    return new Folder(openSync(trustedPath, constants.O_RDONLY | constants.O_DIRECTORY))
  }

  /** Takes over a descriptor that is a directory. */
  static adopt(fd: number): Folder {
    if (!fstatSync(fd).isDirectory()) throw new TypeError(`Descriptor ${fd} is not a directory`)
    return new Folder(fd)
  }

  /** The path by which the kernel reaches this directory, or one name in it. */
  at(name: string): string
  at(name: Name): Name
  at(name: Name): Name {
    assertSingle(name)
    if (typeof name === "string") return `/proc/self/fd/${this.fd}/${name}`
    return Buffer.concat([Buffer.from(`/proc/self/fd/${this.fd}/`), name])
  }

  get self(): string {
    return `/proc/self/fd/${this.fd}`
  }

  folder(name: Name): Folder {
    return new Folder(openSync(this.at(name), directoryFlags))
  }

  /**
   * Opens a child, whatever it is, and answers the descriptor. The caller checks the kind and
   * closes it.
   */
  open(name: Name, flags: number, mode?: number): number {
    return openSync(this.at(name), flags | fileFlags, mode)
  }

  /** A second descriptor of the same directory. */
  again(): Folder {
    return new Folder(openSync(this.self, constants.O_RDONLY | constants.O_DIRECTORY))
  }

  /** Walks down by single names. An empty list opens this directory a second time. */
  descend(names: readonly Name[]): Folder {
    const [first, ...others] = names
    let here = first === undefined ? this.again() : this.folder(first)
    for (const name of others) {
      using above = here
      here = above.folder(name)
    }
    return here
  }

  /** What the name is now, the link itself where it is one; undefined when there is nothing. */
  look(name: Name): Stats | undefined {
    return lstatSync(this.at(name), { throwIfNoEntry: false })
  }

  stat(): Stats {
    return fstatSync(this.fd)
  }

  make(name: Name, mode = 0o755): void {
    mkdirSync(this.at(name), { mode })
  }

  /** Reads the entries in the kernel's order, bytes as names. */
  entries(): Entries {
    return opendirSync(this.self, { encoding: "buffer" as BufferEncoding, bufferSize: 256 }) as unknown as Entries
  }

  [Symbol.dispose](): void {
    closeSync(this.fd)
  }
}

function assertSingle(name: Name): void {
  const text = typeof name === "string" ? name : name.toString("latin1")
  if (text === "" || text === "." || text === ".." || text.includes("/") || text.includes("\0")) {
    throw new TypeError(`A single file name is wanted, got ${JSON.stringify(text)}`)
  }
}

/** Closes a descriptor at the end of a `using` scope. */
export function closing(fd: number): Disposable & { readonly fd: number } {
  return { fd, [Symbol.dispose]: () => closeSync(fd) }
}
