/** Shorter chunks are copied into a slab; longer ones are stored as they are. */
const maxCopiedBytes = 4_096
const firstSlabBytes = 8_192
const maxSlabBytes = 65_536

/**
 * The chunks of a body, in order. A client may send chunks of one byte: one object for each would
 * need a hundred times their memory, so short chunks share a slab.
 */
export class ChunkBuffer {
  /** In bytes. */
  length = 0
  #count = 0
  #done: Buffer[] = []
  #slab: Buffer | undefined
  /** The filled part of the slab that is not yet in `#done`. */
  #from = 0
  #to = 0

  add(chunk: Buffer): void {
    this.length += chunk.length
    this.#count += 1
    if (chunk.length < maxCopiedBytes && this.#count > 1) this.#copy(chunk)
    else {
      this.#cut()
      this.#done.push(chunk)
    }
  }

  /** Removes and returns all bytes, in few buffers. */
  take(): Buffer[] {
    this.#cut()
    const done = this.#done
    this.#done = []
    this.#slab = undefined
    this.length = 0
    this.#count = 0
    return done
  }

  #copy(chunk: Buffer): void {
    if (this.#slab === undefined || this.#slab.length - this.#to < chunk.length) this.#grow()
    this.#to += chunk.copy(this.#slab as Buffer, this.#to)
  }

  #grow(): void {
    this.#cut()
    this.#slab = Buffer.allocUnsafeSlow(this.#slab === undefined ? firstSlabBytes : Math.min(2 * this.#slab.length, maxSlabBytes))
    this.#from = 0
    this.#to = 0
  }

  #cut(): void {
    if (this.#slab !== undefined && this.#to > this.#from) this.#done.push(this.#slab.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

/**
 * Whether a body has more than a thousand chunks of fewer than 16 bytes on average. No well-behaved
 * client sends a document like that.
 */
export function isMostlyTinyChunks({ length, count }: { length: number; count: number }): boolean {
  return count > 1_000 && length < 16 * count
}
