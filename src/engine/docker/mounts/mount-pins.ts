import { mkdir, readdir, rmdir, stat, unlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { reasonMessages } from "#contract"
import { Directory, type Logger, silentLogger, splitPath } from "#kit"
import { openMountSources } from "../../containers/mount-sources.ts"
import { EngineError, IsolationError, type Mount } from "../../engine.ts"
import type { Shell } from "../host/shell.ts"
import { bindMounts, unmount } from "./mount-table.ts"

/** A bind mount for the daemon. */
export interface PinnedMount {
  /** The source on the host, below the staging folder. */
  path: string
  target: string
  readOnly: boolean
  /**
   * The directory that must be mounted at `target` once the program runs; undefined for a generated
   * file, and without isolation.
   */
  identity?: InodeIdentity
}

const keyForm = /^[0-9a-f]{32}$/

export interface InodeIdentity {
  dev: bigint
  ino: bigint
}

export interface PinOptions {
  key: string
  mounts: readonly Mount[]
  /** Quayside's own small files, by their absolute paths in the container. */
  files: Readonly<Record<string, string>>
  /** Other directories that the container runtime makes in the container when they are missing. */
  directories?: readonly string[]
  uid: number
  gid: number
}

/**
 * Mount sources that nobody can swap.
 *
 * Containers may rename and replace anything below what they can write, at any moment, and the
 * daemon accepts only paths. So each source is opened component by component without following
 * links. The opened directory is bind-mounted to a path below the staging folder, which only root
 * can read, and the daemon mounts that path. A pin is needed during a start only: afterwards the
 * container has its own mounts.
 */
export class MountPins {
  readonly #filesRoot: string
  readonly #stagingDir: string
  readonly #isolation: "on" | "off"
  readonly #shell: Shell
  readonly #log: Logger
  #checks = 0

  constructor(options: { filesRoot: string; stagingDir: string; isolation?: "on" | "off"; logger?: Logger }, shell: Shell) {
    this.#log = options.logger ?? silentLogger
    this.#shell = shell
    this.#filesRoot = options.filesRoot
    this.#isolation = options.isolation ?? "on"
    this.#stagingDir = options.stagingDir
  }

  /** Creates the staging folder, unless others may write to it. */
  async prepare(): Promise<void> {
    await mkdir(this.#stagingDir, { recursive: true, mode: 0o700 })
    const { mode, uid } = await stat(this.#stagingDir)
    if ((mode & 0o077) !== 0 || uid !== process.getuid?.()) {
      throw new EngineError(
        "engine_error",
        `The staging folder ${this.#stagingDir} must have mode 0700 and belong to the user Quayside runs as`,
      )
    }
  }

  /**
   * Pins a directory and releases it, beside the pins of starts: an observation, also by another
   * process, releases those. Rejects with one sentence if this process lacks the right. On a full
   * disk the check is left to the starts: a server that refuses to start there would prevent
   * anybody from freeing space.
   */
  async assertCanMount(): Promise<void> {
    if (this.#isolation === "off") return
    await this.#removeOldChecks()
    this.#checks += 1
    const folder = join(this.#stagingDir, `check-${process.pid}-${this.#checks}`)
    const path = join(folder, "0")
    try {
      await mkdir(path, { recursive: true, mode: 0o700 })
      await using directory = await Directory.open(folder)
      await bindMounts(this.#shell, [{ directory, path, readOnly: true }], join(folder, "mounts"))
    } catch (cause) {
      if (isFull(cause)) return void this.#log.warn({ err: cause }, "skipped the check that directories can be pinned: the disk is full")
      const detail = cause instanceof EngineError ? cause.detail : undefined
      throw new IsolationError("Isolation needs the right to mount (CAP_SYS_ADMIN)", { cause, ...(detail && { detail }) })
    } finally {
      await this.#releaseFolder(folder)
    }
  }

  /** Those of processes that died in the middle. */
  async #removeOldChecks(): Promise<void> {
    for (const name of (await readdir(this.#stagingDir).catch(ifMissing)) ?? []) {
      const pid = Number(/^check-(\d+)-\d+$/.exec(name)?.[1])
      if (Number.isInteger(pid) && !isRunning(pid)) await this.#releaseFolder(join(this.#stagingDir, name))
    }
  }

  /**
   * Pins all of a start's sources, or none. Releases any remains of an earlier start of the key
   * first.
   */
  async pin(options: PinOptions, signal: AbortSignal): Promise<PinnedMount[]> {
    const folder = this.#folderOf(options.key)
    await this.release(options.key)
    try {
      await mkdir(folder, { mode: 0o700 })
      const files = await writeFiles(folder, options.files)
      return [...(await this.#bindAll(folder, options, signal)), ...files]
    } catch (error) {
      await this.release(options.key)
      throw isFull(error) ? new EngineError("disk_full", reasonMessages.disk_full, { detail: String(error), cause: error }) : error
    }
  }

  async #bindAll(folder: string, options: PinOptions, signal: AbortSignal): Promise<PinnedMount[]> {
    if (options.mounts.length === 0) return []
    await using opened = await openMountSources(this.#filesRoot, options)
    if (this.#isolation === "off") return options.mounts.map((mount) => this.#unpinned(mount))
    const pinned = await Promise.all(
      options.mounts.map(async ({ target, readOnly }, n) => {
        const path = join(folder, String(n))
        await mkdir(path, { mode: 0o700 })
        return { path, target, readOnly, identity: await identityOf(opened.directories[n] as Directory) }
      }),
    )
    signal.throwIfAborted()
    const binds = pinned.map(({ path, readOnly }, n) => ({ directory: opened.directories[n] as Directory, path, readOnly }))
    await bindMounts(this.#shell, binds, join(folder, "mounts"))
    await Promise.all(pinned.map(assertSameDirectory))
    return pinned
  }

  #unpinned({ source, target, readOnly }: Mount): PinnedMount {
    return { path: join(this.#filesRoot, ...splitPath(source)), target, readOnly }
  }

  /**
   * Undoes `pin`, even if it was interrupted or belonged to an earlier process. `found` is called
   * before anything is removed.
   */
  async release(key: string, found?: () => void): Promise<void> {
    await this.#releaseFolder(this.#folderOf(key), found)
  }

  async #releaseFolder(folder: string, found?: () => void): Promise<void> {
    const names = await readdir(folder).catch(ifMissing)
    if (names === undefined) return
    found?.()
    const mounted = names.filter((name) => /^\d+$/.test(name)).map((name) => join(folder, name))
    await unmount(this.#shell, mounted)
    for (const path of mounted) await rmdir(path)
    for (const name of names) if (!/^\d+$/.test(name)) await unlink(join(folder, name))
    await rmdir(folder)
  }

  /** The keys that still have pins. */
  async pinnedKeys(): Promise<string[]> {
    const names = await readdir(this.#stagingDir).catch(ifMissing)
    return names?.filter((name) => keyForm.test(name)) ?? []
  }

  #folderOf(key: string): string {
    if (!keyForm.test(key)) throw new TypeError(`Expected a key of 32 hexadecimal digits, got ${JSON.stringify(key)}`)
    return join(this.#stagingDir, key)
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM"
  }
}

async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<PinnedMount[]> {
  return Promise.all(
    Object.entries(files).map(async ([target, text]) => {
      const path = join(folder, target.slice(dirname(target).length + 1))
      await writeFile(path, text, { mode: 0o644, flag: "wx" })
      return { path, target, readOnly: true }
    }),
  )
}

async function identityOf(directory: Directory): Promise<InodeIdentity> {
  const { dev, ino } = await directory.stat()
  return { dev, ino }
}

async function assertSameDirectory({ path, target, identity }: PinnedMount): Promise<void> {
  const { dev, ino } = await stat(path, { bigint: true })
  if (dev === identity?.dev && ino === identity.ino) return
  throw new EngineError("mount_missing", `The directory for ${target} was replaced while it was being mounted`)
}

function isFull(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === "ENOSPC" || code === "EDQUOT"
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined
  throw error
}
