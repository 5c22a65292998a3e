import { randomFillSync } from "node:crypto"
import { closeSync, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { bounds } from "#contract"
import type { DiskSpaceReserve } from "../driver.ts"

const mib = 2 ** 20
/**
 * The log may have to grow to the length at which it is folded into the database (16 MiB), and is
 * used again from then on.
 */
const maxBytes = bounds.storage.diskReserveBytes.value
/** Of the disk. */
const maxPartOfDisk = 1 / 16
/** It is given up in so many pieces, so that what others take of each is not all. */
const pieceCount = 16
const chunkBytes = mib
/**
 * Milliseconds between two attempts to make it whole again, and between two to make more of what
 * could not be made whole.
 */
const retryMs = 1_000
const growRetryMs = 60_000

/**
 * A file beside the database that only takes room, to be given up for what must be written on a
 * full disk. It is made in the background, as far as the disk has as much again, and stays from one
 * process to the next.
 */
export class DiskReserve implements DiskSpaceReserve, AsyncDisposable {
  readonly #fd: number
  readonly #path: string
  readonly #piece: number
  readonly #whole: number
  #making: Promise<void>
  #size: number
  /**
   * What it has to be again before others may write; what it could not be from the beginning is not
   * waited for.
   */
  #wanted: number
  #triedAt = Number.NEGATIVE_INFINITY
  #closed = false

  constructor(file: string) {
    this.#path = `${file}.ballast`
    this.#fd = openSync(this.#path, "a", 0o600)
    this.#size = fstatSync(this.#fd).size
    this.#wanted = this.#size
    const { blocks, bsize } = statfsSync(this.#path)
    this.#piece = Math.floor(Math.min(maxBytes, blocks * bsize * maxPartOfDisk) / pieceCount)
    this.#whole = this.#piece * pieceCount
    this.#making = this.#make()
  }

  /** Whether all that was given up is there again. */
  get #isWhole(): boolean {
    return this.#size >= this.#wanted
  }

  release(): boolean {
    if (this.#size === 0 || this.#closed) return false
    this.#size = Math.max(0, this.#size - this.#piece)
    ftruncateSync(this.#fd, this.#size)
    return true
  }

  restore(): boolean {
    if (this.#size >= this.#whole) return true
    const isEnough = this.#isWhole
    const now = performance.now()
    if (this.#closed || now - this.#triedAt < (isEnough ? growRetryMs : retryMs)) return isEnough
    this.#triedAt = now
    if (isEnough) this.#making = this.#making.then(() => this.#make())
    while (!this.#isWhole && this.#grow(this.#wanted - this.#size)) {}
    return this.#isWhole
  }

  /** Leaves as much room as it takes. */
  async #make(): Promise<void> {
    this.#triedAt = performance.now()
    for (;;) {
      await turn()
      const goesOn = !this.#closed && this.#isWhole && this.#size < this.#whole && this.#hasRoomFor(this.#whole)
      if (!goesOn || !this.#grow(this.#whole - this.#size)) return
      this.#wanted = this.#size
    }
  }

  #hasRoomFor(bytes: number): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.#path)
      return bavail * bsize > bytes
    } catch {
      return false
    }
  }

  /**
   * By one piece that cannot be packed. False, and nothing has changed, where the disk has no room
   * for it.
   */
  #grow(wanted: number): boolean {
    const bytes = randomFillSync(Buffer.allocUnsafe(Math.min(chunkBytes, wanted)))
    try {
      if (!this.#hasRoomFor(bytes.length)) return false
      for (let at = 0; at < bytes.length; ) at += writeSync(this.#fd, bytes, at)
      this.#size += bytes.length
      return true
    } catch {
      ftruncateSync(this.#fd, this.#size)
      return false
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true
    await this.#making
    closeSync(this.#fd)
  }
}
