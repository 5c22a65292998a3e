import type { Stats } from "node:fs"
import type { KnownFiles } from "./known-files.ts"
import { idOf } from "./known-files.ts"

/** The sums of an account beside its counts. */
export interface AccountSums {
  /** Bytes written since the worker began. */
  written: number
  /** For uploads and copies in progress. */
  reserved: number
  /**
   * Files that are being replaced, each with the one upload or copy that may use its space. A file
   * that goes earlier returns that space.
   */
  replacing: Map<string, Reservation>
  files: KnownFiles
  /** Something of unknown size, or that no count saw, was deleted since the last count. */
  isStale: boolean
}

export interface ReservedFor {
  entry: AccountSums
  assertFits(more: number, all: number): void
  sizeOf(file: Stats): number
}

/** Files that a write changed. */
interface WrittenFiles {
  made?: Stats
  replaced?: Stats | undefined
}

/** Takes a file that is gone from an account's sum, as far as that includes it. */
export function subtract(entry: AccountSums, file: Stats, bytes: number): void {
  const counted = entry.files.countedBytes(file, bytes)
  entry.written -= counted
  entry.replacing.get(idOf(file))?.returnLent()
  entry.files.delete(file)
  if (counted < bytes) entry.isStale = true
}

/** A file whose space becomes free when its replacement is written. */
export interface Replaced {
  id: string | undefined
  bytes: number
}

export const nothingReplaced: Replaced = { id: undefined, bytes: 0 }

/** Anything on a disk. */
export interface DiskLocation {
  readonly path: string
}

/** Throws 507 when so many bytes would use up the reserve. */
export type DiskCheck = (location: DiskLocation, bytes: number) => void

/** Space reserved for an upload or copy. */
export class Reservation implements Disposable {
  readonly #account: ReservedFor | undefined
  readonly #checkDisk: DiskCheck
  #replaced: string | undefined
  /** Remaining space of the replaced file. */
  #free: number
  #bytes = 0
  #written = 0

  constructor(account: ReservedFor | undefined, assertDisk: DiskCheck, replaced = nothingReplaced) {
    this.#account = account
    this.#checkDisk = pacedDiskCheck(assertDisk)
    this.#replaced = replaced.id
    this.#free = replaced.bytes
    if (replaced.id !== undefined) account?.entry.replacing.set(replaced.id, this)
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
    this.#checkDisk(target, bytes)
  }

  #beyondFree(bytes: number): number {
    return Math.max(0, bytes - this.#free)
  }

  /**
   * Called before the replacement. Throws 507 if another file than the expected one is replaced,
   * and both do not fit.
   */
  assertReplaces(replaced: Stats | undefined): void {
    if (replaced && idOf(replaced) === this.#replaced) return
    this.#account?.assertFits(this.#lent, this.#written)
    this.returnLent()
  }

  /** Bytes in the space of the replaced file. */
  get #lent(): number {
    return this.#written - this.#bytes
  }

  /** The replaced file is gone: its space counts as free, so what this uses of it is reserved. */
  returnLent(): void {
    const lent = this.#lent
    this.#bytes += lent
    this.#free = 0
    if (!this.#account) return
    this.#account.entry.reserved += lent
    this.#forgetReplaced()
  }

  #forgetReplaced(): void {
    if (this.#replaced !== undefined) this.#account?.entry.replacing.delete(this.#replaced)
    this.#replaced = undefined
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
    this.#forgetReplaced()
    this.#bytes = 0
  }

  [Symbol.dispose](): void {
    this.#release()
  }
}

/** Free disk space is checked again after so many bytes, or so many calls: files use up inodes. */
const diskCheckBytes = 16 * 2 ** 20
const diskCheckCalls = 500

/**
 * Called with the bytes of each write, it checks the disk now and then: uploads that fit when they
 * began can fill it together.
 */
export function pacedDiskCheck(assertDisk: DiskCheck): DiskCheck {
  let [unchecked, calls] = [0, 0]
  return (location, bytes) => {
    unchecked += bytes
    calls += 1
    if (unchecked < diskCheckBytes && calls < diskCheckCalls) return
    unchecked = 0
    calls = 0
    assertDisk(location, 0)
  }
}
