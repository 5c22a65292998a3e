import type { GpuDevice, NodeCapacity } from "#engine"
import type { RunRow } from "#store"
import type { RunsContext } from "../context.ts"

/** Warns people whose run has a GPU with a fault. Their run continues. */
export class GpuWatch {
  readonly #ctx: RunsContext
  /** The devices of each run about which a warning was sent. */
  readonly #warned = new Map<number, Set<string>>()

  constructor(ctx: RunsContext) {
    this.#ctx = ctx
  }

  /** Compares live runs with the devices that the engine reports. */
  check(nodes: readonly NodeCapacity[]): void {
    const { engine, runCache } = this.#ctx
    if (engine.placement === "engine" || nodes.length === 0) return
    for (const id of this.#warned.keys()) if (!runCache.row(id)) this.#warned.delete(id)
    const devices = new Map(nodes.flatMap(({ gpus }) => gpus.map((gpu) => [gpu.id, gpu])))
    for (const run of runCache.rows()) {
      if (run.state === "queued" || run.state === "stopping") continue
      for (const id of run.gpuDevices) this.#checkDevice(run, id, devices.get(id))
    }
  }

  #checkDevice(run: RunRow, id: string, device: GpuDevice | undefined): void {
    const warned = this.#warned.get(run.id) ?? new Set()
    const fault = device ? device.fault : "this machine does not list it"
    if ((fault !== undefined) === warned.has(id)) return
    const name = device ? `${id} (${device.model})` : id
    if (fault === undefined) {
      warned.delete(id)
      this.#ctx.events.warning(run, `The GPU ${name} can be used again. Restart the programs that used it`)
      return
    }
    this.#warned.set(run.id, warned.add(id))
    const advice = "Programs that use it fail. Save your work, stop the run and start the project again to get another GPU"
    this.#ctx.events.warning(run, `The GPU ${name} of this run cannot be used any more: ${fault}. ${advice}`)
  }
}
