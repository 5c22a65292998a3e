import type { BigIntStats } from "node:fs"
import { Directory, splitPath } from "#kit"
import { EngineError, type Mount } from "../../engine.ts"

/** Only a name's owner may rename or remove it, whoever may write to the directory. */
const sticky = 0o1000
const writableByOthers = 0o022

export interface MountLockOptions {
  filesRoot: string
  /** The user of runs, whose directories are locked. */
  uid: number
  gid: number
}

/**
 * Keeps the paths of mounts from being changed while the kubelet resolves them.
 *
 * The kubelet follows links that stay inside the volume, and runs may rename and replace anything
 * below what they can write. So before a pod may start, every directory on the path to a source is
 * given to Quayside's own user, with the sticky bit: runs can still add and remove files there, but
 * the kernel lets no run rename or remove a directory that belongs to somebody else. Once the
 * container runs, its mounts no longer depend on any name, and the directories are given back.
 * Meanwhile runs have the rights that they had.
 */
export class MountLocks {
  readonly #options: MountLockOptions
  /** How many locks of this process hold each path. */
  readonly #holds = new Map<string, number>()
  /**
   * By path: settles when the last start or end that changes the directory has done so. A path is
   * not given back while another start locks it, and long paths of one start delay no other one.
   */
  readonly #changes = new Map<string, Promise<void>>()
  /** The number of locks that have ended. */
  #ended = 0

  constructor(options: MountLockOptions) {
    this.#options = options
  }

  /**
   * Locks the path to every source, until `unlock` or `forget` is called with them. Rejects with
   * `mount_missing` if a source does not exist, or if its path contains a link.
   */
  async lock(mounts: readonly Mount[]): Promise<void> {
    for (const path of pathsTo(mounts.map(({ source }) => source))) this.#holds.set(path, (this.#holds.get(path) ?? 0) + 1)
    await using root = await Directory.open(this.#options.filesRoot)
    await this.#lockBelow(root, branchesOf(mounts.map((mount) => ({ path: mount.source, mount }))))
  }

  /** Runs the work when all earlier work on the path has ended. */
  async #alone<T>(path: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#changes.get(path) ?? Promise.resolve()).then(work)
    const settled = result.then(ignore, ignore)
    this.#changes.set(path, settled)
    await settled
    if (this.#changes.get(path) === settled) this.#changes.delete(path)
    return result
  }

  /** Each directory once, although most lead to several sources. */
  async #lockBelow(parent: Directory, branches: Branches<{ mount: Mount }>): Promise<void> {
    for (const [name, below] of branches) {
      await using child = await this.#alone(below.path, () => this.#lockChild(parent, name)).catch((cause: unknown) => {
        throw lockError(below.source.mount, cause)
      })
      await this.#lockBelow(child, below.branches)
    }
  }

  /** The parent is locked already, so a name that means the locked directory keeps meaning it. */
  async #lockChild(parent: Directory, name: string): Promise<Directory> {
    const child = await parent.directory(name)
    try {
      const before = await child.stat()
      await this.#takeOwnership(child, before)
      await using again = await parent.directory(name)
      const { dev, ino } = await again.stat()
      if (dev !== before.dev || ino !== before.ino) throw new Error("replaced")
      return child
    } catch (error) {
      await child.close()
      throw error
    }
  }

  /**
   * The runs' group gets the rights that its owner had, and the owner becomes Quayside's user. The
   * mode is set before, for those who use the directory, and after, as until then its owner can
   * change it.
   */
  async #takeOwnership({ handle }: Directory, stats: BigIntStats): Promise<void> {
    const { uid, gid } = this.#options
    const mode = Number(stats.mode) & 0o7777
    if (Number(stats.uid) === uid) {
      const locked = sticky | (mode & 0o7707) | ((mode & 0o700) >> 3)
      if (Number(stats.gid) !== gid) await handle.chown(uid, gid)
      await handle.chmod(locked)
      await handle.chown(ownUid(), gid)
      await handle.chmod(locked)
    } else if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0) await handle.chmod(mode | sticky)
  }

  /**
   * Gives directories back to the runs' user, except those on the paths to sources that `needed`
   * returns, or that other starts hold. It is called again when other starts end meanwhile. Their
   * modes are those from before, but the group has the rights of all others.
   */
  async unlock(sources: readonly string[], needed: () => readonly string[]): Promise<void> {
    this.forget(sources)
    let kept = pathsTo(needed())
    let asOf = this.#ended
    const isFree = (path: string) => {
      // A start that ended meanwhile may have left a pod that was not there before.
      if (asOf !== this.#ended) [kept, asOf] = [pathsTo(needed()), this.#ended]
      return !kept.has(path) && !this.#holds.has(path)
    }
    await using root = await Directory.open(this.#options.filesRoot)
    await this.#unlockBelow(root, branchesOf(sources.map((path) => ({ path }))), isFree)
  }

  /** While a directory is locked, the names in it keep their meaning: it is given back last. */
  async #unlockBelow(parent: Directory, branches: Branches<object>, isFree: (path: string) => boolean): Promise<void> {
    for (const [name, below] of branches) {
      const child = await parent.directory(name).catch(() => undefined)
      if (!child) continue
      await this.#unlockBelow(child, below.branches, isFree)
      await this.#alone(below.path, async () => {
        if (isFree(below.path)) await this.#returnOwnership(child).catch(() => {})
      })
      await child.close()
    }
  }

  /** Ends a lock and leaves the directories as they are. */
  forget(sources: readonly string[]): void {
    this.#ended += 1
    for (const path of pathsTo(sources)) {
      const left = (this.#holds.get(path) ?? 0) - 1
      if (left > 0) this.#holds.set(path, left)
      else this.#holds.delete(path)
    }
  }

  async #returnOwnership(directory: Directory): Promise<void> {
    const { uid, gid } = this.#options
    const stats = await directory.stat()
    const mode = Number(stats.mode) & 0o7777
    if (Number(stats.uid) !== ownUid() || Number(stats.gid) !== gid || (mode & sticky) === 0) return
    await directory.handle.chown(uid, gid)
    await directory.handle.chmod((mode & 0o6707) | ((mode & 0o007) << 3))
  }
}

function lockError({ source, target }: Mount, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException
  if (code === "EPERM" || code === "EROFS")
    return new EngineError("engine_error", "The volume does not let Quayside change the owners of directories", {
      detail: String(cause),
      cause,
    })
  const fault = code === "ENOENT" ? "does not exist" : "is not a directory"
  return new EngineError("mount_missing", `The directory ${source}, to be mounted at ${target}, ${fault}`, { cause })
}

/** Directories by their names. */
type Branches<Source> = Map<string, Branch<Source>>
interface Branch<Source> {
  path: string
  /** The first one to which the directory leads. */
  source: Source
  branches: Branches<Source>
}

function branchesOf<Source extends { path: string }>(sources: readonly Source[]): Branches<Source> {
  const root: Branches<Source> = new Map()
  for (const source of sources) {
    let here = { path: "", branches: root }
    for (const name of splitPath(source.path)) {
      const next = here.branches.get(name) ?? { path: `${here.path}/${name}`, source, branches: new Map() }
      here.branches.set(name, next)
      here = next
    }
  }
  return root
}

function ignore(): void {}

function ownUid(): number {
  return process.getuid?.() ?? 0
}

/** The directories on the paths to sources, and the sources themselves. */
function pathsTo(sources: readonly string[]): Set<string> {
  return new Set(
    sources.flatMap((source) => {
      const names = splitPath(source)
      return names.map((_, n) => `/${names.slice(0, n + 1).join("/")}`)
    }),
  )
}
