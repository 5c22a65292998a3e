import type Dockerode from "dockerode"
import { bounds } from "#contract"
import { type Clock, type Logger, silentLogger, systemClock } from "#kit"
import { accountFiles } from "../../containers/account-files.ts"
import { mountTurns } from "../../containers/mount-sources.ts"
import { homeDirectory, runtimeCreatedDirectories } from "../../containers/run-directories.ts"
import { EngineError, type ImageInfo, type ResolveSpec, type RunSpec, type StartStep } from "../../engine.ts"
import { explainCommandError } from "../client/command-error.ts"
import type { AbortOption, DockerApi } from "../client/docker-api.ts"
import type { CallOptions, DockerClient } from "../client/docker-client.ts"
import {
  isAddressTaken,
  isDiskLimitRefused,
  isNetworkFull,
  isNetworkGone,
  isOpenFilesLimitRefused,
  isTransient,
  undefinedIfNotFound,
} from "../client/errors.ts"
import type { DockerOptions } from "../docker-options.ts"
import type { Firewall } from "../firewall/firewall.ts"
import { AccountFileCheck } from "../images/account-file-check.ts"
import { ImagePathResolver } from "../images/image-path-resolver.ts"
import type { ImageStore } from "../images/image-store.ts"
import type { MountPins, PinnedMount } from "../mounts/mount-pins.ts"
import type { AddressLease, UserNetworks } from "../network/user-networks.ts"
import { callWithAbortGrace } from "./abort-grace.ts"
import { type ContainerOptions, containerOptions, unstartedContainerOptions } from "./container-options.ts"
import { DiskLimit } from "./disk-limit.ts"
import { belongsToInstance, containerIdentityOf, containerName, hasDevicesOf } from "./labels.ts"
import { checkListEntrySize } from "./list-entry-size.ts"
import { maxOpenFiles } from "./max-open-files.ts"
import { removeContainer } from "./remove-container.ts"
import { checkRuntimeCreatedPaths, runtimeCreatedPaths } from "./runtime-created-paths.ts"
import { StartCheck } from "./start-check.ts"

export interface RunStarterContext {
  client: DockerClient
  pins: MountPins
  networks: UserNetworks
  firewall: Firewall | undefined
  images: ImageStore
  /** From `loadSeccompProfile`. */
  seccomp: string
  options: DockerOptions
}

const { networkTries, momentaryRefusals } = bounds.containers
/** The pause before the second attempt; doubled for each further one. */
const firstPauseMs = 100

/** A stop waits until its start is undone, and needs time left to detect a hung daemon itself. */
const undoTimeoutMs = 5_000

type Report = (step: StartStep) => void

interface StartRequest {
  spec: RunSpec
  report: Report
  /** As in `Engine.start`. */
  resolveSpec: ResolveSpec | undefined
}

interface ContainerRequest extends StartRequest {
  image: ImageInfo
  /** As in `ContainerOptions`. */
  diskBytes: number | undefined
}

/** An attempt failed, but another may succeed, now or after a pause. */
class RetryStart extends Error {
  readonly when: "now" | "later"

  constructor(when: "now" | "later", cause: unknown) {
    super("another attempt follows", { cause })
    this.when = when
  }
}

function retryIfTransient(error: unknown): never {
  throw isTransient(error) ? new RetryStart("later", error) : error
}

/** Starts a run completely, or leaves nothing of it. */
export class RunStarter {
  readonly #client: DockerClient
  readonly #pins: MountPins
  readonly #networks: UserNetworks
  readonly #firewall: Firewall | undefined
  readonly #images: ImageStore
  readonly #seccomp: string
  readonly #options: DockerOptions
  readonly #clock: Clock
  readonly #log: Logger
  readonly #startCheck: StartCheck
  readonly #diskLimit: DiskLimit
  readonly #accountFiles: AccountFileCheck
  readonly #imagePaths: ImagePathResolver
  #openFiles: number | undefined

  constructor({ client, pins, networks, firewall, images, seccomp, options }: RunStarterContext) {
    this.#client = client
    this.#pins = pins
    this.#networks = networks
    this.#firewall = firewall
    this.#images = images
    this.#seccomp = seccomp
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#log = options.logger ?? silentLogger
    this.#openFiles = options.openFiles ?? maxOpenFiles()
    this.#startCheck = new StartCheck(client, options.clock)
    this.#diskLimit = new DiskLimit(client, this.#log)
    this.#accountFiles = new AccountFileCheck(client)
    this.#imagePaths = new ImagePathResolver(client)
  }

