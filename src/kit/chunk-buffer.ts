/** ChunkBuffer below this length are copied together; longer ones are kept as they came. */
const short = 4_096
const firstSlab = 8_192
const lastSlab = 65_536

/**
 * A body's pieces, in order. What they cost is their bytes: a sender may cut a body into chunks of
 * one byte, and an object for each would take a hundred times as much.
 */
export class ChunkBuffer {
  /** In bytes. */
  length = 0
  #count = 0
  #done: Buffer[] = []
  #slab: Buffer | undefined
  /** The part of the slab that is filled and not yet among `#done`. */
  #from = 0
  #to = 0

  add(piece: Buffer): void {
    this.length += piece.length
    this.#count += 1
    if (piece.length < short && this.#count > 1) this.#copy(piece)
    else {
      this.#cut()
      this.#done.push(piece)
    }
  }

  /** All of them, in few buffers; none is left. */
  take(): Buffer[] {
    this.#cut()
    const done = this.#done
    this.#done = []
    this.#slab = undefined
    this.length = 0
    this.#count = 0
    return done
  }

  #copy(piece: Buffer): void {
    if (this.#slab === undefined || this.#slab.length - this.#to < piece.length) this.#grow()
    this.#to += piece.copy(this.#slab as Buffer, this.#to)
  }

  #grow(): void {
    this.#cut()
    this.#slab = Buffer.allocUnsafeSlow(this.#slab === undefined ? firstSlab : Math.min(2 * this.#slab.length, lastSlab))
    this.#from = 0
    this.#to = 0
  }

  #cut(): void {
    if (this.#slab !== undefined && this.#to > this.#from) this.#done.push(this.#slab.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}

/**
 * More than a thousand pieces of fewer than 16 bytes on average: no program that means well sends a
 * document so.
 */
export function isMostlyTinyChunks({ length, count }: { length: number; count: number }): boolean {
  return count > 1_000 && length < 16 * count
}
