import type { DockerClient } from "../client/docker-client.ts"
import { httpStatusOf, undefinedIfNotFound } from "../client/errors.ts"

export interface RemoveOptions {
  graceMs: number
  running: boolean
  /** The run's owner: a person with slow programs must not delay the stops of others. */
  owner?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * Stops a container, with whole seconds of grace, and removes it with its anonymous volumes.
 * Resolves when it is gone, even if another client removed it.
 */
export async function removeContainer(client: DockerClient, id: string, { graceMs, running, owner, signal }: RemoveOptions): Promise<void> {
  const seconds = Math.ceil(graceMs / 1_000)
  if (running && seconds > 0) {
    const timeoutMs = graceMs + 30_000
    await undefinedIfNotFound(
      client.call((docker, abort) => docker.getContainer(id).stop({ t: seconds, ...abort }), {
        signal,
        timeoutMs,
        kind: "stop",
        owner,
      }),
    ).catch(ignoreStopped)
  }
  const removed = await undefinedIfNotFound(
    client.call((docker, abort) => docker.getContainer(id).remove({ force: true, v: true, ...abort }), {
      signal,
      timeoutMs: 60_000,
      kind: "remove",
    }),
  ).then(
    () => true,
    (error: unknown) => {
      if (httpStatusOf(error) === 409) return false
      throw error
    },
  )
  if (!removed) await waitForRemoval(client, id, signal)
}

/** Another client is removing it already. */
async function waitForRemoval(client: DockerClient, id: string, signal: AbortSignal | undefined): Promise<void> {
  await undefinedIfNotFound(
    client.call((docker, abort) => docker.getContainer(id).wait({ condition: "removed", ...abort }), {
      signal,
      timeoutMs: 60_000,
      kind: "remove",
    }),
  )
}

function ignoreStopped(error: unknown): void {
  if (httpStatusOf(error) !== 304) throw error
}
