import { type BigIntStats, constants } from "node:fs"
import { type FileHandle, mkdir, open } from "node:fs/promises"

/**
 * Directories held by descriptor.
 *
 * Others may rename or replace anything below a shared tree at any moment, so a path is good for
 * nothing there: it is checked as one thing and used as another. A `Directory` is an open
 * descriptor; its children are reached one name at a time through `/proc/self/fd/N/name`, never
 * following a link. Linux only.
 */
export class Directory implements AsyncDisposable {
  readonly handle: FileHandle

  private constructor(handle: FileHandle) {
    this.handle = handle
  }

  /**
   * Opens a directory by a path that only trusted people can change, such as the files root itself.
   */
  static async open(trustedPath: string): Promise<Directory> {
    return new Directory(await open(trustedPath, constants.O_RDONLY | constants.O_DIRECTORY))
  }

  /**
   * The path by which the kernel reaches this descriptor, or one name in it. Throws on anything
   * that is not a single name.
   */
  at(name?: string): string {
    if (name === undefined) return `/proc/self/fd/${this.handle.fd}`
    return `/proc/self/fd/${this.handle.fd}/${singleName(name)}`
  }

  /** Opens a child directory; `ENOENT`, `ENOTDIR` and `ELOOP` (a link) are thrown as they come. */
  async directory(name: string): Promise<Directory> {
    return new Directory(await open(this.at(name), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW))
  }

  /**
   * Opens a child without following a link and without waiting on a FIFO. The caller checks what
   * kind it is and closes it.
   */
  file(name: string, flags: number, mode?: number): Promise<FileHandle> {
    return open(this.at(name), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode)
  }

  /** Walks down by single names. An empty list opens this directory a second time. */
  async descend(names: readonly string[]): Promise<Directory> {
    let here = await Directory.open(this.at())
    for (const name of names) {
      try {
        const next = await here.directory(name)
        await here.close()
        here = next
      } catch (error) {
        await here.close()
        throw error
      }
    }
    return here
  }

  /**
   * As `descend`, and makes what is missing with this mode (default 0o755) and owner (default: the
   * process's).
   */
  async ensure(names: readonly string[], options: { mode?: number; uid?: number; gid?: number } = {}): Promise<Directory> {
    const { mode = 0o755, uid, gid = uid } = options
    let here = await Directory.open(this.at())
    for (const name of names) {
      try {
        const made = await mkdir(here.at(name), { mode }).then(() => true, ignoreExisting)
        const next = await here.directory(name)
        await here.close()
        here = next
        if (made && uid !== undefined) await here.handle.chown(uid, gid ?? uid)
      } catch (error) {
        await here.close()
        throw error
      }
    }
    return here
  }

  stat(): Promise<BigIntStats> {
    return this.handle.stat({ bigint: true })
  }

  async close(): Promise<void> {
    await this.handle.close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): false {
  if (error.code === "EEXIST") return false
  throw error
}

function singleName(name: string): string {
  if (name === "" || name === "." || name === ".." || name.includes("/") || name.includes("\0")) {
    throw new TypeError(`A single file name is wanted, got ${JSON.stringify(name)}`)
  }
  return name
}

/**
 * Splits an absolute path below a root (`/users/ann/x`) into single names. Throws on `.`, `..`, NUL
 * and what is not absolute.
 */
export function splitPath(path: string): string[] {
  if (!path.startsWith("/")) throw new TypeError(`A path that starts with / is wanted, got ${JSON.stringify(path)}`)
  return path
    .split("/")
    .filter((name) => name !== "")
    .map(singleName)
}
