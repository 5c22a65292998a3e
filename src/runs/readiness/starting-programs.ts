/** Counts the programs that start, of each person. The rate of looking at them has a maximum. */
export class StartingPrograms {
  readonly #counts = new Map<number, number>()

  /** Until the disposal. */
  add(userId: number): Disposable {
    this.#counts.set(userId, (this.#counts.get(userId) ?? 0) + 1)
    return {
      [Symbol.dispose]: () => {
        const left = (this.#counts.get(userId) ?? 0) - 1
        if (left > 0) this.#counts.set(userId, left)
        else this.#counts.delete(userId)
      },
    }
  }

  /**
   * The factor by which a person's programs are looked at less often, at least 1. `fullRate`: the
   * number of programs that are looked at as often as one. People have equal shares of that.
   */
  slowdownOf(userId: number, fullRate: number): number {
    return Math.max(1, ((this.#counts.get(userId) ?? 0) * this.#counts.size) / fullRate)
  }
}
