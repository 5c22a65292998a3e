import type { RunState } from "#contract"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { transition } from "./transitions.ts"

/** The states of a launch, in order. */
export const launchStates = ["pulling", "creating", "starting", "ready"] as const satisfies RunState[]
export type LaunchState = Exclude<(typeof launchStates)[number], "ready">

/** Details of a started container, as the engine reports them. */
export type ContainerDetails = Partial<Pick<RunRow, "imageDigest" | "registryDigest" | "nodeNames" | "gpuDevices">>

/**
 * Writes the state of a launch without delaying it. States that arrive during a write are written
 * together.
 */
export class LaunchStateWriter {
  readonly #ctx: RunsContext
  readonly #id: number
  #pending: { state: LaunchState; details: ContainerDetails } | undefined
  #writing: Promise<void> | undefined

  constructor(ctx: RunsContext, id: number) {
    this.#ctx = ctx
    this.#id = id
  }

  write(state: LaunchState, details: ContainerDetails = {}): void {
    this.#pending = { state, details: { ...this.#pending?.details, ...details } }
    this.#writing ??= this.#write()
    this.#writing.catch(() => {})
  }

  /**
   * Resolves when everything is written. Retries a failed write once, and rejects if it fails
   * again.
   */
  async flush(): Promise<void> {
    await this.#writing?.catch(() => {})
    if (this.#pending) await this.#write()
  }

  async #write(): Promise<void> {
    try {
      for (let pending = this.#pending; pending; pending = this.#pending) {
        await transition(this.#ctx, this.#id, {
          path: launchStates.slice(0, launchStates.indexOf(pending.state) + 1),
          fields: pending.details,
          updatesAtEnd: true,
        })
        if (this.#pending === pending) this.#pending = undefined
      }
    } finally {
      this.#writing = undefined
    }
  }
}
