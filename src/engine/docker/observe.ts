import type Dockerode from "dockerode"
import type { Layer, ObservedRun } from "../engine.ts"
import type { DockerClient } from "./client.ts"
import { ifFound } from "./errors.ts"
import { diskBoundOf, identityOf, instanceLabel } from "./labels.ts"
import { bytesBelow } from "./volumes.ts"

/** How long the daemon may count the files of all writable layers. */
const layersMs = 120_000

/** What the list of containers does not tell and only an inspection does. */
interface Details {
  state: string
  exitCode: number | null
  oomKilled: boolean
  startedAt: number | null
  finishedAt: number | null
  /** Of the init process, in the daemon's namespace; 0 while there is none. */
  pid: number
  /** Where the daemon keeps what the image declares as volumes: no part of the writable layer, and gone with the container. */
  volumes: readonly string[]
}

const notStarted: Details = { state: "created", exitCode: null, oomKilled: false, startedAt: null, finishedAt: null, pid: 0, volumes: [] }

/** A container that ran when it was last looked at. */
export interface RunningContainer {
  key: string
  id: string
  pid: number
  gpuDevices: readonly string[]
}

/**
 * Lists an instance's containers with one call, and inspects each only once for each state that it is seen in: what an inspection adds does not change
 * until the container's next event, of which `forget` must be told.
 */
export class Observer {
  readonly #client: DockerClient
  readonly #instance: string
  readonly #known = new Map<string, Details>()
  /** The networks that the containers last seen are on, and the addresses that they have there. */
  networks: ReadonlyMap<string, readonly string[]> = new Map()
  running: readonly RunningContainer[] = []

  constructor(client: DockerClient, instance: string) {
    this.#client = client
    this.#instance = instance
  }

  async observe(nodeName: string, signal?: AbortSignal): Promise<ObservedRun[]> {
    const list = await this.#list(signal)
    this.networks = networksOf(list)
    const present = new Set(list.map((container) => container.Id))
    for (const id of this.#known.keys()) if (!present.has(id)) this.#known.delete(id)
    const runs = await Promise.all(list.map((container) => this.#observed(container, nodeName, signal)))
    this.running = list.flatMap(({ Id: id }, n) => {
      const run = runs[n]
      return run?.state === "running" ? [{ id, key: run.key, pid: this.#known.get(id)?.pid ?? 0, gpuDevices: run.gpuDevices }] : []
    })
    return runs.filter((run) => run !== undefined)
  }

  /** Something happened to the container, or, with undefined, perhaps to any. */
  forget(container: string | undefined): void {
    if (container === undefined) this.#known.clear()
    else this.#known.delete(container)
  }

  /** Each container's writable layer with its anonymous volumes, by the run's key. */
  async layers(signal: AbortSignal | undefined): Promise<Map<string, Layer>> {
    const list = (await this.#list(signal, { size: true, ms: layersMs })) as (Dockerode.ContainerInfo & { SizeRw?: number })[]
    const volumes = await Promise.all(list.map(async (container) => (await this.#details(container, signal))?.volumes ?? []))
    const sizes = await bytesBelow(volumes.flat(), { ms: layersMs, signal })
    return new Map(
      list.flatMap(({ Labels, SizeRw = 0 }, n) => {
        const identity = identityOf(Labels)
        const bytes = (volumes[n] ?? []).reduce((sum, path) => sum + (sizes.get(path) ?? 0), SizeRw)
        return identity ? [[identity.key, { bytes, boundMiB: diskBoundOf(Labels) }] as const] : []
      }),
    )
  }

  #list(signal: AbortSignal | undefined, { size = false, ms }: { size?: boolean; ms?: number } = {}): Promise<Dockerode.ContainerInfo[]> {
    const filters = { label: [instanceLabel(this.#instance)] }
    const options = { signal, ...(ms === undefined ? {} : { ms }) }
    return this.#client.call((docker, abort) => docker.listContainers({ all: true, size, filters, ...abort }), options)
  }

  async #observed(container: Dockerode.ContainerInfo, nodeName: string, signal: AbortSignal | undefined): Promise<ObservedRun | undefined> {
    const identity = identityOf(container.Labels)
    const details = identity && (await this.#details(container, signal))
    if (!details) return undefined
    const { state: engineState, pid: _, volumes: __, ...rest } = details
    return { ...identity, ...rest, state: stateOf(engineState), imageDigest: container.ImageID, nodeNames: [nodeName] }
  }

  async #details({ Id, State }: Dockerode.ContainerInfo, signal: AbortSignal | undefined): Promise<Details | undefined> {
    // One whose start hangs in the daemon hangs whoever inspects it; there is nothing more to know of it anyway.
    if (State === "created") return notStarted
    const known = this.#known.get(Id)
    if (known?.state === State) return known
    const found = await ifFound(this.#client.call((docker, abort) => docker.getContainer(Id).inspect(abort), { signal }))
    if (!found) return undefined
    const details = detailsOf(found)
    this.#known.set(Id, details)
    return details
  }
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

/** A container that is being removed, or could not be, no longer runs; a paused one still holds all it has. */
function stateOf(state: string): ObservedRun["state"] {
  if (state === "created") return "created"
  return state === "running" || state === "paused" || state === "restarting" ? "running" : "exited"
}

/** The daemon writes year 1 for what has not happened. */
function timeOf(text: string): number | null {
  const time = Date.parse(text)
  return time > 0 ? time : null
}
