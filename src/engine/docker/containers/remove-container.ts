import type Dockerode from "dockerode"
import type { DockerClient } from "../client/docker-client.ts"
import { httpStatusOf, undefinedIfNotFound } from "../client/errors.ts"
import { upperDirectory } from "../observe/upper-directory.ts"
import { emptyDirectories } from "./empty-directories.ts"

/** A container, as an inspection describes it. */
export type RemovableContainer = Pick<Dockerode.ContainerInspectInfo, "Id" | "Mounts"> & {
  State: { Running: boolean; Pid?: number }
  HostConfig?: Pick<Dockerode.HostConfig, "ReadonlyRootfs">
  /** Of the storage driver, if the daemon tells. */
  GraphDriver?: { Data?: object | null }
}

export interface RemoveOptions {
  graceMs: number
  /** The run's owner: a person with slow programs must not delay the stops of others. */
  owner?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * Stops a container, with whole seconds of grace, and removes it with its anonymous volumes.
 * Resolves when it is gone, even if another client removed it.
 *
 * The volumes are emptied before: the daemon removes one after another, and creates none meanwhile.
 * So is the writable layer: the daemon opens a file for each of the directories in each other.
 */
export async function removeContainer(client: DockerClient, container: RemovableContainer, options: RemoveOptions): Promise<void> {
  const { Id: id, State, Mounts } = container
  const { owner, signal } = options
  const written = [...Mounts.filter(isAnonymousVolume).map(({ Source }) => Source), ...(await writableLayerOf(container))]
  if (State.Running) await stopContainer(client, id, { ...options, mustEnd: written.length > 0 })
  await emptyDirectories(written, { owner, signal })
  const removed = await undefinedIfNotFound(
    client.call((docker, abort) => docker.getContainer(id).remove({ force: true, v: true, ...abort }), {
      signal,
      timeoutMs: 60_000,
      kind: "remove",
      owner,
    }),
  ).then(
    () => true,
    (error: unknown) => {
      if (httpStatusOf(error) === 409) return false
      throw error
    },
  )
  if (!removed) await waitForRemoval(client, id, { owner, signal })
}

/** None if programs cannot write to it, or if it is hidden from here. */
async function writableLayerOf({ Id: id, State, HostConfig, GraphDriver }: RemovableContainer): Promise<string[]> {
  if (HostConfig?.ReadonlyRootfs) return []
  const { UpperDir } = (GraphDriver?.Data ?? {}) as { UpperDir?: string }
  const upper = UpperDir ?? (await upperDirectory({ id, pid: State.Pid ?? 0 }))
  return upper === undefined ? [] : [upper]
}

/** Nothing else has them. */
function isAnonymousVolume({ Type, Name }: Dockerode.ContainerInspectInfo["Mounts"][number]): boolean {
  return (Type as string | undefined) === "volume" && /^[0-9a-f]{64}$/.test(Name ?? "")
}

/** Without grace the program ends with the removal, unless it `mustEnd` before. */
async function stopContainer(
  client: DockerClient,
  id: string,
  { graceMs, owner, signal, mustEnd }: RemoveOptions & { mustEnd: boolean },
): Promise<void> {
  const seconds = Math.ceil(graceMs / 1_000)
  if (seconds <= 0 && !mustEnd) return
  const stop = client.call((docker, abort) => docker.getContainer(id).stop({ t: seconds, ...abort }), {
    signal,
    timeoutMs: graceMs + 30_000,
    kind: "stop",
    owner,
  })
  await undefinedIfNotFound(stop).catch(ignoreStopped)
}

/** Another client is removing it already. */
async function waitForRemoval(client: DockerClient, id: string, { owner, signal }: Pick<RemoveOptions, "owner" | "signal">): Promise<void> {
  await undefinedIfNotFound(
    client.call((docker, abort) => docker.getContainer(id).wait({ condition: "removed", ...abort }), {
      signal,
      timeoutMs: 60_000,
      kind: "remove",
      owner,
    }),
  )
}

function ignoreStopped(error: unknown): void {
  if (httpStatusOf(error) !== 304) throw error
}
