import { randomBytes } from "node:crypto"
import { constants, readFileSync, type Stats } from "node:fs"
import { open, readdir, writeFile } from "node:fs/promises"
import { bounds, Failure } from "#contract"
import type { RightsCache } from "../access/rights-cache.ts"
import { notFound } from "../failures.ts"
import { reservedDirectory } from "../requests/address.ts"
import type { StagingArea } from "../staging/staging-area.ts"
import type { StorageLedger } from "../storage/ledger.ts"
import type { Reservation } from "../storage/reservation.ts"
import { type DirectoryHandle, disposableDescriptor } from "../tree/directory-handle.ts"
import { locateEntry } from "../tree/entry-location.ts"
import { namesIn, openOrMake } from "../tree/names-in.ts"
import { TreeDirectory } from "../tree/tree-directory.ts"
import { OpenUpload, type UploadFacts } from "./open-upload.ts"

const maxUploads = bounds.files.resumableUploads.value
const { uploadReservedMs } = bounds.files
const factsSuffix = ".json"
/** The owner of the sweep's calls. */
const sweeper = "sweep"

/** A request that writes into an upload, or looks at it. */
export interface UploadUser {
  /** Ends the request; it then releases the upload. */
  abort(): void
}

/**
 * Resumable uploads, in `/.quayside/uploads/<person>/`. The disk alone knows them: `<id>` holds the
 * bytes that came, `<id>.json` the facts. A worker that dies loses only the reservations, which the
 * next one makes again.
 */
export class UploadStore implements Disposable {
  readonly #root: DirectoryHandle
  #opened: DirectoryHandle | undefined
  readonly #storage: StorageLedger
  readonly #rights: RightsCache
  readonly #staging: StagingArea
  readonly #idleMs: number
  readonly #device: number
  /** By person and ID: space for all of an upload, or for what came of one that is idle. */
  readonly #rooms = new Map<string, Reservation>()
  /** By person: the IDs of uploads whose files are being made. */
  readonly #making = new Map<number, Set<string>>()
  /** By person and ID: the request that has the upload open. */
  readonly #users = new Map<string, { user: UploadUser; ended: Promise<void> }>()

  constructor(parts: { root: DirectoryHandle; staging: StagingArea; storage: StorageLedger; rights: RightsCache; idleMs?: number }) {
    this.#root = parts.root
    this.#rights = parts.rights
    this.#staging = parts.staging
    this.#device = parts.root.stat().dev
    this.#storage = parts.storage
    this.#idleMs = parts.idleMs ?? bounds.files.uploadIdleMs.value
  }

