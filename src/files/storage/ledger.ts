import { type Stats, statfsSync, statSync } from "node:fs"
import { Failure } from "#contract"
import type { Authority } from "../access/authority.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { StorageCounter } from "./counter.ts"
import { assertDiskSpace } from "./disk-space.ts"
import { KnownFiles } from "./known-files.ts"
import { formatBytes, type StorageAccount, type StorageCount, type StorageQuota, type StorageSettings } from "./storage.ts"

/** How long a quota is cached. */
const quotaTtlMs = 5_000

interface AccountEntry {
  quota: StorageQuota | null
  askedAt: number
  /** The last count, and the bytes written since; undefined: never counted. */
  counted: number | undefined
  written: number
  /** For uploads and copies in progress. */
  reserved: number
  countedAt: number
  /**
   * Files that are being replaced. Each one's space is available to one upload that replaces it.
   */
  replacing: Set<string>
  files: KnownFiles
  /** Something of unknown size, or that no count saw, was deleted since the last count. */
  isStale: boolean
  counting: Promise<void> | undefined
  /** No count has finished, and no upload has waited for one. */
  isUnknown: boolean
}

/** The size of an upload or copy. */
interface WriteSize {
  bytes: number
  /** The file to be replaced. */
  replaced?: Stats | undefined
  /** The length is unknown: more may follow. */
  isOpenEnded?: boolean
}

/**
 * Before the first count finishes a person may store this part of their limit, whatever is stored
 * already.
 */
const smallUploadsFraction = 100

const uncounted = {
  counted: undefined,
  written: 0,
  reserved: 0,
  countedAt: Number.NEGATIVE_INFINITY,
  isStale: false,
  counting: undefined,
  isUnknown: true,
} satisfies Partial<AccountEntry>

const isLimited = ({ quota }: AccountEntry) => quota !== null && (quota.maxBytes !== null || quota.groups.length > 0)

const lowestLimit = ({ quota }: AccountEntry) =>
  Math.min(quota?.maxBytes ?? Number.POSITIVE_INFINITY, ...(quota?.groups ?? []).map(({ maxBytes }) => maxBytes))

/**
 * The worker's view of each account: the last count and the bytes written here since. Runs write
 * without it; later counts include their files.
 */
export class StorageLedger implements AsyncDisposable {
  readonly #authority: Authority
  readonly #settings: StorageSettings
  readonly #root: DirectoryHandle
  readonly #counter: StorageCounter
  readonly #entries = new Map<string, AccountEntry>()

  constructor(parts: { root: DirectoryHandle; authority: Authority; settings: StorageSettings }) {
    this.#authority = parts.authority
    this.#settings = parts.settings
    this.#root = parts.root
    this.#counter = new StorageCounter(parts.root, parts.settings)
  }

  /**
   * Reserves bytes in a directory that counts for the account (undefined: none). Throws 507
   * beyond the disk or the quota. The `replaced` file makes room for this upload alone. The
   * caller commits the reservation with the bytes written, or disposes of it.
   */
  async reserve(account: string | undefined, directory: DirectoryHandle, size: WriteSize): Promise<Reservation> {
    const { bytes } = size
    const assertDisk: DiskCheck = (location, more) => this.assertDisk(location, more)
    assertDisk(directory, bytes)
    if (account === undefined) return new Reservation(undefined, assertDisk)
    const entry = await this.#entry(account)
    const over = () => this.#over(account, entry, bytes - this.#replacedBy(entry, size).bytes)
    if (entry.isUnknown && isLimited(entry)) await this.#firstCount(account, entry, size)
    if (over() && this.#mayCountAgain(entry)) await this.#recount(account, entry)
    const why = over()
    if (why) throw quotaExceeded(why, bytes)
    this.#assertProjectHasRoom(account, directory, bytes - this.#replacedBy(entry, size).bytes)
    const assertFits = (more: number, all: number) => {
      const reason = this.#over(account, entry, more)
      if (reason) throw quotaExceeded(reason, all)
    }
    const reservation = new Reservation(this.#for(entry, assertFits), assertDisk, this.#replacedBy(entry, size))
    reservation.add(bytes)
    return reservation
  }

  /**
   * Reserves bytes without a check, for an upload that an ended worker began and that had its
   * check.
   */
  async hold(account: string | undefined, bytes: number): Promise<Reservation> {
    const entry = account === undefined ? undefined : await this.#entry(account)
    const reservation = new Reservation(entry && this.#for(entry, () => {}), () => {})
    reservation.add(bytes)
    return reservation
  }

  #for(entry: AccountEntry, assertFits: ReservedFor["assertFits"]): ReservedFor {
    return { entry, assertFits, sizeOf: (file) => this.sizeOf(file) }
  }

  /** Throws 507 when so many bytes would use up the disk's reserve. */
  assertDisk(location: DiskLocation, bytes: number): void {
    assertDiskSpace(this.#diskOf(location), bytes, this.#settings)
  }

  /** In a limited project, `statfs` returns what the project has left, not the disk. */
  #diskOf(location: DiskLocation): DiskLocation {
    const isOfRoot = () => statSync(location.path).dev === this.#root.stat().dev
    return this.#settings.firstProject !== undefined && isOfRoot() ? this.#root : location
  }

  /** Counts are older than what runs wrote since, the kernel's are not. */
  #assertProjectHasRoom(account: string, directory: DirectoryHandle, bytes: number): void {
    const disk = this.#diskOf(directory)
    if (disk === directory || bytes <= 0) return
    const { blocks, bavail, bsize } = statfsSync(directory.path)
    if (blocks >= statfsSync(disk.path).blocks || bytes <= bavail * bsize) return
    const stored = formatBytes((blocks - bavail) * bsize)
    throw quotaExceeded(`${account} may store ${formatBytes(blocks * bsize)} and stores ${stored}`, bytes)
  }

  /**
   * Waits for the first count once: a long count delays only one upload, and none of the first
   * small ones.
   */
  async #firstCount(account: string, entry: AccountEntry, size: WriteSize): Promise<void> {
    const isSmall = size.isOpenEnded !== true && entry.written + entry.reserved + size.bytes <= lowestLimit(entry) / smallUploadsFraction
    if (isSmall && entry.counting) return
    const counted = this.#recount(account, entry)
    if (isSmall) return
    entry.isUnknown = false
    await counted
  }

