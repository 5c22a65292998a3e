import type { Stats } from "node:fs"
import { Failure } from "#contract"
import type { Authority } from "../access/authority.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { StorageCounter } from "./counter.ts"
import { assertDiskSpace } from "./disk-space.ts"
import { formatBytes, type StorageAccount, type StorageCount, type StorageQuota, type StorageSettings } from "./storage.ts"

/** How long what the authority says of somebody's limits is used again. */
const quotaTtlMs = 5_000

interface AccountEntry {
  quota: StorageQuota | null
  askedAt: number
  /** What the last count found, and what was written since; undefined: never counted. */
  counted: number | undefined
  written: number
  /** For what is being written. */
  reserved: number
  countedAt: number
  /**
   * Files that are being replaced. What they take makes room for one that replaces them, not for
   * several at a time.
   */
  replacing: Set<string>
  /** Directories were deleted since, whose size nobody knows. */
  isStale: boolean
  counting: Promise<void> | undefined
  /** Nobody has counted yet, nor waited for a count. */
  isUnknown: boolean
}

/** Of what is to be written. */
interface WriteSize {
  bytes: number
  /** The file that it replaces. */
  replaced?: Stats | undefined
  /** Its length is not known: more may come. */
  isOpenEnded?: boolean
}

/**
 * Before the first count is there somebody may store this part of their limit, whatever lies there
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
 * What people store, as this worker knows it: the last count, and what was written here since. Runs
 * write without it; that is what counts are for.
 */
export class StorageLedger implements AsyncDisposable {
  readonly #authority: Authority
  readonly #settings: StorageSettings
  readonly #counter: StorageCounter
  readonly #entries = new Map<string, AccountEntry>()

  constructor(parts: { root: DirectoryHandle; authority: Authority; settings: StorageSettings }) {
    this.#authority = parts.authority
    this.#settings = parts.settings
    this.#counter = new StorageCounter(parts.root, parts.settings)
  }

  /**
   * Room for so many bytes in a directory whose content counts for the account (undefined:
   * nobody's). Refuses with 507 what the disk or the person has no room for; the file that is
   * `replaced` goes when it is done, and until then makes room for that only. To be settled with
   * what was written, or disposed of.
   */
  async reserve(account: string | undefined, directory: DirectoryHandle, size: WriteSize): Promise<Reservation> {
    const { bytes } = size
    assertDiskSpace(directory, bytes, this.#settings)
    if (account === undefined) return new Reservation(undefined, this.#settings)
    const entry = await this.#entry(account)
    const over = () => this.#over(account, entry, bytes - this.#replacedBy(entry, size).bytes)
    if (entry.isUnknown && isLimited(entry)) await this.#firstCount(account, entry, size)
    if (over() && this.#mayCountAgain(entry)) await this.#recount(account, entry)
    const why = over()
    if (why) throw quotaExceeded(why, bytes)
    const assertFits = (more: number, all: number) => {
      const reason = this.#over(account, entry, more)
      if (reason) throw quotaExceeded(reason, all)
    }
    const reservation = new Reservation({ entry, assertFits }, this.#settings, this.#replacedBy(entry, size))
    reservation.add(bytes)
    return reservation
  }

  /**
   * Waited for once: a count that takes long keeps not every upload waiting, and none of the first
   * small ones.
   */
  async #firstCount(account: string, entry: AccountEntry, size: WriteSize): Promise<void> {
    const isLittle = size.isOpenEnded !== true && entry.written + entry.reserved + size.bytes <= lowestLimit(entry) / smallUploadsFraction
    if (isLittle && entry.counting) return
    const counted = this.#recount(account, entry)
    if (isLittle) return
    entry.isUnknown = false
    await counted
  }

  #replacedBy({ replacing }: AccountEntry, { replaced }: WriteSize): Replaced {
    const id = replaced && `${replaced.dev}:${replaced.ino}`
    return !replaced || !id || replacing.has(id) ? nothingReplaced : { id, bytes: this.sizeOf(replaced) }
  }

  /** What an entry counts by itself; one of several names of a file frees nothing when it goes. */
  sizeOf({ blocks, nlink }: Pick<Stats, "blocks" | "nlink">, isDirectory = false): number {
    return nlink > 1 && !isDirectory ? 0 : Math.max(blocks * 512, this.#settings.minEntryBytes)
  }

  /** What so many entries with so many bytes count, at most. */
  maxSizeOf({ entries, bytes }: { entries: number; bytes: number }): number {
    return bytes + entries * this.#settings.minEntryBytes
  }

  /**
   * Something that counted is gone. Of a directory nobody knows how much: it is counted when that
   * matters.
   */
  recordRemoval(account: string | undefined, bytes: number | undefined): void {
    const entry = account === undefined ? undefined : this.#entries.get(account)
    if (!entry) return
    if (bytes === undefined) entry.isStale = true
    else entry.written -= bytes
  }

  async count(account: StorageAccount): Promise<StorageCount> {
    const entry = this.#entries.get(account.name)
    const before = entry?.written ?? 0
    if (entry) entry.isStale = false
    const count = await this.#counter.count(account)
    if (entry) {
      entry.counted = count.bytes
      entry.written -= before
      entry.countedAt = performance.now()
    }
    return count
  }

  async #entry(account: string): Promise<AccountEntry> {
    const now = performance.now()
    const known = this.#entries.get(account)
    if (known && now - known.askedAt < quotaTtlMs) return known
    const quota = await this.#authority.storageQuota(account)
    const entry = this.#entries.get(account) ?? { ...uncounted, replacing: new Set(), quota, askedAt: now }
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

  /** Why so many bytes more do not fit; undefined when they do. What takes no room always fits. */
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
    const age = performance.now() - countedAt
    return counting !== undefined || age >= this.#settings.recountAfterMs || (isStale && age >= this.#settings.recountAfterMs / 10)
  }

  /** Resolves when the count is there, or takes too long: then the last one decides. */
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
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.#settings.maxRecountWaitMs)
    })
    await Promise.race([entry.counting, patience]).finally(() => clearTimeout(timer))
    this.#entries.set(account, entry)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#counter[Symbol.asyncDispose]()
  }
}

