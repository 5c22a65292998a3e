import { type Stats, statfsSync, statSync } from "node:fs"
import { Failure } from "#contract"
import type { Authority } from "../access/authority.ts"
import type { TrashedDirectory } from "../staging/trash.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import { StorageCounter } from "./counter.ts"
import { assertDiskSpace } from "./disk-space.ts"
import { idOf, KnownFiles } from "./known-files.ts"
import { OpenFiles } from "./open-files.ts"
import {
  type AccountSums,
  type DiskCheck,
  type DiskLocation,
  nothingReplaced,
  pacedDiskCheck,
  type Replaced,
  Reservation,
  type ReservedFor,
  subtract,
} from "./reservation.ts"
import { formatBytes, type StorageAccount, type StorageCount, type StorageQuota, type StorageSettings } from "./storage.ts"

/** How long a quota is cached. */
const quotaTtlMs = 5_000

interface AccountEntry extends AccountSums {
  quota: StorageQuota | null
  askedAt: number
  /** The last count; undefined: never counted. */
  counted: number | undefined
  /** Bytes written before the last count began. */
  writtenBefore: number
  countedAt: number
  counting: Promise<void> | undefined
  /** No count has finished, and no upload has waited for one. */
  isUnknown: boolean
}

/** The size of an upload or copy. */
interface WriteSize {
  bytes: number
  /** The name in the directory at which a file may be replaced. */
  name?: string
  /** The length is unknown: more may follow. */
  isOpenEnded?: boolean
}

/**
 * Before the first count finishes a person may store this part of their limit, whatever is stored
 * already.
 */
const smallUploadsFraction = 100

/** Of ext4 and XFS, unless somebody chose another. */
const blockBytes = 4_096

const uncounted = {
  counted: undefined,
  written: 0,
  writtenBefore: 0,
  reserved: 0,
  countedAt: Number.NEGATIVE_INFINITY,
  isStale: false,
  counting: undefined,
  isUnknown: true,
} satisfies Partial<AccountEntry>

