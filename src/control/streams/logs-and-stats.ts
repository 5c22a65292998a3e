import type { ChannelStream, JsonObject } from "#channel"
import { bounds, describeValue } from "#contract"
import { waitForTurn } from "#http"
import { rfc3339 } from "#kit"
import type { ConnectionContext } from "../context.ts"
import { invalidRequest } from "../request-fields.ts"
import { withStreamErrors } from "./programs.ts"

const sampleIntervalMs = 10_000
const maxTail = bounds.control.outputLines.value

/** Sends the run's output as JSON lines, as `GET /running_project/logs` does. */
export async function serveLogs(context: ConnectionContext, stream: ChannelStream, request: JsonObject): Promise<void> {
  const { tail, follow = false } = request
  if (tail !== undefined && !(Number.isInteger(tail) && (tail as number) >= 0 && (tail as number) <= maxTail)) {
    throw invalidRequest(`tail must be 0–${maxTail}; got ${describeValue(tail)}`)
  }
  if (typeof follow !== "boolean") throw invalidRequest(`follow must be true or false; got ${describeValue(follow)}`)
  const options = { follow, ...(tail === undefined ? {} : { tail: tail as number }) }
  await withStreamErrors(() => context.limits.readOutput(() => sendLogs(context, stream, options)))
}

async function sendLogs(
  { caller, runs, run, signal }: ConnectionContext,
  stream: ChannelStream,
  options: { follow: boolean; tail?: number },
): Promise<void> {
  if (stream.isOver) return
  stream.accept()
  const ended = endOf(stream, signal)
  for await (const { time, stream: name, text } of runs.logs(run, { ...options, signal: ended })) {
    const line = encodeLine({ time: rfc3339(time), stream: name, text })
    await stream.write(line)
    await waitForTurn(caller.userId, line, stream)
  }
  stream.finish()
}

/** Sends the run's newest usage sample as a JSON line, and each later one. */
export async function serveStats({ runs, run, clock, signal }: ConnectionContext, stream: ChannelStream): Promise<void> {
  stream.accept()
  const ended = endOf(stream, signal)
  for (let last = 0; !ended.aborted; ) {
    const sample = (await runs.usageSamples(run.id)).at(-1)
    if (sample && sample.time > last) {
      last = sample.time
      await stream.write(encodeLine({ ...sample, time: rfc3339(sample.time) }))
    }
    await clock.sleep(sampleIntervalMs / 5, ended).catch(() => {})
  }
}

function endOf(stream: ChannelStream, signal: AbortSignal): AbortSignal {
  const ended = new AbortController()
  stream.done.catch(() => ended.abort())
  return AbortSignal.any([signal, ended.signal])
}

function encodeLine(value: unknown): Uint8Array {
  return Buffer.from(`${JSON.stringify(value)}\n`)
}
