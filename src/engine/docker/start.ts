import type Dockerode from "dockerode"
import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { EngineError, type RunSpec, type StartStep } from "../engine.ts"
import { accountFiles } from "./accounts.ts"
import { Beginning } from "./began.ts"
import type { Api, DockerClient } from "./client.ts"
import { type ContainerOptions, containerOptions, homeOf } from "./container.ts"
import { ifFound, isNetworkGone } from "./errors.ts"
import { finish } from "./finish.ts"
import { ensureImage } from "./image.ts"
import { belongsTo, containerName } from "./labels.ts"
import type { RunNetwork } from "./network.ts"
import type { DockerOptions } from "./options.ts"
import type { PinnedMount, Pins } from "./pins.ts"
import { removeContainer } from "./remove.ts"

export interface StarterParts {
  client: DockerClient
  pins: Pins
  network: RunNetwork
  options: DockerOptions
}

type Report = (step: StartStep) => void

/** Takes a run from nothing to a started program, or back to nothing. */
export class Starter {
  readonly #client: DockerClient
  readonly #pins: Pins
  readonly #network: RunNetwork
  readonly #options: DockerOptions
  readonly #clock: Clock
  readonly #log: Logger
  readonly #beginning: Beginning

  constructor({ client, pins, network, options }: StarterParts) {
    this.#client = client
    this.#pins = pins
    this.#network = network
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.logger ?? silentLogger
    this.#beginning = new Beginning(client, options.clock)
  }

  /** Answers the image's digest. */
  async start(spec: RunSpec, report: Report, signal: AbortSignal): Promise<string> {
    const left = await this.#inspect(containerName(spec.key), signal)
    if (left && !belongsTo(this.#options.instance, left.Config.Labels)) {
      throw new EngineError("engine_error", "Another installation of Quayside has a container of this run's name")
    }
    if (left?.State.Running) return left.Image
    if (left) await removeContainer(this.#client, left.Id, { graceMs: 0, running: false })
    try {
      return await this.#makeOrUndo(spec, report, signal)
    } catch (error) {
      if (!isNetworkGone(error)) throw error
      this.#network.forget()
      return this.#makeOrUndo(spec, report, signal)
    }
  }

  async #makeOrUndo(spec: RunSpec, report: Report, signal: AbortSignal): Promise<string> {
    try {
      return await this.#make(spec, report, signal)
    } catch (error) {
      await this.#undo(spec.key)
      throw error
    }
  }

  async #make(spec: RunSpec, report: Report, signal: AbortSignal): Promise<string> {
    const image = await ensureImage(this.#client, spec.image, { report, signal })
    report({ state: "creating", progress: null })
    const pinned = await this.#prepare(spec, signal)
    const container = await this.#create({ spec, imageId: image.Id, mounts: pinned }, signal)
    report({ state: "starting", progress: null })
    await this.#finish(() => container.start(), signal)
    await this.#beginning.check(container.id, pinned)
    signal.throwIfAborted()
    await this.#unpin(spec.key)
    return image.Id
  }

  /** Both are waited for to their ends, also when one fails: nothing may be pinned after `#undo` has begun. */
  async #prepare(spec: RunSpec, signal: AbortSignal): Promise<PinnedMount[]> {
    const [pinned, network] = await Promise.allSettled([this.#pin(spec, signal), this.#network.ensure(signal)])
    if (pinned.status === "rejected") throw pinned.reason
    if (network.status === "rejected") throw network.reason
    return pinned.value
  }

  #pin(spec: RunSpec, signal: AbortSignal): Promise<PinnedMount[]> {
    const { uid, gid = uid } = this.#options
    const files = accountFiles({ user: spec.user, home: homeOf(spec), uid, gid })
    return this.#pins.pin({ key: spec.key, mounts: spec.mounts, files, uid, gid }, signal)
  }

  async #create(parts: Pick<ContainerOptions, "spec" | "imageId" | "mounts">, signal: AbortSignal): Promise<Dockerode.Container> {
    const { instance, uid, gid = uid } = this.#options
    const body = containerOptions({ ...parts, instance, network: this.#network.name, uid, gid })
    const named = { ...body, name: containerName(parts.spec.key) }
    return this.#finish((docker) => docker.createContainer(named), signal)
  }

  #finish<T>(work: (docker: Api) => Promise<T>, signal: AbortSignal): Promise<T> {
    return finish(() => this.#client.call(work, { ms: 0 }), { clock: this.#clock, signal })
  }

  /** Best effort: what cannot be undone now, because the daemon is gone, is seen by `observe` and stopped. */
  async #undo(key: string): Promise<void> {
    const found = await this.#inspect(containerName(key)).catch(() => undefined)
    if (found && belongsTo(this.#options.instance, found.Config.Labels)) {
      await removeContainer(this.#client, found.Id, { graceMs: 0, running: found.State.Running }).catch(() => {})
    }
    await this.#unpin(key)
  }

  /** What cannot be unmounted now is tried again by the sweep that goes with every observation. */
  async #unpin(key: string): Promise<void> {
    await this.#pins.release(key).catch((err: unknown) => this.#log.warn({ key, err }, "pinned directories could not be released"))
  }

  #inspect(container: string, signal?: AbortSignal): Promise<Dockerode.ContainerInspectInfo | undefined> {
    return ifFound(
      this.#client.call((docker, abort) => docker.getContainer(container).inspect(abort), {
        signal,
      }),
    )
  }
}
