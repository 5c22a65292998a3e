import { EngineError, type GpuDevice, type RunSpec } from "../../engine.ts"
import { isMockGpu } from "../../gpus/mock-gpus.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { gpuAllocationOf, gpusLabel } from "./labels.ts"

/** A container that uses devices, or is about to. */
interface GpuHolder {
  instance: string
  key: string
  gpuDevices: readonly string[]
}

/**
 * The devices in use on this daemon, from the labels of its containers: those of every instance,
 * since instances on one machine share its devices. Simulated devices belong to one instance.
 */
export class GpuAllocations {
  readonly #client: DockerClient
  readonly #instance: string

  constructor(client: DockerClient, instance: string) {
    this.#client = client
    this.#instance = instance
  }

  /** The devices, with a fault for those that another instance's containers use. */
  async withForeignUse(devices: readonly GpuDevice[], signal: AbortSignal | undefined): Promise<GpuDevice[]> {
    if (devices.every(({ id }) => isMockGpu(id))) return [...devices]
    const foreign = (await this.#list(signal)).filter(({ instance }) => instance !== this.#instance)
    const used = new Set(foreign.flatMap(({ gpuDevices }) => gpuDevices))
    const fault = "another installation of Quayside uses it"
    return devices.map((device) => (device.fault === undefined && used.has(device.id) ? { ...device, fault } : device))
  }

  /** Rejects if another container has a device of the spec, whatever the database says. */
  async assertFree({ key, gpus }: RunSpec, signal: AbortSignal): Promise<void> {
    for (const holder of await this.#list(signal)) {
      if (holder.key === key) continue
      const taken = gpus.find((id) => holder.gpuDevices.includes(id) && (holder.instance === this.#instance || !isMockGpu(id)))
      if (taken !== undefined)
        throw new EngineError("insufficient_gpu", `The GPU ${taken} is still in use by another container`, {
          detail: `run ${holder.key} of instance ${holder.instance} holds ${taken}`,
        })
    }
  }

  async #list(signal: AbortSignal | undefined): Promise<GpuHolder[]> {
    const filters = { label: [gpusLabel], status: ["created", "restarting", "running", "removing", "paused"] }
    const list = await this.#client.call((docker, abort) => docker.listContainers({ all: true, filters, ...abort }), { signal })
    return list.map(({ Labels }) => gpuAllocationOf(Labels))
  }
}
