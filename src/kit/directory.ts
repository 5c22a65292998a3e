import { type BigIntStats, constants } from "node:fs"
import { type FileHandle, mkdir, open } from "node:fs/promises"

/**
 * An open directory.
 *
 * Other processes may rename or replace entries of a shared tree at any moment, so a path may mean
 * one file when it is checked and another when it is used. A `Directory` is an open descriptor. It
 * reaches its children one name at a time through `/proc/self/fd/N/name` and never follows a link.
 * Linux only.
 */
export class Directory implements AsyncDisposable {
  readonly handle: FileHandle

  private constructor(handle: FileHandle) {
    this.handle = handle
  }

  /**
   * Opens a directory by a path that only trusted users can change, such as the files root itself.
   */
  static async open(trustedPath: string): Promise<Directory> {
    return new Directory(await open(trustedPath, constants.O_RDONLY | constants.O_DIRECTORY))
  }

  /**
   * The path of this descriptor, or of one name in it, for system calls. Throws if `name` is not a
   * single name.
   */
  pathOf(name?: string): string {
    if (name === undefined) return `/proc/self/fd/${this.handle.fd}`
    return `/proc/self/fd/${this.handle.fd}/${singleName(name)}`
  }

  /** Opens a child directory. Throws the system's `ENOENT`, `ENOTDIR` or `ELOOP` (a link). */
  async directory(name: string): Promise<Directory> {
    return new Directory(await open(this.pathOf(name), constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW))
  }

  /**
   * Opens a child without following a link and without blocking on a FIFO. The caller checks its
   * file type and closes it.
   */
  file(name: string, flags: number, mode?: number): Promise<FileHandle> {
    return open(this.pathOf(name), flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode)
  }

  /** Opens a descendant by single names. An empty list opens this directory a second time. */
  async descend([first, ...names]: readonly string[]): Promise<Directory> {
    let here = await (first === undefined ? Directory.open(this.pathOf()) : this.directory(first))
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
   * Like `descend`, but creates missing directories with this mode (default 0o755) and owner
   * (default: that of the process).
   */
  async ensure(names: readonly string[], options: { mode?: number; uid?: number; gid?: number } = {}): Promise<Directory> {
    const { mode = 0o755, uid, gid = uid } = options
    let here = await Directory.open(this.pathOf())
    for (const name of names) {
      try {
        const made = await mkdir(here.pathOf(name), { mode }).then(() => true, ignoreExisting)
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
    throw new TypeError(`The name must be a single file name; got ${JSON.stringify(name)}`)
  }
  return name
}

/**
 * Splits an absolute path below a root (`/users/ann/x`) into single names. Throws on a relative
 * path and on `.`, `..` and NUL.
 */
export function splitPath(path: string): string[] {
  if (!path.startsWith("/")) throw new TypeError(`The path must start with /; got ${JSON.stringify(path)}`)
  return path
    .split("/")
    .filter((name) => name !== "")
    .map(singleName)
}
