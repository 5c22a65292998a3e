import { spawn } from "node:child_process"
import { mkdir, readdir, rmdir, stat, unlink, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { Directory, namesOf } from "#kit"
import { EngineError, type Mount } from "../engine.ts"

/** What the daemon is told to bind. */
export interface PinnedMount {
  /** On the host, below the staging folder. */
  path: string
  target: string
  readOnly: boolean
  /** What must be found at `target` once the program runs; undefined for a generated file, and without isolation. */
  identity?: Identity
}

const keyForm = /^[0-9a-f]{32}$/

export interface Identity {
  dev: bigint
  ino: bigint
}

export interface PinOptions {
  key: string
  mounts: readonly Mount[]
  /** Small files of Quayside's own, by the absolute path at which the container sees them. */
  files: Readonly<Record<string, string>>
  uid: number
  gid: number
}

/**
 * Mount sources that nobody can swap.
 *
 * Containers may rename and replace whatever lies below what they can write, at any moment, and the daemon takes paths only. So each
 * source is opened component by component without following a link, and what the descriptor holds is bound to a path below the staging
 * folder, into which only root can look. The daemon binds that path. A pin is needed while a start is under way and no longer: the
 * container then has mounts of its own.
 */
export class Pins {
  readonly #filesRoot: string
  readonly #stagingDir: string
  readonly #isolation: "on" | "off"

  constructor(options: { filesRoot: string; stagingDir: string; isolation?: "on" | "off" }) {
    this.#filesRoot = options.filesRoot
    this.#isolation = options.isolation ?? "on"
    this.#stagingDir = options.stagingDir
  }

  /** Makes the staging folder, unless a parent of it is somebody else's to change. */
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

  /** Pins all of a start's sources, or none. Whatever an earlier start of the key left is released first. */
  async pin(options: PinOptions, signal: AbortSignal): Promise<PinnedMount[]> {
    const folder = this.#folderOf(options.key)
    await this.release(options.key)
    await mkdir(folder, { mode: 0o700 })
    try {
      const files = await writeFiles(folder, options.files)
      return [...(await this.#bindAll(folder, options, signal)), ...files]
    } catch (error) {
      await this.release(options.key)
      throw error
    }
  }

  async #bindAll(folder: string, options: PinOptions, signal: AbortSignal): Promise<PinnedMount[]> {
    if (options.mounts.length === 0) return []
    await using opened = await openSources(this.#filesRoot, options)
    if (this.#isolation === "off") return options.mounts.map((mount) => this.#unpinned(mount))
    const pinned = await Promise.all(
      options.mounts.map(async ({ target, readOnly }, n) => {
        const path = join(folder, String(n))
        await mkdir(path, { mode: 0o700 })
        return { path, target, readOnly, identity: await identityOf(opened.directories[n] as Directory) }
      }),
    )
    signal.throwIfAborted()
    await bind(pinned, opened.directories)
    await Promise.all(pinned.map(compare))
    return pinned
  }

  #unpinned({ source, target, readOnly }: Mount): PinnedMount {
    return { path: join(this.#filesRoot, ...namesOf(source)), target, readOnly }
  }

  /** Undoes `pin`, also half of one, also of an earlier process. */
  async release(key: string): Promise<void> {
    const folder = this.#folderOf(key)
    const names = await readdir(folder).catch(ifMissing)
    if (names === undefined) return
    const binds = names.filter((name) => /^\d+$/.test(name)).map((name) => join(folder, name))
    await unmount(binds)
    for (const path of binds) await rmdir(path)
    for (const name of names) if (!/^\d+$/.test(name)) await unlink(join(folder, name))
    await rmdir(folder)
  }

  /** The keys of which something is left. */
  async keys(): Promise<string[]> {
    const names = await readdir(this.#stagingDir).catch(ifMissing)
    return names?.filter((name) => keyForm.test(name)) ?? []
  }

  #folderOf(key: string): string {
    if (!keyForm.test(key)) throw new TypeError(`A key of 32 hexadecimal digits is wanted, got ${JSON.stringify(key)}`)
    return join(this.#stagingDir, key)
  }
}

async function openSources(filesRoot: string, { mounts, uid, gid }: PinOptions): Promise<AsyncDisposable & { directories: Directory[] }> {
  await using root = await Directory.open(filesRoot)
  const directories: Directory[] = []
  const close = async () => {
    await Promise.all(directories.map((directory) => directory.close()))
  }
  try {
    for (const mount of mounts) directories.push(await openSource(root, mount))
    await makeMountPoints(mounts, directories, { uid, gid })
    return { directories, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openSource(root: Directory, { source }: Mount): Promise<Directory> {
  try {
    return await root.descend(namesOf(source))
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === "ENOENT"
    const what = missing ? "does not exist" : "is not a directory"
    throw new EngineError("mount_missing", `${source}, which should be mounted, ${what}`, { cause: error })
  }
}

/** Where one mount lies in another, its mount point is made here, as the runs' user and without following a link, before the daemon would make it as root. */
async function makeMountPoints(
  mounts: readonly Mount[],
  directories: readonly Directory[],
  owner: { uid: number; gid: number },
): Promise<void> {
  for (const { target } of mounts) {
    const around = innermostAround(target, mounts)
    if (!around) continue
    const names = namesOf(target.slice(around.target.length))
    const parent = directories[mounts.indexOf(around)] as Directory
    const made = around.readOnly ? parent.descend(names) : parent.ensure(names, owner)
    const point = await made.catch((error: unknown) => {
      const why = around.readOnly ? "is mounted read-only and has no such directory" : "has something else there"
      throw new EngineError("mount_missing", `Nothing can be mounted at ${target}: ${around.target} ${why}`, { cause: error })
    })
    await point.close()
  }
}

function innermostAround(target: string, mounts: readonly Mount[]): Mount | undefined {
  return mounts.filter((mount) => target.startsWith(`${mount.target}/`)).sort((a, b) => b.target.length - a.target.length)[0]
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

async function identityOf(directory: Directory): Promise<Identity> {
  const { dev, ino } = await directory.stat()
  return { dev, ino }
}

async function compare({ path, target, identity }: PinnedMount): Promise<void> {
  const { dev, ino } = await stat(path, { bigint: true })
  if (dev === identity?.dev && ino === identity.ino) return
  throw new EngineError("mount_missing", `The directory for ${target} was replaced while it was being mounted`)
}

/** One shell for all: a process per mount costs Node more than the mounting. Descriptors come in as 3, 4, … */
const bindScript = `fd=3
while [ $# -gt 0 ]; do
  mount --no-canonicalize --no-mtab --bind --make-private -o "$1" /proc/self/fd/$fd "$2" || exit 1
  fd=$((fd + 1)); shift 2
done`

async function bind(pinned: readonly PinnedMount[], directories: readonly Directory[]): Promise<void> {
  const words = pinned.flatMap(({ path, readOnly }) => [readOnly ? "nosuid,nodev,ro" : "nosuid,nodev", path])
  const said = await command(
    ["/bin/sh", "-c", bindScript, "pin", ...words],
    directories.map((directory) => directory.handle.fd),
  )
  if (said !== undefined) throw new EngineError("engine_error", "A directory could not be pinned for mounting", { detail: said })
}

/** Whether it worked is told by `rmdir`, which fails on what is still mounted: in half a pin some are not mounted in the first place. */
async function unmount(paths: readonly string[]): Promise<void> {
  if (paths.length > 0) await command(["umount", "--no-canonicalize", "--no-mtab", "--lazy", ...paths], [])
}

/** Runs a program to its end; answers what it said where it failed. */
function command([file = "", ...words]: string[], descriptors: readonly number[]): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(file, words, {
      stdio: ["ignore", "ignore", "pipe", ...descriptors],
      env: { PATH: "/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C" },
    })
    let said = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      said += text
    })
    child.on("error", reject)
    child.on("close", (code) => resolve(code === 0 ? undefined : said || `${file} ended with ${code}`))
  })
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === "ENOENT") return undefined
  throw error
}
