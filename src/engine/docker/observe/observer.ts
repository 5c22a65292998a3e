import type Dockerode from "dockerode"
import { abortable, Semaphore } from "#kit"
import type { ObservedRun, WritableLayer } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { undefinedIfNotFound } from "../client/errors.ts"
import { diskLimitOf, identityOf, instanceLabel } from "../containers/labels.ts"
import { Coalescer } from "./coalescer.ts"
import { directorySizes } from "./directory-sizes.ts"

/** How long the daemon may count the files of all writable layers. */
const layersTimeoutMs = 120_000
/**
 * So many running containers that were not looked into yet an observation waits for; it goes on
 * without those of more.
 */
const maxAwaitedInspections = 4
/** How many others are looked into at a time. */
const maxBackgroundInspections = 4

/** What the list of containers does not tell and only an inspection does. */
interface Details {
  state: string
  exitCode: number | null
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  /** Of the init process, in the daemon's namespace; 0 while there is none. */
  pid: number
  /**
   * Where the daemon keeps what the image declares as volumes: no part of the writable layer, and
   * gone with the container.
   */
  volumes: readonly string[]
}

const notStarted: Details = { state: "created", exitCode: null, oomKilled: false, startedAt: null, finishedAt: null, pid: 0, volumes: [] }
const runningDetails: Details = { ...notStarted, state: "running" }

/** Where a running container is reached. */
export interface ContainerAddress {
  id: string
  host: string
}

/** A container that ran when it was last looked at. */
export interface RunningContainer {
  key: string
  id: string
  pid: number
  gpuDevices: readonly string[]
}

/**
 * Lists an instance's containers with one call, which tells the state and the address of all, and
 * inspects each only once for each state that it is seen in: what an inspection adds does not
 * change until the container's next event, of which `forget` must be told. Many that run and were
 * never looked into, as after a restart, are looked into a few at a time, while what the list told
 * of them is known already.
 */
export class Observer {
  readonly #client: DockerClient
  readonly #instance: string
  readonly #known = new Map<string, Details>()
  /** Of containers that were looked into, also where something has happened to them since. */
  readonly #pids = new Map<string, number>()
  readonly #pendingInspections = new Map<string, object>()
  readonly #inspectionSlots = new Semaphore(maxBackgroundInspections)
  readonly #addresses: Coalescer<Map<string, ContainerAddress>>
  /** The networks that the containers last seen are on, and the addresses that they have there. */
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
    for (const kept of [this.#known, this.#pids, this.#pendingInspections])
      for (const id of kept.keys()) if (!present.has(id)) kept.delete(id)
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

  /** Where the run is reached, by a list that all who ask at the same time share. */
  async findAddress(key: string, signal: AbortSignal | undefined): Promise<ContainerAddress | undefined> {
    return (await abortable(this.#addresses.run(), signal)).get(key)
  }

  /** Of a container's init; 0 while it was not looked into. */
  pidOf(container: string): number {
    return this.#pids.get(container) ?? 0
  }

  /** Something happened to the container, or, with undefined, perhaps to any. */
  invalidate(container: string | undefined): void {
    for (const kept of [this.#known, this.#pendingInspections]) {
      if (container === undefined) kept.clear()
      else kept.delete(container)
    }
  }

  /** Each container's writable layer with its anonymous volumes, by the run's key. */
  async writableLayers(signal: AbortSignal | undefined): Promise<Map<string, WritableLayer>> {
    const list = (await this.#list(signal, { size: true, timeoutMs: layersTimeoutMs })) as (Dockerode.ContainerInfo & { SizeRw?: number })[]
    const volumes = await Promise.all(list.map(async (container) => (await this.#details(container, signal))?.volumes ?? []))
    const sizes = await directorySizes(volumes.flat(), { timeoutMs: layersTimeoutMs, signal })
    return new Map(
      list.flatMap(({ Labels, SizeRw = 0 }, n) => {
        const identity = identityOf(Labels)
        const bytes = (volumes[n] ?? []).reduce((sum, path) => sum + (sizes.get(path) ?? 0), SizeRw)
        return identity ? [[identity.key, { bytes, maxMiB: diskLimitOf(Labels) }] as const] : []
      }),
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
    const identity = identityOf(container.Labels)
    const details = identity && (await detailsOf(container))
    if (!details) return undefined
    const { state: engineState, pid: _, volumes: __, ...rest } = details
    return { ...identity, ...rest, state: stateOf(engineState), imageDigest: container.ImageID, nodeNames: [nodeName] }
  }

  async #details({ Id, State }: Dockerode.ContainerInfo, signal: AbortSignal | undefined): Promise<Details | undefined> {
    // One whose start hangs in the daemon hangs whoever inspects it; there is nothing more to know
    // of it anyway.
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
    const reading = {}
    this.#pendingInspections.set(id, reading)
    const isWanted = () => this.#pendingInspections.get(id) === reading
    this.#inspectionSlots
      .run(async () => void (isWanted() && (await this.#inspect(id, undefined, isWanted))))
      // It is begun again by the next observation.
      .catch(() => {})
      .finally(() => isWanted() && this.#pendingInspections.delete(id))
  }

  /** What was learnt is kept unless something happened to the container meanwhile. */
  async #inspect(Id: string, signal: AbortSignal | undefined, isWanted = () => true): Promise<Details | undefined> {
    const found = await undefinedIfNotFound(this.#client.call((docker, abort) => docker.getContainer(Id).inspect(abort), { signal }))
    if (!found) return undefined
    const details = detailsOf(found)
    if (details.pid > 0) this.#pids.set(Id, details.pid)
    if (isWanted()) this.#known.set(Id, details)
    return details
  }
}

function addressesOf(list: readonly Dockerode.ContainerInfo[]): Map<string, ContainerAddress> {
  return new Map(
    list.flatMap(({ Id: id, Labels, State, NetworkSettings }) => {
      const identity = identityOf(Labels)
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
    // The daemon may stamp the start of a program that ended at once after its end.
    startedAt: startedAt !== null && finishedAt !== null ? Math.min(startedAt, finishedAt) : startedAt,
    finishedAt,
    pid: state.Pid,
    volumes: Mounts.flatMap(({ Type, Source }) => ((Type as string | undefined) === "volume" ? [Source] : [])),
  }
}

/**
 * A container that is being removed, or could not be, no longer runs; a paused one still holds all
 * it has.
 */
function stateOf(state: string): ObservedRun["state"] {
  if (state === "created") return "created"
  return state === "running" || state === "paused" || state === "restarting" ? "running" : "exited"
}

/** The daemon writes year 1 for what has not happened. */
function timeOf(text: string): number | null {
  const time = Date.parse(text)
  return time > 0 ? time : null
}
