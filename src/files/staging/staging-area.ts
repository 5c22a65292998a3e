import { futimesSync, readlinkSync, renameSync, symlinkSync, unlinkSync } from "node:fs"
import { fileFailure } from "../failures.ts"
import { hiddenFolder, hiddenPrefix } from "../requests/address.ts"
import type { Spot } from "../tree/copy-entry.ts"
import type { Folder, Name } from "../tree/directory-handle.ts"
import { attempt, changeMode, removeTree } from "../tree/remove-tree.ts"
import { isGone, processId } from "./process-id.ts"
import { Draft, Stage } from "./staged-entry.ts"

const heartbeatMs = 60_000
const abandonedMs = 600_000
/**
 * What a program keeps changing is tried again after so long, then after twice as long, and so on.
 */
const firstPatienceMs = 500
const lastPatienceMs = 600_000
/** Each holds a descriptor or two. What is beyond is left to the sweep of the next worker. */
const mostStubborn = 100
const noteSuffix = ".from"

/**
 * The worker's own folder in the hidden place: what is not finished, or already deleted, is here
 * and nowhere else.
 */
export class Workplace implements AsyncDisposable {
  readonly #all: Folder
  #made: Folder | undefined
  readonly #id = processId()
  readonly #heartbeat: NodeJS.Timeout
  readonly #device: number
  readonly #report: (error: unknown) => void
  readonly #stubborn = new Set<Stage>()
  #patienceMs = firstPatienceMs
  #nextTry: NodeJS.Timeout | undefined
  #count = 0
  #sweeping: Promise<void> = Promise.resolve()

  constructor(root: Folder, report: (error: unknown) => void) {
    this.#report = report
    using hidden = ensured(root, hiddenFolder)
    this.#all = ensured(hidden, "work")
    this.#makeIfThereIsRoom()
    this.#device = root.stat().dev
    this.#heartbeat = setInterval(() => this.#beat(), heartbeatMs)
    this.#heartbeat.unref()
  }

