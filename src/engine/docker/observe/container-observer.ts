import type Dockerode from "dockerode"
import { bounds } from "#contract"
import { abortable, Semaphore } from "#kit"
import { type ObservedRun, uncountedBytes, type WritableLayer } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"
import { containerIdentityOf, diskLimitOf, instanceLabel } from "../containers/labels.ts"
import { Coalescer } from "./coalescer.ts"
import { directorySizes, entryCounts } from "./directory-sizes.ts"
import { upperDirectory } from "./upper-directory.ts"

const { entryBytes, layerCountMs } = bounds.storage
/** The time limit for counting the files of all writable layers. */
const layersTimeoutMs = 120_000
/**
 * An observation waits for this many first inspections of running containers, and continues without
 * the others.
 */
const maxAwaitedInspections = 4
/** Concurrent inspections in the background. */
const maxBackgroundInspections = 4

/** The facts that only an inspection shows, not the list of containers. */
interface Details {
  state: string
  exitCode: number | null
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  /** The process ID of the init, in the daemon's namespace; 0 if there is none. */
  pid: number
  /**
   * The directories of the image's volumes: they are not part of the writable layer, and are
   * removed with the container.
   */
  volumes: readonly string[]
}

const notStarted: Details = { state: "created", exitCode: null, oomKilled: false, startedAt: null, finishedAt: null, pid: 0, volumes: [] }
const runningDetails: Details = { ...notStarted, state: "running" }

/** The directories that a container writes to, except mounts. */
interface Places {
  /** Its volumes, and its writable layer unless that is hidden from here. */
  visible: readonly string[]
  /** Whether only the daemon can measure its writable layer. */
  isHidden: boolean
}

/** The address of a running container. */
export interface ContainerAddress {
  id: string
  host: string
}

/** A container that ran in the last list. */
export interface RunningContainer {
  key: string
  id: string
  pid: number
  gpuDevices: readonly string[]
}

/**
 * Lists an instance's containers with one call, which shows the state and the address of all. Each
 * container is inspected once per state: the details change only with its next event, after which
 * `invalidate` must be called. Many uninspected running containers, as after a restart, are
 * inspected a few at a time; the list's facts are available at once.
 */
export class ContainerObserver {
  readonly #client: DockerClient
  readonly #instance: string
  readonly #known = new Map<string, Details>()
  /** The process IDs of inspected containers, even after later events. */
  readonly #pids = new Map<string, number>()
  readonly #pendingInspections = new Map<string, object>()
  readonly #inspectionSlots = new Semaphore(maxBackgroundInspections)
  readonly #addresses: Coalescer<Map<string, ContainerAddress>>
  /** The networks of the last list's containers, and the containers' addresses there. */
  networks: ReadonlyMap<string, readonly string[]> = new Map()
  running: readonly RunningContainer[] = []

  constructor(client: DockerClient, instance: string) {
    this.#client = client
    this.#instance = instance
    this.#addresses = new Coalescer(async () => addressesOf(await this.#list(undefined)))
  }

