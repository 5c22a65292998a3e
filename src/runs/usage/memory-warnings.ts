import type { RunRow } from "#store"

/**
 * Warnings that processes of a run were killed because its memory ran out. A program that starts
 * them again causes one for the first, second, fourth and so on.
 */
export class MemoryWarnings {
  readonly #warn: (run: RunRow, text: string) => void
  /** Number of killed processes in the last warning, by run ID. */
  readonly #warned = new Map<number, number>()

  constructor(warn: (run: RunRow, text: string) => void) {
    this.#warn = warn
  }

  /** `kills`: since the start of the run. */
  report(run: RunRow, kills: number): void {
    const warned = this.#warned.get(run.id) ?? 0
    if (kills === 0 || kills < 2 * warned) return
    this.#warned.set(run.id, kills)
    const subject = kills === 1 ? "A process of the run was" : `${kills} processes of the run were`
    this.#warn(run, `${subject} killed because the run used all of its memory`)
  }

  retainOnly(isLive: (id: number) => boolean): void {
    for (const id of this.#warned.keys()) if (!isLive(id)) this.#warned.delete(id)
  }
}
