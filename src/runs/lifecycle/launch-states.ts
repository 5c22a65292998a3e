import type { RunState } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { transition } from "./transitions.ts"

/** The way of a run that is being launched. */
export const launchStates = ["pulling", "creating", "starting", "ready"] as const satisfies RunState[]
export type LaunchState = Exclude<(typeof launchStates)[number], "ready">

/** What the engine tells of a run that it started. */
export type ContainerDetails = Partial<Pick<RunRow, "imageDigest" | "nodeNames" | "gpuDevices">>

/**
 * Writes how far a start has come, beside the start itself. While one write is under way the later
 * ones fall together.
 */
export class LaunchStateWriter {
  readonly #ctx: RunsContext
  readonly #id: number
  #wanted: { stage: LaunchState; facts: ContainerDetails } | undefined
  #writing: Promise<void> | undefined

  constructor(ctx: RunsContext, id: number) {
    this.#ctx = ctx
    this.#id = id
  }

  write(stage: LaunchState, facts: ContainerDetails = {}): void {
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
        await transition(this.#ctx, this.#id, {
          path: launchStates.slice(0, launchStates.indexOf(wanted.stage) + 1),
          fields: wanted.facts,
          updatesAtEnd: true,
        })
        if (this.#wanted === wanted) this.#wanted = undefined
      }
    } finally {
      this.#writing = undefined
    }
  }
}
