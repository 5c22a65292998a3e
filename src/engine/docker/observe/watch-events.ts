import type { Readable } from "node:stream"
import { type Clock, systemClock } from "#kit"
import type { DockerClient } from "../client/docker-client.ts"
import { parseJsonLines } from "../client/json-lines.ts"
import { instanceLabel } from "../containers/labels.ts"

/** Events that do not change the result of `observe`. */
const ignoredActions = /^(exec_|attach|detach|top|resize|copy|archive-path|extract-to-dir)/
const firstWaitMs = 100
const maxWaitMs = 2_000

export interface WatchOptions {
  instance: string
  /**
   * Called for each change, and with undefined after each connection, since any container may have
   * changed before it.
   */
  onChange(container: string | undefined): void
  clock?: Clock | undefined
  signal: AbortSignal
}

/**
 * Reads the daemon's events until the signal is aborted, and reconnects whenever the stream ends.
 */
export async function watchEvents(client: DockerClient, options: WatchOptions): Promise<void> {
  const { signal, clock = systemClock } = options
  let waitMs = firstWaitMs
  while (!signal.aborted) {
    try {
      await readEvents(client, options, () => {
        waitMs = firstWaitMs
      })
    } catch {
      // Any error ends the stream; the next connection attempt shows whether the daemon is there.
    }
    await clock.sleep(waitMs, signal).catch(() => {})
    waitMs = Math.min(maxWaitMs, waitMs * 2)
  }
}

async function readEvents(client: DockerClient, { instance, onChange, signal }: WatchOptions, connected: () => void): Promise<void> {
  const filters = { type: ["container"], label: [instanceLabel(instance)] }
  const stream = (await client.call((docker) => docker.getEvents({ filters, abortSignal: signal }), { signal, timeoutMs: 0 })) as Readable
  connected()
  onChange(undefined)
  for await (const { Action = "", id } of parseJsonLines<{ Action?: string; id?: string }>(stream, signal)) {
    if (!ignoredActions.test(Action)) onChange(id)
  }
}
