import type { BigIntStats } from "node:fs"
import { lstat } from "node:fs/promises"
import type { Directory } from "#kit"
import { mountTurns } from "../../containers/mount-sources.ts"
import { EngineError, type Mount } from "../../engine.ts"
import { type Enter, visitDirectories } from "./directory-walk.ts"
import { keyOf, PathSet } from "./path-set.ts"

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
  /** The sources of starts whose locks have not ended. */
  readonly #held = new PathSet()
  /**
   * By key: settles when the last start or end that changes the directory has done so. A path is
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
  async lock(mounts: readonly Mount[], user: string): Promise<void> {
    const wanted = new Map(mounts.map((mount) => [keyOf(mount.source), mount]))
    for (const key of wanted.keys()) this.#held.add(key)
    using _turn = await mountTurns.acquire(user)
    await this.#lockAll(wanted)
  }

  async #lockAll(wanted: ReadonlyMap<string, Mount>): Promise<void> {
    const enter: Enter = ({ parent, name, key, source }) =>
      this.#alone(key, () => this.#lockChild(parent, name)).catch((cause: unknown) => {
        throw lockError(wanted.get(source) as Mount, cause)
      })
    await visitDirectories(this.#options.filesRoot, wanted.keys(), { enter })
  }

  /** Runs the work when all earlier work on the directory has ended. */
  async #alone<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.#changes.get(key) ?? Promise.resolve()).then(work)
    const settled = result.then(ignore, ignore)
    this.#changes.set(key, settled)
    await settled
    if (this.#changes.get(key) === settled) this.#changes.delete(key)
    return result
  }

  /** The parent is locked already, so a name that means the locked directory keeps meaning it. */
  async #lockChild(parent: Directory, name: string): Promise<Directory> {
    const child = await parent.directory(name)
    try {
      const before = await child.stat()
      await this.#takeOwnership(child, before)
      const { dev, ino } = await lstat(parent.pathOf(name), { bigint: true })
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
  async unlock(sources: readonly string[], user: string, needed: () => readonly string[]): Promise<void> {
    this.forget(sources)
    using _turn = await mountTurns.acquire(user)
    await this.#unlockAll(sources, needed)
  }

  /** While a directory is locked, the names in it keep their meaning: it is given back last. */
  async #unlockAll(sources: readonly string[], needed: () => readonly string[]): Promise<void> {
    let kept = new PathSet(needed().map(keyOf))
    let asOf = this.#ended
    const isFree = (key: string) => {
      // A start that ended meanwhile may have left a pod that was not there before.
      if (asOf !== this.#ended) [kept, asOf] = [new PathSet(needed().map(keyOf)), this.#ended]
      return !kept.leadsToSome(key) && !this.#held.leadsToSome(key)
    }
    await visitDirectories(this.#options.filesRoot, sources.map(keyOf), {
      enter: ({ parent, name }) => parent.directory(name).catch(() => undefined),
      leave: (directory, key) =>
        this.#alone(key, async () => {
          if (isFree(key)) await this.#returnOwnership(directory).catch(() => {})
        }),
    })
  }

  /** Ends a lock and leaves the directories as they are. */
  forget(sources: readonly string[]): void {
    this.#ended += 1
    for (const key of new Set(sources.map(keyOf))) this.#held.delete(key)
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

function ignore(): void {}

function ownUid(): number {
  return process.getuid?.() ?? 0
}