  #replacedBy({ replacing, files }: AccountEntry, { replaced }: WriteSize): Replaced {
    const id = replaced && `${replaced.dev}:${replaced.ino}`
    if (!replaced || !id || replacing.has(id)) return nothingReplaced
    return { id, bytes: files.countedBytes(replaced, this.sizeOf(replaced)) }
  }

  /** Bytes that an entry counts by itself. One of several hard links frees nothing. */
  sizeOf({ blocks, nlink }: Pick<Stats, "blocks" | "nlink">, isDirectory = false): number {
    return nlink > 1 && !isDirectory ? 0 : Math.max(blocks * 512, this.#settings.minEntryBytes)
  }

  /** Upper bound for entries with that many bytes. */
  maxSizeOf({ entries, bytes }: { entries: number; bytes: number }): number {
    return bytes + entries * this.#settings.minEntryBytes
  }

  /**
   * Records that a file or directory was removed. A directory's size is unknown, and so is whether
   * a recent file was counted: a count follows when that matters.
   */
  recordRemoval(account: string | undefined, removed: Stats): void {
    const entry = account === undefined ? undefined : this.#entries.get(account)
    if (!entry) return
    if (removed.isDirectory()) entry.isStale = true
    else subtract(entry, removed, this.sizeOf(removed))
  }

  async count(account: StorageAccount): Promise<StorageCount> {
    const entry = this.#entries.get(account.name)
    const before = entry?.written ?? 0
    if (entry) entry.isStale = false
    const endCount = entry?.files.beginCount()
    const count = await this.#counter.count(account)
    if (entry) {
      entry.counted = count.bytes
      entry.written -= before
      entry.countedAt = performance.now()
      endCount?.()
    }
    return count
  }

  async #entry(account: string): Promise<AccountEntry> {
    const now = performance.now()
    const known = this.#entries.get(account)
    if (known && now - known.askedAt < quotaTtlMs) return known
    const quota = await this.#authority.storageQuota(account)
    const entry = this.#entries.get(account) ?? { ...uncounted, replacing: new Set(), files: new KnownFiles(), quota, askedAt: now }
    this.#entries.set(account, entry)
    entry.quota = quota
    entry.askedAt = now
    entry.counted ??= quota?.counted[account]
    entry.isUnknown &&= entry.counted === undefined
    return entry
  }

  #used(account: string, quota: StorageQuota): number {
    const entry = this.#entries.get(account)
    if (!entry) return quota.counted[account] ?? 0
    return Math.max(0, (entry.counted ?? quota.counted[account] ?? 0) + entry.written + entry.reserved)
  }

  /**
   * Returns why the bytes do not fit; undefined when they do. A change that needs no space always
   * fits.
   */
  #over(account: string, { quota }: AccountEntry, bytes: number): string | undefined {
    if (!quota || bytes <= 0) return undefined
    const used = this.#used(account, quota)
    if (quota.maxBytes !== null && used + bytes > quota.maxBytes)
      return `${account} may store ${formatBytes(quota.maxBytes)} and stores ${formatBytes(used)}`
    for (const { groupName, maxBytes, members } of quota.groups) {
      const all = members.reduce((sum, member) => sum + this.#used(member, quota), 0)
      if (all + bytes > maxBytes)
        return `The members of ${groupName} may store ${formatBytes(maxBytes)} together and store ${formatBytes(all)}`
    }
    return undefined
  }

  #mayCountAgain({ countedAt, isStale, counting }: AccountEntry): boolean {
    const ageMs = performance.now() - countedAt
    return counting !== undefined || ageMs >= this.#settings.recountAfterMs || (isStale && ageMs >= this.#settings.recountAfterMs / 10)
  }

  /** Resolves when the count finishes or takes too long; then the last one decides. */
  async #recount(account: string, entry: AccountEntry): Promise<void> {
    const { quota } = entry
    if (!quota) return
    entry.counting ??= this.count(quota.account)
      .then(
        () => {},
        () => {},
      )
      .finally(() => {
        entry.counting = undefined
      })
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#settings.maxRecountWaitMs)
    })
    await Promise.race([entry.counting, timeout]).finally(() => clearTimeout(timer))
    this.#entries.set(account, entry)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#counter[Symbol.asyncDispose]()
  }
}

