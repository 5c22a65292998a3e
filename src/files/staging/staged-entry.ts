import { constants, fdatasync, open, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs"
import { promisify } from "node:util"
import { type Folder, fileFlags, type Name } from "../tree/directory-handle.ts"
import { attempt, closeQuietly, removeTree } from "../tree/remove-tree.ts"

const sync = promisify(fdatasync)
const opened = promisify(open)

interface Spot {
  folder: Folder
  name: string
}

/**
 * A name in the hidden place, at first with nothing there. Disposing it removes what is still
 * there.
 */
export class Stage implements AsyncDisposable {
  readonly parent: Folder
  readonly name: string
  readonly #marker: Spot | undefined
  #count = 0
  #left: readonly Name[] | undefined

  constructor(parent: Folder, name: string, marker?: Spot) {
    this.parent = parent
    this.name = name
    this.#marker = marker
  }

  /**
   * On a file system of its own the target's directory holds it, and a link in the worker's folder
   * tells the sweep where.
   */
  static beside(parent: Folder, name: string, marker: Spot): Stage {
    symlinkSync(readlinkSync(parent.self), marker.folder.at(marker.name))
    return new Stage(parent, name, marker)
  }

  /** Gives up the name, and not what is there. */
  abandon(): void {
    this.parent[Symbol.dispose]()
    if (!this.#marker) return
    const { folder, name } = this.#marker
    attempt(() => unlinkSync(folder.at(name)))
    folder[Symbol.dispose]()
  }

  /**
   * Removes what is there. Answers false when something is left because a program that is in it
   * keeps changing it; to be called again then.
   */
  async clear(): Promise<boolean> {
    this.#left = await removeTree(this.parent, this.#left ?? this.name, () => {
      this.#count += 1
      return `${this.name}-${this.#count}`
    })
    return this.#left.length === 0
  }

  async remove(): Promise<void> {
    await this.clear().finally(() => this.abandon())
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.remove()
  }
}

/** A file under way. Unless it was placed, disposing it leaves nothing. */
export class Draft implements Disposable {
  readonly fd: number
  readonly #stage: Stage
  #placed = false

  private constructor(stage: Stage, fd: number) {
    this.#stage = stage
    this.fd = fd
  }

  /**
   * In the thread pool: a new file waits for the file system's journal while others are flushed.
   */
  static async open(stage: Stage): Promise<Draft> {
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | fileFlags
      return new Draft(stage, await opened(stage.parent.at(stage.name), flags, 0o644))
    } catch (error) {
      stage.abandon()
      throw error
    }
  }

  /** Makes what was written survive a power cut. */
  flush(): Promise<void> {
    return sync(this.fd)
  }

  /** Gives it its place; a file that was there under this name is replaced. */
  place(parent: Folder, name: string): void {
    renameSync(this.#stage.parent.at(this.#stage.name), parent.at(name))
    this.#placed = true
  }

  [Symbol.dispose](): void {
    closeQuietly(this.fd)
    if (!this.#placed) attempt(() => unlinkSync(this.#stage.parent.at(this.#stage.name)))
    this.#stage.abandon()
  }
}
