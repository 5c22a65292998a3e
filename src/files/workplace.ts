import { fchownSync, futimesSync, readlinkSync, renameSync } from "node:fs"
import { hiddenFolder, hiddenPrefix } from "./address.ts"
import type { Folder, Name } from "./descriptor.ts"
import type { Owner } from "./messages.ts"
import { isGone, processId } from "./process-id.ts"
import { refusalOf } from "./refusal.ts"
import { attempt, changeMode, removeTree } from "./remove.ts"
import { Draft, Stage } from "./stage.ts"

const heartbeatMs = 60_000
const abandonedMs = 600_000

/** The worker's own folder in the hidden place: what is not finished, or already deleted, is here and nowhere else. */
export class Workplace implements AsyncDisposable {
  readonly #all: Folder
  readonly #own: Folder
  readonly #id = processId()
  readonly #heartbeat: NodeJS.Timeout
  readonly #device: number
  readonly #report: (error: unknown) => void
  #count = 0
  #sweeping: Promise<void> = Promise.resolve()

  /** `owner`: whose the hidden place is, where this process is root and others that share it are not. */
  constructor(root: Folder, report: (error: unknown) => void, owner?: Owner) {
    this.#report = report
    using hidden = ensured(root, hiddenFolder, owner)
    this.#all = ensured(hidden, "work", owner)
    this.#own = ensured(this.#all, this.#id, owner)
    this.#device = root.stat().dev
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs)
    this.#heartbeat.unref()
  }

  /** A place for something that will later be moved to a name in `parent`, or was moved away from one. */
  stage(parent: Folder): Stage {
    const name = this.#fresh()
    if (parent.stat().dev === this.#device) return new Stage(this.#own.again(), name)
    const marker = { folder: this.#own.again(), name }
    return Stage.beside(parent.again(), `${hiddenPrefix}${this.#id}-${name}`, marker)
  }

  /** A new file that will become a name in `parent`. */
  draft(parent: Folder): Draft {
    return new Draft(this.stage(parent))
  }

  /** Makes an entry vanish before it returns; the promise resolves when its space is free, and never rejects. */
  discard(parent: Folder, name: Name): Promise<void> {
    const grave = this.stage(parent)
    try {
      bury(parent, name, grave)
    } catch (error) {
      grave.abandon()
      throw error
    }
    return grave.remove().catch(this.#report)
  }

  /** Removes what workers left that are gone. Calls follow one another. */
  sweep(root: Folder): Promise<void> {
    this.#sweeping = this.#sweeping.then(() => this.#sweepNow(root))
    return this.#sweeping
  }

  async #sweepNow(root: Folder): Promise<void> {
    for (const name of namesIn(this.#all)) {
      const age = Date.now() - (this.#all.look(name)?.mtimeMs ?? Date.now())
      if (name !== this.#id && (isGone(name) || age > abandonedMs)) await this.#remove(root, name).catch(this.#report)
    }
  }

  async #remove(root: Folder, name: string): Promise<void> {
    using left = this.#all.folder(name)
    for (const entry of namesIn(left)) if (left.look(entry)?.isSymbolicLink()) await removeBeside(root, left, entry)
    await removeTree(this.#all, name, () => `${name}-${this.#fresh()}`)
  }

  #beat(): void {
    const now = new Date()
    futimesSync(this.#own.fd, now, now)
  }

  #fresh(): string {
    this.#count += 1
    return this.#count.toString(36)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat)
    await this.#sweeping
    await removeTree(this.#all, this.#id, () => `${this.#id}-${this.#fresh()}`)
    this.#own[Symbol.dispose]()
    this.#all[Symbol.dispose]()
  }
}

/** A directory that is closed to its owner is opened first, and closed again when it cannot be moved all the same. */
function bury(parent: Folder, name: Name, grave: Stage): void {
  const move = () => renameSync(parent.at(name), grave.parent.at(grave.name))
  try {
    move()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error
    const mode = parent.look(name)?.mode ?? 0o755
    changeMode(parent, name, 0o700)
    try {
      move()
    } catch (again) {
      changeMode(parent, name, mode & 0o7777)
      throw again
    }
  }
}

/** The marker names the directory; what the dead worker left there has its id in its name. */
async function removeBeside(root: Folder, left: Folder, marker: string): Promise<void> {
  const rootPath = readlinkSync(root.self)
  const target = readlinkSync(left.at(marker))
  const id = readlinkSync(left.self).split("/").at(-1) ?? ""
  if (!target.startsWith(`${rootPath}/`)) return
  try {
    using folder = root.descend(target.slice(rootPath.length + 1).split("/"))
    const own = namesIn(folder).filter((name) => name.startsWith(`${hiddenPrefix}${id}-`))
    for (const name of own) await removeTree(folder, name, freshNames(name))
  } catch (error) {
    if (!refusalOf(error)) throw error
  }
}

function freshNames(name: string): () => string {
  let count = 0
  return () => {
    count += 1
    return `${name}-s${count}`
  }
}

function ensured(parent: Folder, name: string, owner: Owner | undefined): Folder {
  attempt(() => parent.make(name, 0o700))
  const folder = parent.folder(name)
  if (owner) fchownSync(folder.fd, owner.uid, owner.gid)
  return folder
}

function namesIn(folder: Folder): string[] {
  const entries = folder.entries()
  const names: string[] = []
  try {
    for (let entry = entries.readSync(); entry; entry = entries.readSync()) names.push(entry.name.toString())
  } finally {
    entries.closeSync()
  }
  return names
}
