import type { RunState } from "#contract"
import type { RunRow } from "#store"
import type { Context } from "./context.ts"
import { move } from "./moves.ts"

/** The way of a run that is being launched. */
export const launchPath = ["pulling", "creating", "starting", "ready"] as const satisfies RunState[]
export type Stage = Exclude<(typeof launchPath)[number], "ready">

/** What the engine tells of a run that it started. */
export type Facts = Partial<Pick<RunRow, "imageDigest" | "nodeNames" | "gpuDevices">>

/**
 * Writes how far a start has come, beside the start itself. While one write is under way the later
 * ones fall together.
 */
export class StageWriter {
  readonly #ctx: Context
  readonly #id: number
  #wanted: { stage: Stage; facts: Facts } | undefined
  #writing: Promise<void> | undefined

  constructor(ctx: Context, id: number) {
    this.#ctx = ctx
    this.#id = id
  }

  want(stage: Stage, facts: Facts = {}): void {
    this.#wanted = { stage, facts: { ...this.#wanted?.facts, ...facts } }
    this.#writing ??= this.#write()
    this.#writing.catch(() => {})
  }

  /**
   * Resolves when all is written, tried once more where it failed; rejects when it could not be.
   */
  async flush(): Promise<void> {
    await this.#writing?.catch(() => {})
    if (this.#wanted) await this.#write()
  }

  async #write(): Promise<void> {
    try {
      for (let wanted = this.#wanted; wanted; wanted = this.#wanted) {
        await move(this.#ctx, this.#id, {
          path: launchPath.slice(0, launchPath.indexOf(wanted.stage) + 1),
          fields: wanted.facts,
          again: true,
        })
        if (this.#wanted === wanted) this.#wanted = undefined
      }
    } finally {
      this.#writing = undefined
    }
  }
}