  /**
   * Begins an upload to a name in `parent`. `room` is the space for all of it, and ends with the
   * upload.
   */
  async create(userId: number, facts: UploadFacts, { parent, room }: { parent: TreeDirectory; room: Reservation }): Promise<string> {
    if (parent.stat().dev !== this.#device)
      throw new Failure("conflict", "This directory is on a file system of its own: uploads to it cannot be resumed; use PUT")
    using own = await this.#makeOwnDirectory(userId)
    const id = randomBytes(16).toString("hex")
    const making = this.#making.get(userId) ?? new Set()
    const others = [...making].map((each) => each + factsSuffix)
    this.#making.set(userId, making.add(id))
    try {
      // Beside programs that write gigabytes, each new file waits for the file system's journal.
      await own.inTurn(async () => {
        const names = (await readdir(own.path)).filter((name) => name.endsWith(factsSuffix))
        assertMayBegin(new Set([...names, ...others]).size)
        await writeFile(own.pathTo(id + factsSuffix), JSON.stringify(facts), { flag: "wx", mode: 0o600 })
        await (await open(own.pathTo(id), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644)).close()
      })
    } finally {
      making.delete(id)
      if (making.size === 0) this.#making.delete(userId)
    }
    this.#rooms.set(keyOf(userId, id), room)
    return id
  }

  async #makeOwnDirectory(userId: number): Promise<TreeDirectory> {
    const uploads = TreeDirectory.of(this.#makeDirectory(), userId)
    const name = String(userId)
    if (!(await uploads.lstat(name)))
      await uploads.makeDirectory(name, 0o700).catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "EEXIST") throw error
      })
    return await uploads.openDirectory(name)
  }

  /**
   * Opens an upload of this person to this path. A request that has it open is ended first: its
   * connection is one that the client has given up.
   */
  async open(userId: number, { id, path }: { id: string; path: string }, user: UploadUser): Promise<OpenUpload> {
    this.#assertExists(userId, { id, path })
    const key = keyOf(userId, id)
    for (let other = this.#users.get(key); other; other = this.#users.get(key)) {
      other.user.abort()
      await other.ended
    }
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    this.#users.set(key, { user, ended })
    const release = () => {
      this.#users.delete(key)
      resolve()
    }
    try {
      return await this.#openNow(userId, id, release)
    } catch (error) {
      release()
      throw error
    }
  }

  #assertExists(userId: number, { id, path }: { id: string; path: string }): void {
    using own = this.#directory().openDirectory(String(userId))
    if (readFacts(own, id)?.path !== path) throw notFound()
  }

  async #openNow(userId: number, id: string, release: () => void): Promise<OpenUpload> {
    using stack = new DisposableStack()
    const own = stack.use(this.#directory().openDirectory(String(userId)))
    const facts = readFacts(own, id)
    if (!facts) throw notFound()
    const key = keyOf(userId, id)
    if (await isCommitted(TreeDirectory.of(this.#root, userId), { own, id, facts })) throw notFound()
    if (hasSecondName(own.lstat(id))) throw recovering()
    const room = this.#rooms.get(key) ?? (await this.#hold(key, facts))
    const fd = own.open(id, constants.O_RDWR)
    stack.move()
    const forget = async () => {
      this.#rooms.delete(key)
      await removeFile(TreeDirectory.of(own, userId), id + factsSuffix)
    }
    return new OpenUpload({
      entry: { parent: own, name: id },
      staging: this.#staging,
      fd,
      facts,
      room,
      idleMs: this.#idleMs,
      release,
      forget,
    })
  }

  /**
   * Reserves space for the uploads that an ended worker left, and returns what idle ones reserved
   * beyond their bytes. Removes those that expired, and those to a place where the person may no
   * longer write: their space counts for its owner, who cannot see them.
   */
  async sweep(): Promise<void> {
    const uploads = this.#directoryUnlessMissing()
    if (!uploads) return
    for (const person of namesIn(uploads)) {
      using own = uploads.openDirectory(person)
      const names = namesIn(own)
      const swept = TreeDirectory.of(own, sweeper)
      for (const name of names) if (name.endsWith(factsSuffix)) await this.#check(Number(person), own, name.slice(0, -factsSuffix.length))
      for (const name of names) if (!name.endsWith(factsSuffix) && !(await swept.lstat(name + factsSuffix))) await removeFile(swept, name)
    }
  }

  async #check(userId: number, own: DirectoryHandle, id: string): Promise<void> {
    const key = keyOf(userId, id)
    if (this.#making.get(userId)?.has(id)) return
    const facts = readFacts(own, id)
    const stats = own.lstat(id)
    const isFresh = facts && stats && Date.now() - stats.mtimeMs < this.#idleMs
    const root = TreeDirectory.of(this.#root, sweeper)
    if (isFresh && !(await isCommitted(root, { own, id, facts })) && (await this.#mayWrite(userId, facts))) {
      if (!this.#users.has(key)) await this.#holdIdle(key, facts, stats)
      return
    }
    if (this.#users.has(key)) return
    const swept = TreeDirectory.of(own, sweeper)
    await removeFile(swept, id)
    await removeFile(swept, id + factsSuffix)
    this.#rooms.get(key)?.[Symbol.dispose]()
    this.#rooms.delete(key)
  }

  /** Others may want the space of an upload that receives nothing. */
  async #holdIdle(key: string, facts: UploadFacts, { mtimeMs, size }: Stats): Promise<void> {
    const room = this.#rooms.get(key)
    if (Date.now() - mtimeMs < uploadReservedMs.value) return void (room ?? (await this.#hold(key, facts)))
    if (room && room.written <= size) return
    const held = await this.#storage.hold(facts.account, size)
    if (this.#users.has(key) || this.#rooms.get(key) !== room) return held[Symbol.dispose]()
    room?.[Symbol.dispose]()
    this.#rooms.set(key, held)
  }

  async #mayWrite(userId: number, { path }: UploadFacts): Promise<boolean> {
    const names = path.split("/").slice(1)
    return (await this.#rights.level(userId, names, "write")) === "write"
  }

  async #hold(key: string, facts: UploadFacts): Promise<Reservation> {
    const held = await this.#storage.hold(facts.account, facts.length)
    const other = this.#rooms.get(key)
    if (other) held[Symbol.dispose]()
    else this.#rooms.set(key, held)
    return other ?? held
  }

  /** Made with the first upload: a server starts on a full disk as well. */
  #makeDirectory(): DirectoryHandle {
    if (this.#opened) return this.#opened
    using reserved = openOrMake(this.#root, reservedDirectory)
    this.#opened = openOrMake(reserved, "uploads")
    return this.#opened
  }

  /** Throws `ENOENT` if nobody has begun an upload yet. */
  #directory(): DirectoryHandle {
    if (this.#opened) return this.#opened
    using reserved = this.#root.openDirectory(reservedDirectory)
    this.#opened = reserved.openDirectory("uploads")
    return this.#opened
  }

  #directoryUnlessMissing(): DirectoryHandle | undefined {
    try {
      return this.#directory()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
      throw error
    }
  }

  [Symbol.dispose](): void {
    this.#opened?.[Symbol.dispose]()
  }
}

const keyOf = (userId: number, id: string): string => `${userId} ${id}`

/** Undefined when a power cut left no whole facts. */
function readFacts(own: DirectoryHandle, id: string): UploadFacts | undefined {
  using file = disposableDescriptor(own.open(id + factsSuffix, constants.O_RDONLY))
  const text = readFileSync(file.fd, "utf8")
  try {
    return JSON.parse(text) as UploadFacts
  } catch {
    return undefined
  }
}

/**
 * Whether a worker died after it gave the file its name, and before it removed this one. A second
 * name elsewhere is the one beside its place, which the staging area's sweep removes.
 */
async function isCommitted(root: TreeDirectory, { own, id, facts }: { own: DirectoryHandle; id: string; facts: UploadFacts }) {
  const stats = own.lstat(id)
  if (!stats || !hasSecondName(stats)) return false
  try {
    using location = await locateEntry(root, facts.path.split("/").slice(1))
    return location.stats?.ino === stats.ino && location.stats.dev === stats.dev
  } catch {
    return false
  }
}

const hasSecondName = (stats: Stats | undefined): boolean => stats !== undefined && stats.nlink > 1

/** The same file must not get a place twice. */
const recovering = () =>
  new Failure("unavailable", "What an ended process left of this upload is being removed; try again", { headers: { "Retry-After": "1" } })

async function removeFile(own: TreeDirectory, name: string): Promise<void> {
  await own.unlink(name).catch(() => {})
}

/** `count`: the person's other unfinished uploads. */
function assertMayBegin(count: number): void {
  if (count >= maxUploads)
    throw new Failure("too_many_requests", `You have ${count} unfinished uploads: continue or delete some, or upload with PUT`)
}
