import { EngineError } from "../engine.ts"
import type { DockerClient } from "./client.ts"
import { ifFound, statusOf } from "./errors.ts"
import { belongsTo, instanceLabel } from "./labels.ts"

/**
 * The bridge on which the runs of an instance live. They cannot talk to each other on it; nothing is published: Quayside reaches
 * a run at its own address. What a run may reach outside is not this file's matter.
 */
export class RunNetwork {
  readonly #client: DockerClient
  readonly #instance: string
  readonly name: string
  #ready: Promise<void> | undefined

  constructor(client: DockerClient, instance: string) {
    this.#client = client
    this.#instance = instance
    this.name = `quayside-${instance}`
  }

  /** Makes the network when it is missing; asks the daemon once and again after `forget`. */
  async ensure(signal: AbortSignal): Promise<void> {
    this.#ready ??= this.#ensure()
    const ready = this.#ready
    try {
      await ready
    } catch (error) {
      if (this.#ready === ready) this.#ready = undefined
      throw error
    }
    signal.throwIfAborted()
  }

  /** The next start looks again: the daemon said that the network is gone. */
  forget(): void {
    this.#ready = undefined
  }

  /** Takes the network away unless a run is on it: address ranges are few. Does nothing where that fails. */
  async removeUnused(): Promise<void> {
    if (this.#ready === undefined) return
    this.#ready = undefined
    await this.#client.call((docker) => docker.getNetwork(this.name).remove(), { ms: 5_000 }).catch(() => {})
  }

  async #ensure(): Promise<void> {
    if (await this.#isThere()) return
    const [label = "", value = ""] = instanceLabel(this.#instance).split("=")
    try {
      await this.#client.call((docker) =>
        docker.createNetwork({
          Name: this.name,
          CheckDuplicate: true,
          Driver: "bridge",
          EnableIPv6: false,
          Labels: { [label]: value },
          Options: { "com.docker.network.bridge.enable_icc": "false" },
        }),
      )
    } catch (error) {
      if (statusOf(error) !== 409) throw error
      await this.#isThere()
    }
  }

  async #isThere(): Promise<boolean> {
    const found = await ifFound(this.#client.call((docker) => docker.getNetwork(this.name).inspect()))
    if (!found) return false
    if (belongsTo(this.#instance, found.Labels)) return true
    throw new EngineError("engine_error", `A network named ${this.name} exists that Quayside has not made`)
  }
}
