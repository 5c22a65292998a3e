import type { DockerClient } from "../client/docker-client.ts"
import { ifFound, statusOf } from "../client/errors.ts"

export interface RemoveOptions {
  graceMs: number
  running: boolean
  /**
   * Whose run it is: whoever has programs that take their whole grace keeps nobody else's waiting.
   */
  owner?: string | undefined
  signal?: AbortSignal | undefined
}

/**
 * Ends a container, with whole seconds of grace, and removes it with its anonymous volumes.
 * Resolves when it is gone, whoever removed it.
 */
export async function removeContainer(client: DockerClient, id: string, { graceMs, running, owner, signal }: RemoveOptions): Promise<void> {
  const seconds = Math.ceil(graceMs / 1_000)
  if (running && seconds > 0) {
    const ms = graceMs + 30_000
    await ifFound(
      client.call((docker, abort) => docker.getContainer(id).stop({ t: seconds, ...abort }), {
        signal,
        ms,
        lane: "grace",
        owner,
      }),
    ).catch(ignoreStopped)
  }
  const removed = await ifFound(
    client.call((docker, abort) => docker.getContainer(id).remove({ force: true, v: true, ...abort }), {
      signal,
      ms: 60_000,
      lane: "end",
    }),
  ).then(
    () => true,
    (error: unknown) => {
      if (statusOf(error) === 409) return false
      throw error
    },
  )
  if (!removed) await untilGone(client, id, signal)
}

/** Somebody else is removing it already. */
async function untilGone(client: DockerClient, id: string, signal: AbortSignal | undefined): Promise<void> {
  await ifFound(
    client.call((docker, abort) => docker.getContainer(id).wait({ condition: "removed", ...abort }), {
      signal,
      ms: 60_000,
      lane: "end",
    }),
  )
}

function ignoreStopped(error: unknown): void {
  if (statusOf(error) !== 304) throw error
}