const writtenSinceCount = ({ written, writtenBefore }: AccountEntry) => written - writtenBefore

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
  /** By account: the question about its quota that is under way. An answer may name thousands. */
  readonly #questions = new Map<string, Promise<StorageQuota | null>>()
  /** The files that downloads have open. */
  readonly openFiles: OpenFiles

  constructor(parts: {
    root: DirectoryHandle
    authority: Authority
    settings: StorageSettings
    trash?: () => readonly TrashedDirectory[]
  }) {
    this.#authority = parts.authority
    this.#settings = parts.settings
    this.#root = parts.root
    this.#counter = new StorageCounter(parts.root, parts.settings, parts.trash ?? (() => []))
    this.openFiles = new OpenFiles({
      sizeOf: (file) => this.sizeOf(file),
      onDeleted: (reader) => void this.#endDeletedBeyondLimit(reader).catch(() => {}),
    })
  }

  /**
   * Reserves bytes in a directory that counts for the account (undefined: none). Throws 507
   * beyond the disk or the quota. The `replaced` file makes room for this upload alone. The
   * caller commits the reservation with the bytes written, or disposes of it.
   */
  async reserve(account: string | undefined, directory: TreeDirectory, size: WriteSize): Promise<Reservation> {
    const { bytes } = size
    const assertDisk: DiskCheck = (location, more) => this.assertDisk(location, more)
    assertDisk(directory, bytes)
    if (account === undefined) return new Reservation(undefined, assertDisk)
    const entry = await this.#entry(account)
    const over = ({ bytes: free }: Replaced) => this.#over(account, entry, bytes - free)
    // Looked up anew after each wait, in which the file may go.
    const look = async () => (size.name === undefined ? undefined : await directory.lstat(size.name))
    if (entry.isUnknown && isLimited(entry)) await this.#firstCount(account, entry, size)
    let replaced = this.#replacedBy(entry, await look())
    if (over(replaced) && this.#mayCountAgain(entry)) {
      await this.#recount(account, entry)
      replaced = this.#replacedBy(entry, await look())
    }
    const why = over(replaced)
    if (why) throw quotaExceeded(why, bytes)
    this.#assertProjectHasRoom(account, directory, bytes - replaced.bytes)
    const assertFits = (more: number, all: number) => {
      const reason = this.#over(account, entry, more)
      if (reason) throw quotaExceeded(reason, all)
    }
    const reservation = new Reservation(this.#for(entry, assertFits), assertDisk, replaced)
    reservation.add(bytes)
    return reservation
  }

  /** Reserves the rest of what an idle upload announced. Throws 507 beyond the quota. */
  async reserveRest(account: string | undefined, room: Reservation, length: number): Promise<void> {
    const bytes = length - room.written
    if (bytes <= 0) return
    if (account !== undefined) {
      const entry = await this.#entry(account)
      if (this.#over(account, entry, bytes) && this.#mayCountAgain(entry)) await this.#recount(account, entry)
      const why = this.#over(account, entry, bytes)
      if (why) throw quotaExceeded(why, length)
    }
    room.add(bytes)
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

  /** For one upload, called with the bytes of each write. Throws 507 within the disk's reserve. */
  pacedDiskCheck(): DiskCheck {
    return pacedDiskCheck((location, bytes) => this.assertDisk(location, bytes))
  }

  /** In a limited project, `statfs` returns what the project has left, not the disk. */
  #diskOf(location: DiskLocation): DiskLocation {
    const isOfRoot = () => statSync(location.path).dev === this.#root.stat().dev
    return this.#settings.firstProject !== undefined && isOfRoot() ? this.#root : location
  }

  /** Counts are older than what runs wrote since, the kernel's are not. */
  #assertProjectHasRoom(account: string, directory: DiskLocation, bytes: number): void {
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
    const more = writtenSinceCount(entry) + entry.reserved + size.bytes
    const isSmall = size.isOpenEnded !== true && more <= lowestLimit(entry) / smallUploadsFraction
    if (isSmall && entry.counting) return
    const counted = this.#recount(account, entry)
    if (isSmall) return
    entry.isUnknown = false
    await counted
  }

  #replacedBy({ replacing, files }: AccountEntry, replaced: Stats | undefined): Replaced {
    if (!replaced?.isFile()) return nothingReplaced
    const id = idOf(replaced)
    if (replacing.has(id)) return nothingReplaced
    return { id, bytes: files.countedBytes(replaced, this.sizeOf(replaced)) }
  }

  /** Bytes that an entry counts by itself. One of several hard links frees nothing. */
  sizeOf({ blocks, nlink }: Pick<Stats, "blocks" | "nlink">, isDirectory = false): number {
    return nlink > 1 && !isDirectory ? 0 : Math.max(blocks * 512, this.#settings.minEntryBytes)
  }

  /** The size that an empty file counts. */
  get leastSize(): number {
    return this.#settings.minEntryBytes
  }

  /** Upper bound for entries with that many bytes: the last block of each may be nearly empty. */
  maxSizeOf({ entries, bytes }: { entries: number; bytes: number }): number {
    return bytes + entries * Math.max(blockBytes, this.#settings.minEntryBytes)
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
      // Not subtracted from the sum: counts overlap, and each includes the same bytes.
      entry.writtenBefore = before
      entry.countedAt = performance.now()
      endCount?.()
    }
    return count
  }

  /** As `StorageCounter.label`. */
  label(path: string, project: number): Promise<number> {
    return this.#counter.label(path, project)
  }

  async #entry(account: string): Promise<AccountEntry> {
    const now = performance.now()
    const known = this.#entries.get(account)
    if (known && now - known.askedAt < quotaTtlMs) return known
    const quota = await this.#askQuota(account)
    const entry = this.#entries.get(account) ?? { ...uncounted, replacing: new Map(), files: new KnownFiles(), quota, askedAt: now }
    this.#entries.set(account, entry)
    entry.quota = quota
    entry.askedAt = now
    entry.counted ??= quota?.counted[account]
    entry.isUnknown &&= entry.counted === undefined
    return entry
  }

  #askQuota(account: string): Promise<StorageQuota | null> {
    const question =
      this.#questions.get(account) ?? this.#authority.storageQuota(account).finally(() => void this.#questions.delete(account))
    this.#questions.set(account, question)
    return question
  }

  #used(account: string, quota: StorageQuota): number {
    const deleted = this.openFiles.deletedBytes(account)
    const entry = this.#entries.get(account)
    if (!entry) return (quota.counted[account] ?? 0) + deleted
    return Math.max(0, (entry.counted ?? quota.counted[account] ?? 0) + writtenSinceCount(entry) + entry.reserved) + deleted
  }

  /** A deleted file counts for its readers: strangers cannot use up its owner's limit. */
  async #endDeletedBeyondLimit(reader: string): Promise<void> {
    if (this.#over(reader, await this.#entry(reader), 1)) this.openFiles.endDeleted(reader)
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
    this.openFiles[Symbol.dispose]()
    return this.#counter[Symbol.asyncDispose]()
  }
}

function quotaExceeded(why: string, bytes: number): Failure {
  return new Failure("storage_full", `${why}; this has ${formatBytes(bytes)}. Delete files, or ask an administrator for more`)
}
