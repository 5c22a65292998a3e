import { createInterface } from "node:readline"
import type { ContainerLogLine, LogOptions } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { statusOf, toEngineError } from "../client/errors.ts"
import { apiUrl, openStream } from "../client/open-stream.ts"
import { containerName } from "../pods/names.ts"

/** Longer lines are split, as the other engines do. */
const maxLineLength = 16_384

/** Reads a pod's stored output. The kubelet does not tell the two outputs apart. */
export async function* readPodLogs(client: ClusterClient, pod: string, options: LogOptions): AsyncIterable<ContainerLogLine> {
  const { tail, since, follow = false, signal } = options
  if (tail === 0 && !follow) return
  const url = apiUrl(client, `/api/v1/namespaces/${client.namespace}/pods/${pod}/log`, {
    container: containerName,
    timestamps: "true",
    follow: String(follow),
    ...(tail !== undefined && { tailLines: String(tail) }),
    ...(since !== undefined && { sinceTime: new Date(since).toISOString() }),
  })
  const stream = await openStream(client, { url, signal }).catch((error: unknown) => {
    // 400: the container has not started yet. 404: the pod is gone.
    const status = statusOf(error)
    if (signal?.aborted || status === 404 || status === 400) return undefined
    throw toEngineError(error, "read the output of runs")
  })
  if (!stream) return
  try {
    for await (const entry of createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }))
      for (const line of linesOf(entry)) if (since === undefined || line.time > since) yield line
  } catch (error) {
    if (!signal?.aborted) throw toEngineError(error, "read the output of runs")
  } finally {
    stream.destroy()
  }
}

function* linesOf(entry: string): Iterable<ContainerLogLine> {
  const space = entry.indexOf(" ")
  const time = Date.parse(entry.slice(0, space))
  if (Number.isNaN(time)) return
  const text = entry.slice(space + 1).replace(/\r$/, "")
  for (let at = 0; at === 0 || at < text.length; at += maxLineLength)
    yield { time, stream: "stdout", text: text.slice(at, at + maxLineLength) }
}
