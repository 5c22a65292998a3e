import type Dockerode from "dockerode"
import { bounds } from "#contract"
import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { checkDigest, EngineError, type ResolveMounts, type RunSpec, type StartStep } from "../../engine.ts"
import type { Abort, Api, DockerClient } from "../client/docker-client.ts"
import { ifFound, isAddressTaken, isBoundRefused, isDiskBoundRefused, isMomentary, isNetworkFull, isNetworkGone } from "../client/errors.ts"
import type { DockerOptions } from "../docker-options.ts"
import type { Firewall } from "../firewall/firewall.ts"
import { ImageAccounts } from "../images/account-file-check.ts"
import type { Images } from "../images/image-store.ts"
import type { PinnedMount, Pins } from "../mounts/mount-pins.ts"
import type { Networks, Place } from "../network/user-networks.ts"
import { accountFiles } from "./account-files.ts"
import { finish } from "./complete-call.ts"
import { bareOptions, type ContainerOptions, containerOptions, homeOf } from "./container-options.ts"
import { createContainer } from "./create-container.ts"
import { DiskBound } from "./disk-limit.ts"
import { belongsTo, containerName } from "./labels.ts"
import { checkListed } from "./listing-size.ts"
import { openFilesBound } from "./max-open-files.ts"
import { removeContainer } from "./remove-container.ts"
import { Beginning } from "./start-check.ts"

export interface StarterParts {
  client: DockerClient
  pins: Pins
  networks: Networks
  firewall: Firewall | undefined
  images: Images
  /** As `seccompProfile` has it. */
  seccomp: string
  options: DockerOptions
}

const { networkTries, momentaryRefusals } = bounds.containers
/** Before the second attempt; doubled for each further one. */
const firstPauseMs = 100

/**
 * A stop of the run waits for its start to be undone: with a daemon that hangs it must still have
 * time to find that out by itself.
 */
const undoMs = 5_000

type Report = (step: StartStep) => void

interface Wanted {
  spec: RunSpec
  report: Report
  /** As `Engine.start` has it. */
  resolveMounts: ResolveMounts | undefined
}

interface Making extends Wanted {
  imageId: string
  /** As `ContainerOptions` has it. */
  diskBytes: number | undefined
}

/** An attempt failed in a way in which another need not, be it now or in a moment. */
class Another extends Error {
  readonly when: "now" | "later"

  constructor(when: "now" | "later", cause: unknown) {
    super("another attempt is made", { cause })
    this.when = when
  }
}

function ifMomentary(error: unknown): never {
  throw isMomentary(error) ? new Another("later", error) : error
}

/** Takes a run from nothing to a started program, or back to nothing. */
export class Starter {
  readonly #client: DockerClient
  readonly #pins: Pins
  readonly #networks: Networks
  readonly #firewall: Firewall | undefined
  readonly #images: Images
  readonly #seccomp: string
  readonly #options: DockerOptions
  readonly #clock: Clock
  readonly #log: Logger
  readonly #beginning: Beginning
  readonly #diskBound: DiskBound
  readonly #accounts: ImageAccounts
  #openFiles: number | undefined

  constructor({ client, pins, networks, firewall, images, seccomp, options }: StarterParts) {
    this.#client = client
    this.#pins = pins
    this.#networks = networks
    this.#firewall = firewall
    this.#images = images
    this.#seccomp = seccomp
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.logger ?? silentLogger
    this.#openFiles = options.openFiles ?? openFilesBound()
    this.#beginning = new Beginning(client, options.clock)
    this.#diskBound = new DiskBound(client, this.#log)
    this.#accounts = new ImageAccounts(client)
  }

  /** The daemon may be another one, or other than it was. */
  forget(): void {
    this.#diskBound.forget()
  }

