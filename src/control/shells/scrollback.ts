/** The last bytes of a shell's output, from the beginning of a line on if older ones are gone. */
export class Scrollback {
  readonly #maxBytes: number
  readonly #chunks: Uint8Array[] = []
  #length = 0
  #isCut = false

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  get length(): number {
    return this.#length
  }

  add(data: Uint8Array): void {
    const last = data.subarray(Math.max(0, data.length - this.#maxBytes))
    this.#isCut ||= last.length < data.length
    // Small chunks are merged: a shell prints single characters.
    const tail = this.#chunks.at(-1)
    if (tail && tail.length + last.length <= mergedBytes) this.#chunks[this.#chunks.length - 1] = concat([tail, last])
    else this.#chunks.push(last.slice())
    this.#length += last.length
    while (this.#length > this.#maxBytes) {
      const first = this.#chunks[0] as Uint8Array
      const rest = first.subarray(Math.min(first.length, this.#length - this.#maxBytes))
      this.#length -= first.length - rest.length
      this.#isCut = true
      if (rest.length === 0) this.#chunks.shift()
      else this.#chunks[0] = rest
    }
  }

  bytes(): Uint8Array {
    const all = concat(this.#chunks)
    return this.#isCut ? all.subarray(all.indexOf(newline) + 1) : all
  }
}

const mergedBytes = 4_096
const newline = 10

function concat(chunks: readonly Uint8Array[]): Uint8Array {
  return Buffer.concat(chunks)
}
