/** Lets others run when the present piece of synchronous work took longer than 5 ms. */
export class Slice {
  #until = performance.now() + sliceMs

  /** Undefined, and so nothing to wait for, while the slice lasts. */
  pause(): Promise<void> | undefined {
    if (performance.now() < this.#until) return undefined
    return new Promise((resolve) =>
      setImmediate(() => {
        this.#until = performance.now() + sliceMs
        resolve()
      }),
    )
  }
}
const sliceMs = 5