  /** Discards what is known of the daemon, which may be another one now. */
  reset(): void {
    this.#diskLimit.reset()
  }

  /** Resolves with the image's digest. */
  async start(request: StartRequest, signal: AbortSignal): Promise<string> {
    const { spec, report } = request
    const existing = await this.#inspect(containerName(spec.key), { owner: spec.user, signal })
    if (existing && !belongsToInstance(this.#options.instance, existing.Config.Labels)) {
      throw new EngineError("engine_error", "Another installation of Quayside has a container with this run's name")
    }
    if (existing?.State.Running && hasDevicesOf(spec, existing.Config.Labels)) return existing.Image
    checkListEntrySize(spec, this.#options.instance)
    if (existing) await removeContainer(this.#client, existing, { graceMs: 0, owner: spec.user, signal })
    using held = await this.#images.ensure(spec, { report, signal })
    const { image } = held
    report({ state: "creating", progress: null })
    const diskBytes = await this.#diskLimit.bytesFor(spec, image.digest, signal)
    return await this.#startWithRetries({ ...request, image, diskBytes }, signal)
  }

  /**
   * Only the daemon knows what is taken, full or too much, so a failed attempt is repeated with
   * another address, another limit or later.
   */
  async #startWithRetries(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    let transientLeft = momentaryRefusals.value as number
    for (let triesLeft = networkTries.value as number; ; triesLeft -= 1) {
      try {
        return await this.#tryStart(request, signal)
      } catch (error) {
        if (!(error instanceof RetryStart)) throw error
        if (error.when === "later") transientLeft -= 1
        if (triesLeft === 0 || transientLeft < 0) throw error.cause
        const retries = momentaryRefusals.value - transientLeft
        if (error.when === "later") await this.#clock.sleep(firstPauseMs * 2 ** (retries - 1), signal)
      }
    }
  }

  /** Rejects with `RetryStart` if another attempt may succeed. */
  async #tryStart(request: ContainerRequest, signal: AbortSignal): Promise<string> {
    const { user, internetOf: group = "" } = request.spec
    using lease = await this.#networks.lease({ user, group }, signal).catch(retryIfTransient)
    try {
      const imageId = await this.#createOrUndo(request, lease, signal)
      lease.confirm()
      return imageId
    } catch (error) {
      if (isNetworkGone(error)) this.#networks.forget(lease)
      else if (isNetworkFull(error)) this.#networks.markFull(lease)
      else if (isAddressTaken(error)) this.#networks.markTaken(lease)
      else if (isOpenFilesLimitRefused(error) && this.#openFiles !== undefined) this.#openFiles = undefined
      else if (isDiskLimitRefused(error) && request.diskBytes !== undefined) this.#dropDiskLimit(request, error)
      else return retryIfTransient(error)
      throw new RetryStart("now", error)
    }
  }

  #dropDiskLimit(request: ContainerRequest, error: unknown): void {
    request.diskBytes = undefined
    this.#diskLimit.handleRefusal(error)
  }

  async #createOrUndo(request: ContainerRequest, lease: AddressLease, signal: AbortSignal): Promise<string> {
    try {
      return await this.#createAndStart(request, lease, signal)
    } catch (error) {
      await this.#undo(request.spec.key)
      throw explainCommandError(error, { name: request.spec.image, architecture: request.image.architecture })
    }
  }

