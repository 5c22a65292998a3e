import type { Stats } from "node:fs"

type Identity = Pick<Stats, "dev" | "ino">

/** File systems take times from a clock that is a few milliseconds late. */
const clockToleranceMs = 1_000
/** Uploads since the last count that are remembered, of one account. */
const maxUploads = 10_000

/**
 * The files that an account's sum includes: those of the last count, and uploads since. A run may
 * write a file that no count saw, and delete it here. Such a file must free nothing.
 */
export class KnownFiles {
  #countedAt = Number.NEGATIVE_INFINITY
  /** The bytes that each upload since the last count added. */
  #uploads = new Map<string, number>()

  /** Begins a count. The result is called when it ends. */
  beginCount(now = Date.now()): () => void {
    const before = [...this.#uploads.keys()]
    return () => {
      this.#countedAt = now - clockToleranceMs
      for (const id of before) this.#uploads.delete(id)
    }
  }

  add(file: Identity, bytes: number): void {
    if (this.#uploads.size < maxUploads) this.#uploads.set(idOf(file), bytes)
  }

  /** How many of these bytes the account's sum includes. */
  countedBytes(file: Identity & Pick<Stats, "ctimeMs">, bytes: number): number {
    return file.ctimeMs < this.#countedAt ? bytes : Math.min(bytes, this.#uploads.get(idOf(file)) ?? 0)
  }

  delete(file: Identity): void {
    this.#uploads.delete(idOf(file))
  }
}

export const idOf = ({ dev, ino }: Identity): string => `${dev}:${ino}`
