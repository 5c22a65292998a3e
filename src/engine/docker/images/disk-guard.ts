import { bounds } from "#contract"
import { type Clock, defaultDiskReserve, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { LittleRoom } from "../../stored-images.ts"
import { freeSpaceHint } from "../client/errors.ts"
import { bytesPerInode, type EngineDisk } from "../observe/engine-disk.ts"

/** The daemon unpacks up to some gigabytes in a second. */
const lookEveryMs = 300

export interface DiskGuardOptions {
  /** The disk of the daemon's images; null: it is not visible from here. */
  disk: () => Promise<EngineDisk | null>
  /** Bytes to keep free on a disk of that size. Default: twice the reserve of people's files. */
  minFreeBytes?: ((totalBytes: number) => number) | undefined
  clock?: Clock | undefined
}

const { imageReserve, imageRoomBytes, imageRoomPercent } = bounds.containers

/** Before a run ends because the same disk is nearly full, all pulls do. */
function defaultMinFreeBytes(totalBytes: number): number {
  const { reserveBytes, reservePercent } = bounds.storage
  return imageReserve.value * defaultDiskReserve(totalBytes, { minBytes: reserveBytes.value, fraction: reservePercent.value / 100 })
}

/**
 * Ends pulls while the daemon's disk is nearly full. A layer of a megabyte may unpack to gigabytes,
 * or to a million empty files, and no manifest tells how large it is.
 */
export class DiskGuard {
  readonly #options: DiskGuardOptions

  constructor(options: DiskGuardOptions) {
    this.#options = options
  }

  /** The bytes that the disk lacks for most images; undefined: none. */
  async littleRoom(): Promise<LittleRoom | undefined> {
    const { disk, minFreeBytes = defaultMinFreeBytes } = this.#options
    const found = await disk()
    if (!found) return undefined
    const { totalBytes } = found
    const room = Math.min(imageRoomBytes.value, (totalBytes * imageRoomPercent.value) / 100)
    const lackingBytes = minFreeBytes(totalBytes) + room - freeRoom(found)
    return lackingBytes > 0 ? { lackingBytes, totalBytes } : undefined
  }

  /** Aborts the signal of the pull with `disk_full` when the disk is nearly full. */
  async watch<T>(signal: AbortSignal, pull: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const full = new AbortController()
    const done = new AbortController()
    const watching = this.#abortWhenFull(full, done.signal)
    try {
      return await pull(AbortSignal.any([signal, full.signal]))
    } finally {
      done.abort()
      await watching
    }
  }

  async #abortWhenFull(full: AbortController, done: AbortSignal): Promise<void> {
    const { disk, minFreeBytes = defaultMinFreeBytes, clock = systemClock } = this.#options
    while (!done.aborted) {
      const found = await disk()
      if (found && freeRoom(found) < minFreeBytes(found.totalBytes)) return full.abort(diskFull())
      await clock.sleep(lookEveryMs, done).catch(() => {})
    }
  }
}

/** The free bytes, or the share of the disk that its free inodes are, whichever is less. */
function freeRoom(disk: EngineDisk): number {
  return disk.totalInodes > 0 ? Math.min(disk.freeBytes, disk.freeInodes * bytesPerInode(disk)) : disk.freeBytes
}

function diskFull(): EngineError {
  const hint = `${freeSpaceHint}. An image may need many times its compressed size`
  return new EngineError("disk_full", "The disk of the container engine is nearly full: there is no room for more images", { hint })
}