  async #createAndStart(request: ContainerRequest, { network, address }: AddressLease, signal: AbortSignal): Promise<string> {
    const { image, diskBytes, report } = request
    const imageId = image.digest
    await this.#checkImage(request, signal)
    const { spec, mounts } = await this.#pinAndConfine(request, signal)
    const container = await this.#create({ spec, imageId, diskBytes, mounts, network, address }, signal)
    report({ state: "starting", progress: null })
    await this.#complete((_, abort) => container.start(abort), { owner: spec.user, signal })
    // The container now has its own mounts, and their expected inodes were recorded when they were
    // pinned.
    const [checked] = await Promise.allSettled([this.#startCheck.check(container.id, mounts), this.#releasePins(spec.key)])
    if (checked.status === "rejected") throw checked.reason
    signal.throwIfAborted()
    return imageId
  }

  /**
   * Checks what an image may do to the daemon and to mounts. Uses a container with the run's own
   * name and labels, so that it is recognized after a crash.
   */
  async #checkImage({ spec, image }: ContainerRequest, signal: AbortSignal): Promise<void> {
    const imageId = image.digest
    const paths = runtimeCreatedPaths(spec, image)
    if (this.#accountFiles.hasPassed(imageId) && this.#imagePaths.knows(imageId, paths)) return
    const body = { ...unstartedContainerOptions({ spec, imageId, instance: this.#options.instance }), name: containerName(spec.key) }
    const { id } = await this.#complete((docker, abort) => docker.createContainer(body, abort), { owner: spec.user, signal })
    const container = { imageId, id }
    const options = { owner: spec.user, signal }
    await this.#accountFiles.check(container, options)
    await this.#imagePaths.learn(container, paths, options)
    const created = await this.#inspect(id, options)
    if (created) await removeContainer(this.#client, created, { graceMs: 0, ...options })
  }

  /** Waits for both even if one fails: nothing may be pinned after `#undo` has begun. */
  async #pinAndConfine(request: ContainerRequest, signal: AbortSignal): Promise<{ spec: RunSpec; mounts: PinnedMount[] }> {
    const [pinned, confined] = await Promise.allSettled([this.#pin(request, signal), this.#firewall?.ensure()])
    if (pinned.status === "rejected") throw pinned.reason
    if (confined.status === "rejected") throw confined.reason
    return pinned.value
  }

  async #pin(request: ContainerRequest, signal: AbortSignal): Promise<{ spec: RunSpec; mounts: PinnedMount[] }> {
    const { spec: planned, image, resolveSpec } = request
    const { uid, gid = uid } = this.#options
    using _turn = await mountTurns.acquire(planned.user, signal)
    const spec = resolveSpec ? { ...planned, ...(await resolveSpec(image)) } : planned
    signal.throwIfAborted()
    this.#checkPaths(request, spec)
    const files = accountFiles({ user: spec.user, home: homeDirectory(spec), uid, gid })
    const directories = runtimeCreatedDirectories(spec, image)
    return { spec, mounts: await this.#pins.pin({ key: spec.key, mounts: spec.mounts, directories, files, uid, gid }, signal) }
  }

  /** Another attempt looks up paths that were not planned: no wait may follow `resolveSpec`. */
  #checkPaths(request: ContainerRequest, spec: RunSpec): void {
    const { image } = request
    if (!this.#imagePaths.knows(image.digest, runtimeCreatedPaths(spec, image))) {
      request.spec = spec
      throw new RetryStart("now", new EngineError("engine_error", "The paths of the run changed during its start"))
    }
    checkRuntimeCreatedPaths(spec, image, (path) => this.#imagePaths.route(image.digest, path))
  }

  async #create(
    parts: Pick<ContainerOptions, "spec" | "imageId" | "diskBytes" | "mounts" | "network" | "address">,
    signal: AbortSignal,
  ): Promise<Dockerode.Container> {
    const { instance, uid, gid = uid } = this.#options
    const body = containerOptions({ ...parts, instance, uid, gid, openFiles: this.#openFiles, seccomp: this.#seccomp })
    const named = { ...body, name: containerName(parts.spec.key) }
    return this.#complete((docker, abort) => docker.createContainer(named, abort), { owner: parts.spec.user, signal })
  }

  async #complete<T>(
    work: (docker: DockerApi, abort: AbortOption) => Promise<T>,
    { owner, signal }: { owner: string; signal: AbortSignal },
  ): Promise<T> {
    const options = { timeoutMs: 0, kind: "create", owner, queueSignal: signal } as const
    return callWithAbortGrace((delayed) => this.#client.call(work, { ...options, signal: delayed }), { clock: this.#clock, signal })
  }

  /**
   * Best effort: if the daemon is gone, `observe` later finds the remains, and they are stopped.
   */
  async #undo(key: string): Promise<void> {
    if (this.#options.isLeader?.() === false) return
    const found = await this.#inspect(containerName(key), { signal: AbortSignal.timeout(undoTimeoutMs) }).catch(() => undefined)
    if (found && belongsToInstance(this.#options.instance, found.Config.Labels)) {
      await removeContainer(this.#client, found, { graceMs: 0, owner: containerIdentityOf(found.Config.Labels)?.user }).catch(() => {})
    }
    await this.#releasePins(key)
  }

  /** A pin that cannot be unmounted now is released by the cleanup of a later observation. */
  async #releasePins(key: string): Promise<void> {
    await this.#pins.release(key).catch((err: unknown) => this.#log.warn({ key, err }, "cannot release pinned directories"))
  }

  #inspect(container: string, options: CallOptions): Promise<Dockerode.ContainerInspectInfo | undefined> {
    return undefinedIfNotFound(this.#client.call((docker, abort) => docker.getContainer(container).inspect(abort), options))
  }
}