interface ReservedFor {
  entry: AccountEntry
  assertFits(more: number, all: number): void
  sizeOf(file: Stats): number
}

/** Files that a write changed. */
interface WrittenFiles {
  made?: Stats
  replaced?: Stats | undefined
}

/** Takes a file that is gone from an account's sum, as far as that includes it. */
function subtract(entry: AccountEntry, file: Stats, bytes: number): void {
  const counted = entry.files.countedBytes(file, bytes)
  entry.written -= counted
  entry.files.delete(file)
  if (counted < bytes) entry.isStale = true
}

/** A file whose space becomes free when its replacement is written. */
interface Replaced {
  id: string | undefined
  bytes: number
}

const nothingReplaced: Replaced = { id: undefined, bytes: 0 }

/** Anything on a disk. */
interface DiskLocation {
  readonly path: string
}

/** Throws 507 when so many bytes would use up the reserve. */
type DiskCheck = (location: DiskLocation, bytes: number) => void

/** Space reserved for an upload or copy. */
export class Reservation implements Disposable {
  readonly #account: ReservedFor | undefined
  readonly #assertDisk: DiskCheck
  readonly #replaced: string | undefined
  /** Remaining space of the replaced file. */
  #free: number
  #bytes = 0
  #written = 0
  #unchecked = 0

  constructor(account: ReservedFor | undefined, assertDisk: DiskCheck, replaced = nothingReplaced) {
    this.#account = account
    this.#assertDisk = assertDisk
    this.#replaced = replaced.id
    this.#free = replaced.bytes
    if (replaced.id !== undefined) account?.entry.replacing.add(replaced.id)
  }

  /** All bytes reserved so far, including those in the space of the replaced file. */
  get written(): number {
    return this.#written
  }

  add(bytes: number): void {
    const more = this.#beyondFree(bytes)
    this.#written += bytes
    this.#free -= bytes - more
    this.#bytes += more
    if (this.#account) this.#account.entry.reserved += more
  }

  /** Reserves more bytes for an open file or directory. Throws 507 when they do not fit. */
  extend(bytes: number, target: DiskLocation): void {
    this.#account?.assertFits(this.#beyondFree(bytes), this.#written + bytes)
    this.add(bytes)
    this.#unchecked += bytes
    if (this.#unchecked < diskCheckBytes) return
    this.#unchecked = 0
    this.#assertDisk(target, 0)
  }

  #beyondFree(bytes: number): number {
    return Math.max(0, bytes - this.#free)
  }

  /** Counts the written bytes instead of the reserved ones. */
  commit(bytes: number, { made, replaced }: WrittenFiles = {}): void {
    if (this.#account) {
      const { entry, sizeOf } = this.#account
      if (replaced) subtract(entry, replaced, sizeOf(replaced))
      entry.written += bytes
      if (made) entry.files.add(made, bytes)
    }
    this.#release()
  }

  #release(): void {
    if (this.#account) this.#account.entry.reserved -= this.#bytes
    if (this.#replaced !== undefined) this.#account?.entry.replacing.delete(this.#replaced)
    this.#bytes = 0
  }

  [Symbol.dispose](): void {
    this.#release()
  }
}

/** Free disk space is checked again after so many bytes of unknown total size. */
const diskCheckBytes = 16 * 2 ** 20

function quotaExceeded(why: string, bytes: number): Failure {
  return new Failure("storage_full", `${why}; this has ${formatBytes(bytes)}. Delete files, or ask an administrator for more`)
}
