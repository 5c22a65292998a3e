/** Time in which the formulas and colours of one text may be drawn. */
const maxTotalMs = 2_000
/** After so long the page does other things first. */
const sliceMs = 40

/**
 * Draws the costly parts of one text one after another, and leaves the page time for clicks between
 * them. Once the time is used up, further parts stay as they were written: a text may have
 * thousands of the worst ones.
 */
export class DrawingBudget {
  readonly #now: () => number
  #leftMs = maxTotalMs
  #sliceMs = 0
  #last: Promise<void> = Promise.resolve()

  constructor(now: () => number = () => performance.now()) {
    this.#now = now
  }

  /** Calls `draw` when it is its turn, if time is left. Resolves with whether it was drawn. */
  draw(draw: () => void): Promise<boolean> {
    const drawn = this.#last.then(async () => {
      if (this.#leftMs <= 0) return false
      if (this.#sliceMs >= sliceMs) await nextTurn()
      const began = this.#now()
      try {
        draw()
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
    this.#last = drawn.then(() => {})
    return drawn
  }
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0))
}