  /** Answers the image's digest. */
  async start(wanted: Wanted, signal: AbortSignal): Promise<string> {
    const { spec, report } = wanted
    const left = await this.#inspect(containerName(spec.key), signal)
    if (left && !belongsTo(this.#options.instance, left.Config.Labels)) {
      throw new EngineError("engine_error", "Another installation of Quayside has a container of this run's name")
    }
    if (left?.State.Running) return left.Image
    checkListed(spec, this.#options.instance)
    if (left) await removeContainer(this.#client, left.Id, { graceMs: 0, running: false })
    const imageId = await this.#images.ensure(spec.image, spec.imagePolicy, { report, signal })
    checkDigest(spec, imageId)
    report({ state: "creating", progress: null })
    const diskBytes = await this.#diskBound.bytesFor(spec, imageId, signal)
    return this.#onNetwork({ ...wanted, imageId, diskBytes }, signal)
  }

  /**
   * What only the daemon knows is found out by trying: then there is another place, another bound,
   * or another moment.
   */
  async #onNetwork(making: Making, signal: AbortSignal): Promise<string> {
    let momentsLeft = momentaryRefusals.value as number
    for (let triesLeft = networkTries.value as number; ; triesLeft -= 1) {
      try {
        return await this.#onPlace(making, signal)
      } catch (error) {
        if (!(error instanceof Another)) throw error
        if (error.when === "later") momentsLeft -= 1
        if (triesLeft === 0 || momentsLeft < 0) throw error.cause
        const n = momentaryRefusals.value - momentsLeft
        if (error.when === "later") await this.#clock.sleep(firstPauseMs * 2 ** (n - 1), signal)
      }
    }
  }

  /** Rejects with `Another` where another attempt may go well. */
  async #onPlace(making: Making, signal: AbortSignal): Promise<string> {
    const { user, internetOf: group = "" } = making.spec
    using place = await this.#networks.place({ user, group }, signal).catch(ifMomentary)
    try {
      const imageId = await this.#makeOrUndo(making, place, signal)
      place.keep()
      return imageId
    } catch (error) {
      if (isNetworkGone(error)) this.#networks.forget(place)
      else if (isNetworkFull(error)) this.#networks.isFull(place)
      else if (isAddressTaken(error)) this.#networks.isTaken(place)
      else if (isBoundRefused(error) && this.#openFiles !== undefined) this.#openFiles = undefined
      else if (isDiskBoundRefused(error) && making.diskBytes !== undefined) this.#unbind(making, error)
      else return ifMomentary(error)
      throw new Another("now", error)
    }
  }

  #unbind(making: Making, error: unknown): void {
    making.diskBytes = undefined
    this.#diskBound.refused(error)
  }

  async #makeOrUndo(making: Making, place: Place, signal: AbortSignal): Promise<string> {
    try {
      return await this.#make(making, place, signal)
    } catch (error) {
      await this.#undo(making.spec.key)
      throw error
    }
  }

  async #make(
    { spec, imageId, diskBytes, report, resolveMounts }: Making,
    { network, address }: Place,
    signal: AbortSignal,
  ): Promise<string> {
    if (!this.#accounts.isKnown(imageId)) await this.#look(spec, imageId, signal)
    const mounts = await this.#prepare({ spec, resolveMounts }, signal)
    const container = await this.#create({ spec, imageId, diskBytes, mounts, network, address }, signal)
    report({ state: "starting", progress: null })
    await this.#finish((_, abort) => container.start(abort), { owner: spec.user, signal })
    // The container has mounts of its own by now, and what they must be was noted when they were
    // pinned.
    const [checked] = await Promise.allSettled([this.#beginning.check(container.id, mounts), this.#unpin(spec.key)])
    if (checked.status === "rejected") throw checked.reason
    signal.throwIfAborted()
    return imageId
  }

  /**
   * By a container of the run's own name and labels: whoever finds it after a crash knows what to
   * do with it.
   */
  async #look(spec: RunSpec, imageId: string, signal: AbortSignal): Promise<void> {
    const body = { ...bareOptions({ spec, imageId, instance: this.#options.instance }), name: containerName(spec.key) }
    const { id } = await this.#finish((docker, abort) => createContainer(docker, body, abort), { owner: spec.user, signal })
    await this.#accounts.check(imageId, id, signal)
    await removeContainer(this.#client, id, { graceMs: 0, running: false })
  }

  /**
   * Both are waited for to their ends, also when one fails: nothing may be pinned after `#undo` has
   * begun.
   */
  async #prepare(wanted: Omit<Wanted, "report">, signal: AbortSignal): Promise<PinnedMount[]> {
    const [pinned, confined] = await Promise.allSettled([this.#pin(wanted, signal), this.#firewall?.ensure()])
    if (pinned.status === "rejected") throw pinned.reason
    if (confined.status === "rejected") throw confined.reason
    return pinned.value
  }

  async #pin({ spec, resolveMounts }: Omit<Wanted, "report">, signal: AbortSignal): Promise<PinnedMount[]> {
    const { uid, gid = uid } = this.#options
    const files = accountFiles({ user: spec.user, home: homeOf(spec), uid, gid })
    const mounts = resolveMounts ? await resolveMounts() : spec.mounts
    signal.throwIfAborted()
    return this.#pins.pin({ key: spec.key, mounts, files, uid, gid }, signal)
  }

  async #create(
    parts: Pick<ContainerOptions, "spec" | "imageId" | "diskBytes" | "mounts" | "network" | "address">,
    signal: AbortSignal,
  ): Promise<Dockerode.Container> {
    const { instance, uid, gid = uid } = this.#options
    const body = containerOptions({ ...parts, instance, uid, gid, openFiles: this.#openFiles, seccomp: this.#seccomp })
    const named = { ...body, name: containerName(parts.spec.key) }
    return this.#finish((docker, abort) => createContainer(docker, named, abort), { owner: parts.spec.user, signal })
  }

  async #finish<T>(work: (docker: Api, abort: Abort) => Promise<T>, { owner, signal }: { owner: string; signal: AbortSignal }): Promise<T> {
    const options = { ms: 0, lane: "make", owner, entering: signal } as const
    return finish((cut) => this.#client.call(work, { ...options, signal: cut }), { clock: this.#clock, signal })
  }

  /**
   * Best effort: what cannot be undone now, because the daemon is gone, is seen by `observe` and
   * stopped.
   */
  async #undo(key: string): Promise<void> {
    const found = await this.#inspect(containerName(key), AbortSignal.timeout(undoMs)).catch(() => undefined)
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
