import { randomFillSync } from "node:crypto"
import { closeSync, fstatSync, ftruncateSync, openSync, statfsSync, writeSync } from "node:fs"
import { setImmediate as turn } from "node:timers/promises"
import { bounds } from "#contract"
import type { DiskSpaceReserve } from "../driver.ts"

const mib = 2 ** 20
/** Enough for the log to grow until it is folded into the database (16 MiB) and reused. */
const maxBytes = bounds.storage.diskReserveBytes.value
/** The maximum part of the disk. */
const maxPartOfDisk = 1 / 16
/** The file is released in pieces, so that other programs cannot use all of it at once. */
const pieceCount = 16
const chunkBytes = mib
/** Random bytes, which no file system compresses; made when they are first needed. */
let random: Buffer | undefined
/** The smallest part that a file system stores once if another one is the same. */
const blockBytes = 4_096
/** Time between two attempts to restore released pieces, and to complete a partial file. */
const retryMs = 1_000
const growRetryMs = 60_000

/** The random bytes with a number in each block, so that no two blocks of the file are the same. */
function numberedBlocks(position: number): Buffer {
  random ??= randomFillSync(Buffer.allocUnsafe(chunkBytes))
  for (let at = 0; at < chunkBytes; at += blockBytes) random.writeDoubleLE(position + at, at)
  return random
}

/**
 * A file beside the database that occupies space, to be released for urgent changes on a full disk.
 * It grows in the background while the disk has as much free again, and it survives restarts.
 */
export class DiskReserve implements DiskSpaceReserve, AsyncDisposable {
  readonly #fd: number
  readonly #path: string
  readonly #piece: number
  readonly #whole: number
  #making: Promise<void>
  #size: number
  /** The size that must be restored before other changes may write. */
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

  /** Whether all released pieces are restored. */
  get isWhole(): boolean {
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
    const isEnough = this.isWhole
    const now = performance.now()
    if (this.#closed || now - this.#triedAt < (isEnough ? growRetryMs : retryMs)) return isEnough
    this.#triedAt = now
    if (isEnough) this.#making = this.#making.then(() => this.#make())
    while (!this.isWhole && this.#grow(this.#wanted - this.#size)) {}
    return this.isWhole
  }

  /** Grows the file while the disk has as much free again. */
  async #make(): Promise<void> {
    this.#triedAt = performance.now()
    for (;;) {
      await turn()
      const goesOn = !this.#closed && this.isWhole && this.#size < this.#whole && this.#hasRoomFor(this.#whole)
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

  /** Appends bytes that occupy space. False, and unchanged, if they do not fit. */
  #grow(wanted: number): boolean {
    const bytes = numberedBlocks(this.#size).subarray(0, wanted)
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