  get #own(): Folder {
    this.#made ??= ensured(this.#all, this.#id)
    return this.#made
  }

  /**
   * On a full disk it is made when it is first needed: what reads goes on there, and what makes
   * room.
   */
  #makeIfThereIsRoom(): void {
    try {
      void this.#own
    } catch (error) {
      if (!isFull(error)) throw error
    }
  }

  /**
   * A place for something that will later be moved to a name in `parent`, or was moved away from
   * one.
   */
  stage(parent: Folder): Stage {
    const name = this.#fresh()
    if (parent.stat().dev === this.#device) return new Stage(this.#own.again(), name)
    const marker = { folder: this.#own.again(), name }
    return Stage.beside(parent.again(), `${hiddenPrefix}${this.#id}-${name}`, marker)
  }

  /** A new file that will become a name in `parent`. */
  draft(parent: Folder): Promise<Draft> {
    return Draft.open(this.stage(parent))
  }

  /**
   * Makes an entry vanish before it returns; the promise resolves when its space is free, and never
   * rejects.
   */
  discard(parent: Folder, name: Name): Promise<void> {
    const grave = this.#graveFor(parent, name)
    try {
      if (!grave) return Promise.resolve(unlinkSync(parent.at(name)))
      bury(parent, name, grave)
    } catch (error) {
      grave?.abandon()
      throw error
    }
    return this.#free(grave)
  }

  /** Undefined for a file where the disk has no room for a grave: whoever deletes makes room. */
  #graveFor(parent: Folder, name: Name): Stage | undefined {
    try {
      return this.stage(parent)
    } catch (error) {
      if (isFull(error) && parent.look(name)?.isFile()) return undefined
      throw error
    }
  }

  /**
   * Moves an entry to a name, and what stands there away, before it returns: between the two moves
   * a note tells the sweep what to put back. The promise resolves when the space of what stood
   * there is free, and never rejects.
   */
  replace(from: Spot, to: Spot & { name: string }): Promise<void> {
    const move = () => renameSync(from.parent.at(from.name), to.parent.at(to.name))
    if (!to.parent.look(to.name)) {
      move()
      return Promise.resolve()
    }
    const grave = this.stage(to.parent)
    const note = this.#own.at(`${grave.name}${noteSuffix}`)
    try {
      symlinkSync(`${readlinkSync(to.parent.self)}/${to.name}`, note)
      bury(to.parent, to.name, grave)
      exhumeUnless(move, to, grave)
    } catch (error) {
      grave.abandon()
      throw error
    } finally {
      attempt(() => unlinkSync(note))
    }
    return this.#free(grave)
  }

  async #free(grave: Stage): Promise<void> {
    const isGone = await grave.clear().catch((error: unknown) => void this.#report(error))
    if (isGone === false && this.#stubborn.size < mostStubborn) this.#tryLater(grave)
    else {
      this.#stubborn.delete(grave)
      grave.abandon()
    }
  }

  /** A program that is in what was deleted keeps changing it. */
  #tryLater(grave: Stage): void {
    this.#stubborn.add(grave)
    if (this.#nextTry) return
    this.#nextTry = setTimeout(() => this.#inTurn(() => this.#tryAgain()).catch(this.#report), this.#patienceMs)
    this.#nextTry.unref()
  }

  async #tryAgain(): Promise<void> {
    this.#nextTry = undefined
    this.#patienceMs = Math.min(this.#patienceMs * 2, lastPatienceMs)
    for (const grave of this.#stubborn) await this.#free(grave)
    if (this.#stubborn.size === 0) this.#patienceMs = firstPatienceMs
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#sweeping.then(work)
    this.#sweeping = done.catch(() => {})
    return done
  }

  /** Removes what workers left that are gone. Calls follow one another. */
  sweep(root: Folder): Promise<void> {
    return this.#inTurn(() => this.#sweepNow(root))
  }

  async #sweepNow(root: Folder): Promise<void> {
    for (const name of namesIn(this.#all)) {
      const age = Date.now() - (this.#all.look(name)?.mtimeMs ?? Date.now())
      if (name !== this.#id && (isGone(name) || age > abandonedMs)) await this.#remove(root, name).catch(this.#report)
    }
  }

  async #remove(root: Folder, name: string): Promise<void> {
    using left = this.#all.folder(name)
    for (const entry of namesIn(left)) if (entry.endsWith(noteSuffix)) putBack(root, left, entry)
    for (const entry of namesIn(left)) if (left.look(entry)?.isSymbolicLink()) await removeBeside(root, left, entry)
    await removeTree(this.#all, name, () => `${name}-${this.#fresh()}`)
  }

  #beat(): void {
    const now = new Date()
    if (this.#made) futimesSync(this.#made.fd, now, now)
  }

  #fresh(): string {
    this.#count += 1
    return this.#count.toString(36)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#heartbeat)
    await this.#sweeping
    clearTimeout(this.#nextTry)
    for (const grave of this.#stubborn) grave.abandon()
    await removeTree(this.#all, this.#id, () => `${this.#id}-${this.#fresh()}`)
    this.#made?.[Symbol.dispose]()
    this.#all[Symbol.dispose]()
  }
}

/**
 * A directory that is closed to its owner is opened first, and closed again when it cannot be moved
 * all the same.
 */
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

/** What was buried comes back when nothing could be put in its place. */
function exhumeUnless(move: () => void, to: Spot, grave: Stage): void {
  try {
    move()
  } catch (error) {
    attempt(() => renameSync(grave.parent.at(grave.name), to.parent.at(to.name)))
    throw error
  }
}

/** A worker died after it had moved something away and before it had put the new one there. */
function putBack(root: Folder, left: Folder, note: string): void {
  attempt(() => {
    const target = targetBelow(root, left, note)
    const name = target?.at(-1)
    if (!target || name === undefined) return
    using parent = root.descend(target.slice(0, -1))
    if (parent.look(name)) return
    const grave = note.slice(0, -noteSuffix.length)
    const isBeside = left.look(grave)?.isSymbolicLink()
    renameSync(isBeside ? parent.at(`${hiddenPrefix}${idOf(left)}-${grave}`) : left.at(grave), parent.at(name))
  })
}

/** Where a link in a worker's folder leads, as names below the root. */
function targetBelow(root: Folder, left: Folder, link: string): string[] | undefined {
  const rootPath = readlinkSync(root.self)
  const target = readlinkSync(left.at(link))
  return target.startsWith(`${rootPath}/`) ? target.slice(rootPath.length + 1).split("/") : undefined
}

function idOf(left: Folder): string {
  return readlinkSync(left.self).split("/").at(-1) ?? ""
}

/** The marker names the directory; what the dead worker left there has its id in its name. */
async function removeBeside(root: Folder, left: Folder, marker: string): Promise<void> {
  const target = targetBelow(root, left, marker)
  if (!target) return
  try {
    using folder = root.descend(target)
    const own = namesIn(folder).filter((name) => name.startsWith(`${hiddenPrefix}${idOf(left)}-`))
    for (const name of own) await removeTree(folder, name, freshNames(name))
  } catch (error) {
    if (!fileFailure(error)) throw error
  }
}

function freshNames(name: string): () => string {
  let count = 0
  return () => {
    count += 1
    return `${name}-s${count}`
  }
}

function ensured(parent: Folder, name: string): Folder {
  try {
    parent.make(name, 0o700)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  }
  return parent.folder(name)
}

function isFull(error: unknown): boolean {
  return fileFailure(error)?.code === "storage_full"
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