interface ReservedFor {
  entry: AccountEntry
  assertFits(more: number, all: number): void
}

/** A file that will be gone when what replaces it is written. */
interface Replaced {
  id: string | undefined
  bytes: number
}

const nothingReplaced: Replaced = { id: undefined, bytes: 0 }

/** Room that is kept for something that is being written. */
export class Reservation implements Disposable {
  readonly #held: ReservedFor | undefined
  readonly #settings: StorageSettings
  readonly #replaced: string | undefined
  /** What is left of the room of the file that is replaced. */
  #free: number
  #bytes = 0
  #written = 0
  #unchecked = 0

  constructor(held: ReservedFor | undefined, settings: StorageSettings, replaced = nothingReplaced) {
    this.#held = held
    this.#settings = settings
    this.#replaced = replaced.id
    this.#free = replaced.bytes
    if (replaced.id !== undefined) held?.entry.replacing.add(replaced.id)
  }

  /** All that it was told of. */
  get written(): number {
    return this.#written
  }

  add(bytes: number): void {
    const more = this.#beyondFree(bytes)
    this.#written += bytes
    this.#free -= bytes - more
    this.#bytes += more
    if (this.#held) this.#held.entry.reserved += more
  }

  /**
   * More is written, to a file or directory that is held, than was known. Throws 507 when it does
   * not fit.
   */
  extend(bytes: number, target: { readonly path: string }): void {
    this.#held?.assertFits(this.#beyondFree(bytes), this.#written + bytes)
    this.add(bytes)
    this.#unchecked += bytes
    if (this.#unchecked < diskCheckBytes) return
    this.#unchecked = 0
    assertDiskSpace(target, 0, this.#settings)
  }

  #beyondFree(bytes: number): number {
    return Math.max(0, bytes - this.#free)
  }

  /** It is written: so many bytes count from now on, in place of what was reserved. */
  commit(bytes: number): void {
    if (this.#held) this.#held.entry.written += bytes
    this.#release()
  }

  #release(): void {
    if (this.#held) this.#held.entry.reserved -= this.#bytes
    if (this.#replaced !== undefined) this.#held?.entry.replacing.delete(this.#replaced)
    this.#bytes = 0
  }

  [Symbol.dispose](): void {
    this.#release()
  }
}

/** The disk is looked at again after so many bytes of something whose size was not known. */
const diskCheckBytes = 16 * 2 ** 20

function quotaExceeded(why: string, bytes: number): Failure {
  return new Failure("storage_full", `${why}; this has ${formatBytes(bytes)}. Delete files, or ask an administrator for more`)
}
