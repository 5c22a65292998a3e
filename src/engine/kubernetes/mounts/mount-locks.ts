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
 * below what they can write. So before a pod may start, every directory on the way to its sources
 * is given to Quayside's own user, with the sticky bit: runs can still add and remove files there,
 * but the names on the way belong to somebody else, and the kernel lets no run rename or remove
 * them. Once the container runs, its mounts no longer depend on any name, and the directories are
 * given back.
 */
export class MountLocks {
  readonly #options: MountLockOptions

  constructor(options: MountLockOptions) {
    this.#options = options
  }

  /**
   * Locks the way to every source. Rejects with `mount_missing` if a source does not exist or if a
   * link is on the way.
   */
  async lock(mounts: readonly Mount[]): Promise<void> {
    await using root = await Directory.open(this.#options.filesRoot)
    for (const mount of mounts) await this.#lockOne(root, mount)
  }

  async #lockOne(root: Directory, { source, target }: Mount): Promise<void> {
    let here = await root.descend([])
    try {
      for (const name of splitPath(source)) {
        const next = await this.#lockChild(here, name)
        await here.close()
        here = next
      }
    } catch (cause) {
      if (cause instanceof EngineError) throw cause
      const { code } = cause as NodeJS.ErrnoException
      if (code === "EPERM" || code === "EROFS")
        throw new EngineError("engine_error", "The volume does not let Quayside change the owners of directories", {
          detail: String(cause),
          cause,
        })
      const fault = code === "ENOENT" ? "does not exist" : "is not a directory"
      throw new EngineError("mount_missing", `The directory ${source}, to be mounted at ${target}, ${fault}`, { cause })
    } finally {
      await here.close()
    }
  }

  /** The parent is locked already, so a name that means the locked directory keeps meaning it. */
  async #lockChild(parent: Directory, name: string): Promise<Directory> {
    const child = await parent.directory(name)
    try {
      const before = await child.stat()
      await this.#take(child, before)
      await using again = await parent.directory(name)
      const { dev, ino } = await again.stat()
      if (dev !== before.dev || ino !== before.ino) throw new Error("replaced")
      return child
    } catch (error) {
      await child.close()
      throw error
    }
  }

  /** The runs' group gets the rights that its owner had, and the owner becomes Quayside's user. */
  async #take({ handle }: Directory, stats: BigIntStats): Promise<void> {
    const { uid, gid } = this.#options
    const mode = Number(stats.mode) & 0o7777
    if (Number(stats.uid) === uid) {
      await handle.chown(ownUid(), gid)
      await handle.chmod(sticky | (mode & 0o7707) | ((mode & 0o700) >> 3))
    } else if ((mode & writableByOthers) !== 0 && (mode & sticky) === 0) await handle.chmod(mode | sticky)
  }

  /**
   * Gives directories back to the runs' user, except those on the way to sources in `needed`. Their
   * modes are those from before, but the group has the rights of all others.
   */
  async unlock(sources: readonly string[], needed: readonly string[]): Promise<void> {
    const kept = new Set(needed.flatMap(ways))
    await using root = await Directory.open(this.#options.filesRoot)
    for (const path of new Set(sources.flatMap(ways))) {
      if (!kept.has(path)) await this.#unlockOne(root, splitPath(path)).catch(() => {})
    }
  }

  async #unlockOne(root: Directory, names: readonly string[]): Promise<void> {
    await using directory = await root.descend(names)
    const { uid, gid } = this.#options
    const stats = await directory.stat()
    const mode = Number(stats.mode) & 0o7777
    if (Number(stats.uid) !== ownUid() || Number(stats.gid) !== gid || (mode & sticky) === 0) return
    await directory.handle.chmod((mode & 0o6707) | ((mode & 0o007) << 3))
    await directory.handle.chown(uid, gid)
  }
}

function ownUid(): number {
  return process.getuid?.() ?? 0
}

/** Every path on the way to a source, the source included. */
function ways(source: string): string[] {
  const names = splitPath(source)
  return names.map((_, n) => `/${names.slice(0, n + 1).join("/")}`)
}
