/** Time in which the formulas and colours of one text may be rendered. */
const maxTotalMs = 2_000
/** Time in which texts are parsed. One of ordinary length takes a few milliseconds. */
const maxParseMs = 500
/** After so long the page does other things first. */
const sliceMs = 40

/**
 * Parses texts that are shown together, such as the cells of a notebook, within one time: each of
 * hundreds may take all of it. Renders the costly parts of one text one after another, and leaves
 * the page time for clicks between them. Once the time is used up, further parts stay as they were
 * written: a text may have thousands of the worst ones.
 */
export class RenderBudget {
  readonly #now: () => number
  #leftMs = maxTotalMs
  #parseMs = maxParseMs
  #sliceMs = 0
  #last: Promise<void> = Promise.resolve()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Calls `work` with the time that is left for parsing, in milliseconds. */
  parse<T>(work: (maxMs: number) => T): T {
    const began = this.#now()
    try {
      return work(this.#parseMs)
    } finally {
      this.#parseMs = Math.max(0, this.#parseMs - (this.#now() - began))
    }
  }

  /** Calls `render` when it is its turn, if time is left. Resolves with whether it was rendered. */
  render(render: () => void): Promise<boolean> {
    const rendered = this.#last.then(async () => {
      if (this.#leftMs <= 0) return false
      if (this.#sliceMs >= sliceMs) await nextTurn()
      const began = this.#now()
      try {
        render()
        return true
      } catch {
        // The part is readable as it was written.
        return false
      } finally {
        const tookMs = this.#now() - began
        this.#leftMs -= tookMs
        this.#sliceMs = (this.#sliceMs >= sliceMs ? 0 : this.#sliceMs) + tookMs
      }
    })
    this.#last = rendered.then(() => {})
    return rendered
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