  async observe(nodeName: string, signal?: AbortSignal): Promise<ObservedRun[]> {
    const list = await this.#list(signal)
    this.networks = networksOf(list)
    const present = new Set(list.map((container) => container.Id))
    for (const cache of [this.#known, this.#pids, this.#pendingInspections])
      for (const id of cache.keys()) if (!present.has(id)) cache.delete(id)
    const later = new Set(list.filter((container) => this.#needsInspection(container)).slice(maxAwaitedInspections))
    for (const { Id } of later) this.#inspectLater(Id)
    const observed = await Promise.all(
      list.map((container) =>
        this.#observed(container, nodeName, (each) => (later.has(each) ? runningDetails : this.#details(each, signal))),
      ),
    )
    this.running = list.flatMap(({ Id: id }, n) => {
      const run = observed[n]
      return run?.state === "running" ? [{ id, key: run.key, pid: this.#known.get(id)?.pid ?? 0, gpuDevices: run.gpuDevices }] : []
    })
    return observed.filter((run) => run !== undefined)
  }

  /** A run's address, from a list that all concurrent callers share. */
  async findAddress(key: string, signal: AbortSignal | undefined): Promise<ContainerAddress | undefined> {
    return (await abortable(this.#addresses.run(), signal)).get(key)
  }

  /** The process ID of a container's init; 0 before its inspection. */
  pidOf(container: string): number {
    return this.#pids.get(container) ?? 0
  }

  /** Discards the details of a container after an event; undefined: of all. */
  invalidate(container: string | undefined): void {
    for (const cache of [this.#known, this.#pendingInspections]) {
      if (container === undefined) cache.clear()
      else cache.delete(container)
    }
  }

  /**
   * Each container's writable layer with its anonymous volumes, by the run's key. Each file and
   * directory counts something beside its content, since empty ones use up the disk's inodes. It is
   * `uncountedBytes` if counting takes too long.
   */
  async writableLayers(signal: AbortSignal | undefined): Promise<Map<string, WritableLayer>> {
    const list = await this.#list(signal)
    const places = await Promise.all(list.map((container) => this.#placesOf(container, signal)))
    const options = { timeoutMs: layersTimeoutMs, ownerTimeoutMs: layerCountMs.value, signal }
    const directories = places.flatMap(({ visible }, n) => {
      const owner = containerIdentityOf(list[n]?.Labels ?? {})?.user ?? ""
      return visible.map((path) => ({ path, owner }))
    })
    const [sizes, counts, hidden] = await Promise.all([
      directorySizes(directories, options),
      entryCounts(directories, options),
      places.some(({ isHidden }) => isHidden) ? this.#sizesByDaemon(signal) : new Map<string, number>(),
    ])
    return new Map(
      list.flatMap(({ Id, Labels }, n) => {
        const identity = containerIdentityOf(Labels)
        const { visible = [], isHidden = false } = places[n] ?? {}
        const bytes = visible.reduce(
          (sum, path) => sum + (sizes.get(path) ?? 0) + (counts.get(path) ?? 0) * entryBytes.value,
          isHidden ? (hidden.get(Id) ?? 0) : 0,
        )
        return identity ? [[identity.key, { bytes: Math.min(bytes, uncountedBytes), maxMiB: diskLimitOf(Labels) }] as const] : []
      }),
    )
  }

  /** The host's directories that a container writes to, except mounts. */
  async #placesOf(container: Dockerode.ContainerInfo, signal: AbortSignal | undefined): Promise<Places> {
    const { volumes = [], pid = 0, state } = (await this.#details(container, signal)) ?? {}
    const upper = await upperDirectory({ id: container.Id, pid })
    const isHidden = upper === undefined && stateOf(state ?? "") === "running"
    return { visible: upper === undefined ? volumes : [upper, ...volumes], isHidden }
  }

  /**
   * By the container's ID. The daemon adds up the lengths of files, holes included, takes any time,
   * and its sum overflows.
   */
  async #sizesByDaemon(signal: AbortSignal | undefined): Promise<Map<string, number>> {
    const list = await this.#list(signal, { size: true, timeoutMs: layersTimeoutMs })
    return new Map(
      (list as (Dockerode.ContainerInfo & { SizeRw?: number })[]).map(({ Id, SizeRw = 0 }) => [Id, SizeRw < 0 ? uncountedBytes : SizeRw]),
    )
  }

  #list(
    signal: AbortSignal | undefined,
    { size = false, timeoutMs }: { size?: boolean; timeoutMs?: number } = {},
  ): Promise<Dockerode.ContainerInfo[]> {
    const filters = { label: [instanceLabel(this.#instance)] }
    const options = { signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
    return this.#client.call((docker, abort) => docker.listContainers({ all: true, size, filters, ...abort }), options)
  }

  async #observed(
    container: Dockerode.ContainerInfo,
    nodeName: string,
    detailsOf: (container: Dockerode.ContainerInfo) => Details | Promise<Details | undefined>,
  ): Promise<ObservedRun | undefined> {
    const identity = containerIdentityOf(container.Labels)
    const details = identity && (await detailsOf(container))
    if (!details) return undefined
    const { state: engineState, pid: _, volumes: __, ...rest } = details
    return { ...identity, ...rest, state: stateOf(engineState), imageDigest: container.ImageID, nodeNames: [nodeName] }
  }

  async #details({ Id, State }: Dockerode.ContainerInfo, signal: AbortSignal | undefined): Promise<Details | undefined> {
    // If its start hangs in the daemon, an inspection hangs as well, and would show nothing new.
    if (State === "created") return notStarted
    const known = this.#known.get(Id)
    if (known?.state === State) return known
    return this.#inspect(Id, signal)
  }

  #needsInspection({ Id, State }: Dockerode.ContainerInfo): boolean {
    return State === "running" && this.#known.get(Id)?.state !== State
  }

  #inspectLater(id: string): void {
    if (this.#pendingInspections.has(id)) return
    const inspection = {}
    this.#pendingInspections.set(id, inspection)
    const isCurrent = () => this.#pendingInspections.get(id) === inspection
    this.#inspectionSlots
      .run(async () => void (isCurrent() && (await this.#inspect(id, undefined, isCurrent))))
      // The next observation starts it again.
      .catch(() => {})
      .finally(() => isCurrent() && this.#pendingInspections.delete(id))
  }

  /** Keeps the result unless an event of the container arrived meanwhile. */
  async #inspect(Id: string, signal: AbortSignal | undefined, isCurrent = () => true): Promise<Details | undefined> {
    const found = await undefinedIfNotFound(this.#client.call((docker, abort) => docker.getContainer(Id).inspect(abort), { signal }))
    if (!found) return undefined
    const details = detailsOf(found)
    if (details.pid > 0) this.#pids.set(Id, details.pid)
    if (isCurrent()) this.#known.set(Id, details)
    return details
  }
}

function addressesOf(list: readonly Dockerode.ContainerInfo[]): Map<string, ContainerAddress> {
  return new Map(
    list.flatMap(({ Id: id, Labels, State, NetworkSettings }) => {
      const identity = containerIdentityOf(Labels)
      const host = Object.values(NetworkSettings?.Networks ?? {}).find(({ IPAddress }) => IPAddress !== "")?.IPAddress
      return identity && host !== undefined && stateOf(State) === "running" ? [[identity.key, { id, host }] as const] : []
    }),
  )
}

function networksOf(list: readonly Dockerode.ContainerInfo[]): Map<string, string[]> {
  const networks = new Map<string, string[]>()
  for (const { NetworkSettings } of list) {
    for (const [name, { IPAddress }] of Object.entries(NetworkSettings?.Networks ?? {})) {
      const addresses = networks.get(name) ?? []
      networks.set(name, IPAddress === "" ? addresses : [...addresses, IPAddress])
    }
  }
  return networks
}

function detailsOf({ State: state, Mounts }: Dockerode.ContainerInspectInfo): Details {
  const ended = stateOf(state.Status) === "exited"
  const startedAt = timeOf(state.StartedAt)
  const finishedAt = ended ? timeOf(state.FinishedAt) : null
  return {
    state: state.Status,
    exitCode: ended ? state.ExitCode : null,
    oomKilled: state.OOMKilled,
    // The daemon may record the start of a short program after its end.
    startedAt: startedAt !== null && finishedAt !== null ? Math.min(startedAt, finishedAt) : startedAt,
    finishedAt,
    pid: state.Pid,
    volumes: Mounts.flatMap(({ Type, Source }) => ((Type as string | undefined) === "volume" ? [Source] : [])),
  }
}

/** A container in removal no longer runs; a paused one still uses all its resources. */
function stateOf(state: string): ObservedRun["state"] {
  if (state === "created") return "created"
  return state === "running" || state === "paused" || state === "restarting" ? "running" : "exited"
}

/** The daemon writes year 1 for a time that has not come. */
function timeOf(text: string): number | null {
  const time = Date.parse(text)
  return time > 0 ? time : null
}
