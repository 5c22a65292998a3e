import type { ContainerLogLine, LogOptions } from "../../engine.ts"
import type { ClusterClient } from "../client/cluster-client.ts"
import { httpStatusOf, toEngineError } from "../client/errors.ts"
import { apiUrl, openStream } from "../client/open-stream.ts"
import { containerName } from "../pods/names.ts"

/** Longer lines are split, as the other engines do. */
const maxLineLength = 16_384
/** Of the time before a line, and the space after it. */
const maxTimeLength = 64

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
    const status = httpStatusOf(error)
    if (signal?.aborted || status === 404 || status === 400) return undefined
    throw toEngineError(error, "read the output of runs")
  })
  if (!stream) return
  try {
    for await (const line of podLogLines(stream)) if (since === undefined || line.time > since) yield line
  } catch (error) {
    if (!signal?.aborted) throw toEngineError(error, "read the output of runs")
  } finally {
    stream.destroy()
  }
}

/**
 * Lines with the time before each. A line may never end: it arrives in pieces, as the other engines
 * have it.
 */
export async function* podLogLines(stream: AsyncIterable<Buffer>): AsyncIterable<ContainerLogLine> {
  const decoder = new TextDecoder()
  let rest = ""
  /** Of the line whose first pieces were yielded. */
  let time: number | undefined
  for await (const chunk of stream) {
    const ended = (rest + decoder.decode(chunk, { stream: true })).split("\n")
    rest = ended.pop() ?? ""
    for (const line of ended) {
      yield* piecesOf(time === undefined ? lineOf(line) : { time, text: line }, { isEnd: true, continues: time !== undefined })
      time = undefined
    }
    if (rest.length < maxLineLength + maxTimeLength) continue
    const begun = time === undefined ? lineOf(rest) : { time, text: rest }
    const whole = begun.text.length - (begun.text.length % maxLineLength)
    yield* piecesOf({ ...begun, text: begun.text.slice(0, whole) }, { isEnd: false, continues: true })
    time = begun.time
    rest = begun.text.slice(whole)
  }
  if (rest !== "") yield* piecesOf(time === undefined ? lineOf(rest) : { time, text: rest }, { isEnd: true, continues: false })
}

function lineOf(entry: string): { time: number; text: string } {
  const space = entry.indexOf(" ")
  return { time: Date.parse(entry.slice(0, space)), text: entry.slice(space + 1) }
}

/** An empty line is one piece, and the empty end of a long line is none. */
function* piecesOf(
  { time, text: all }: { time: number; text: string },
  { isEnd, continues }: { isEnd: boolean; continues: boolean },
): Iterable<ContainerLogLine> {
  if (Number.isNaN(time)) return
  const text = isEnd ? all.replace(/\r$/, "") : all
  for (let at = 0; (at === 0 && !continues) || at < text.length; at += maxLineLength)
    yield { time, stream: "stdout", text: text.slice(at, at + maxLineLength) }
}
