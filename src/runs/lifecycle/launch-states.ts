import type { RunState } from "#contract"
import type { RunAddress } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"
import { transitionInTransaction } from "./transitions.ts"

/** The states of a launch, in order. */
export const launchStates = ["pulling", "creating", "starting", "ready"] as const satisfies RunState[]
export type LaunchState = Exclude<(typeof launchStates)[number], "ready">

/** Details of a started container, as the engine reports them. */
export type ContainerDetails = Partial<Pick<RunRow, "imageDigest" | "registryDigest" | "nodeNames" | "gpuDevices">>

/** Fields that are set together with a state. */
type LaunchFields = ContainerDetails & Partial<Pick<RunRow, "readyTime" | "lastActivity">>

interface Pending {
  state: (typeof launchStates)[number]
  fields: LaunchFields
  address: RunAddress | undefined
}

/**
 * Writes the states of a launch without delaying it. States that arrive before a write begins are
 * written together.
 */
export class LaunchStateWriter {
  readonly #ctx: RunsContext
  readonly #id: number
  #state: (typeof launchStates)[number]
  #pending: Pending | undefined
  #writing: Promise<void> | undefined

  /** `state` is stored already. */
  constructor(ctx: RunsContext, { id, state }: { id: number; state: LaunchState }) {
    this.#ctx = ctx
    this.#id = id
    this.#state = state
  }

  /** A state that was reported before, or an earlier one, needs no write. */
  write(state: LaunchState, details: ContainerDetails = {}): void {
    if (indexOf(state) > indexOf(this.#state) || Object.keys(details).length > 0) this.#write({ state, fields: details })
  }

  /** The program answers there. Resolves and rejects as `flush` does. */
  async writeReady(address: RunAddress): Promise<void> {
    const now = this.#ctx.clock.now()
    this.#write({ state: "ready", fields: { readyTime: now, lastActivity: now }, address })
    await this.flush()
  }

  /**
   * Resolves when everything is written. Retries a failed write once, and rejects if it fails
   * again.
   */
  async flush(): Promise<void> {
    await this.#writing?.catch(() => {})
    if (this.#pending) await this.#writePending()
  }

  #write({ state, fields, address }: Omit<Pending, "address"> & Partial<Pick<Pending, "address">>): void {
    if (indexOf(state) > indexOf(this.#state)) this.#state = state
    this.#pending = { state: this.#state, fields: { ...this.#pending?.fields, ...fields }, address }
    this.#writing ??= this.#writePending().finally(() => {
      this.#writing = undefined
    })
    this.#writing.catch(() => {})
  }

  async #writePending(): Promise<void> {
    while (this.#pending) {
      let written: Pending | undefined
      await this.#ctx.change((tx) => {
        written = this.#pending
        return written ? transitionInTransaction(this.#ctx, tx, this.#stepTo(written)) : Promise.resolve(undefined)
      })
      if (this.#pending === written) this.#pending = undefined
    }
  }

  #stepTo({ state, fields, address }: Pending) {
    const path = launchStates.slice(0, indexOf(state) + 1)
    return { id: this.#id, path, fields, updatesAtEnd: state !== "ready", ...(address && { address }) }
  }
}

function indexOf(state: (typeof launchStates)[number]): number {
  return launchStates.indexOf(state)
}
