import { constants, fdatasync, futimesSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs"
import { promisify } from "node:util"
import { hiddenFolder, hiddenPrefix } from "./address.ts"
import type { Folder, Name } from "./descriptor.ts"
import { isGone, processId } from "./process-id.ts"
import { closeQuietly, makeWritable, removeTree } from "./remove.ts"

const sync = promisify(fdatasync)
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

  constructor(root: Folder, report: (error: unknown) => void) {
    this.#report = report
    using hidden = ensured(root, hiddenFolder)
    this.#all = ensured(hidden, "work")
    this.#own = ensured(this.#all, this.#id)
    this.#device = root.stat().dev
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs)
    this.#heartbeat.unref()
  }

  /** A new file that will become `name` in `parent`. */
  draft(parent: Folder): Draft {
    const name = this.#fresh()
    if (parent.stat().dev === this.#device) return new Draft(this.#own.again(), name)
    return Draft.beside(parent.again(), { folder: this.#own.again(), marker: name, name: `${hiddenPrefix}${this.#id}-${name}` })
  }

  /**
   * Makes an entry vanish before it returns; the promise resolves when its space is free. Only on another file system than the root's
   * does the entry vanish piece by piece, and the promise may reject.
   */
  discard(parent: Folder, name: Name): Promise<unknown> {
    const grave = this.#fresh()
    try {
      bury(parent, name, this.#own, grave)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EXDEV") throw error
      return this.#removeInPlace(parent.again(), name)
    }
    return removeTree(this.#own, grave, () => this.#fresh()).catch(this.#report)
  }

  async #removeInPlace(parent: Folder, name: Name): Promise<void> {
    using place = parent
    const all = await removeTree(place, name, () => `${hiddenPrefix}${this.#id}-${this.#fresh()}`)
    if (!all) throw Object.assign(new Error("A directory kept being filled while it was removed"), { code: "ENOTEMPTY" })
  }

  /** Removes what workers left that are gone. Calls follow one another. */
  sweep(root: Folder): Promise<void> {
    this.#sweeping = this.#sweeping.then(() => this.#sweepNow(root))
    return this.#sweeping
  }

  async #sweepNow(root: Folder): Promise<void> {
    for (const name of namesIn(this.#all)) {
      const age = Date.now() - (this.#all.look(name)?.mtimeMs ?? Date.now())
      if (name === this.#id || !(isGone(name) || age > abandonedMs)) continue
      using left = this.#all.folder(name)
      for (const entry of namesIn(left)) if (left.look(entry)?.isSymbolicLink()) removeBeside(root, left, entry)
      await removeTree(this.#all, name, () => `${name}-${this.#fresh()}`)
    }
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

/** A file under way. Unless it was placed, disposing it leaves nothing. */
export class Draft implements Disposable {
  readonly fd: number
  readonly #folder: Folder
  readonly #name: string
  readonly #marker: { folder: Folder; name: string } | undefined
  #placed = false

  constructor(folder: Folder, name: string, marker?: { folder: Folder; name: string }) {
    this.#folder = folder
    this.#name = name
    this.#marker = marker
    this.fd = folder.open(name, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o644)
  }

  /** On a file system of its own the target's directory holds the draft, and a link in the worker's folder tells the sweep where. */
  static beside(parent: Folder, parts: { folder: Folder; marker: string; name: string }): Draft {
    const { folder, marker, name } = parts
    symlinkSync(`${readlinkSync(parent.self)}/${name}`, folder.at(marker))
    return new Draft(parent, name, { folder, name: marker })
  }

  /** Makes what was written survive a power cut. */
  flush(): Promise<void> {
    return sync(this.fd)
  }

  /** Gives it its place; what was there under this name is replaced. */
  place(parent: Folder, name: string): void {
    renameSync(this.#folder.at(this.#name), parent.at(name))
    this.#placed = true
  }

  [Symbol.dispose](): void {
    closeQuietly(this.fd)
    if (!this.#placed) attempt(() => unlinkSync(this.#folder.at(this.#name)))
    this.#folder[Symbol.dispose]()
    const marker = this.#marker
    if (!marker) return
    attempt(() => unlinkSync(marker.folder.at(marker.name)))
    marker.folder[Symbol.dispose]()
  }
}

function bury(parent: Folder, name: Name, own: Folder, grave: string): void {
  try {
    renameSync(parent.at(name), own.at(grave))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") throw error
    makeWritable(parent, name)
    renameSync(parent.at(name), own.at(grave))
  }
}

function removeBeside(root: Folder, left: Folder, marker: string): void {
  const rootPath = readlinkSync(root.self)
  const target = readlinkSync(left.at(marker))
  if (!target.startsWith(`${rootPath}/`)) return
  const names = target.slice(rootPath.length + 1).split("/")
  const name = names.pop() ?? ""
  if (!name.startsWith(hiddenPrefix)) return
  attempt(() => {
    using folder = root.descend(names)
    unlinkSync(folder.at(name))
  })
}

function ensured(parent: Folder, name: string): Folder {
  attempt(() => parent.make(name, 0o700))
  return parent.folder(name)
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

function attempt(work: () => void): void {
  try {
    work()
  } catch {}
}
