import type { Readable } from "node:stream"
import type { ContainerLogLine, LogOptions } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { httpStatusOf, undefinedIfNotFound } from "../client/errors.ts"

const headerBytes = 8

/**
 * Reads a container's stored output. A frame of the daemon's stream is one line, or one 16 KiB
 * piece of a longer line.
 */
export async function* readLogs(client: DockerClient, container: string, options: LogOptions): AsyncIterable<ContainerLogLine> {
  const { tail, since, follow = false, signal } = options
  const stream = await open(client, container, options).catch((error: unknown) => {
    // The daemon returns 409 for a container that is being removed.
    if (signal?.aborted || httpStatusOf(error) === 409) return undefined
    throw error
  })
  if (!stream) return
  const end = () => stream.destroy()
  signal?.addEventListener("abort", end, { once: true })
  try {
    if (tail === 0 && !follow) return
    for await (const line of lines(stream)) if (since === undefined || line.time > since) yield line
  } catch (error) {
    if (!signal?.aborted) throw error
  } finally {
    signal?.removeEventListener("abort", end)
    stream.destroy()
  }
}

function open(client: DockerClient, container: string, { tail, since, follow = false, signal }: LogOptions): Promise<Readable | undefined> {
  const query = {
    stdout: true,
    stderr: true,
    timestamps: true,
    ...(tail !== undefined && { tail }),
    ...(since !== undefined && { since: (since / 1_000).toFixed(3) }),
  }
  const stream = client.call(
    // dockerode returns a stream only with `follow: true`; the daemon receives `_query`.
    (docker, abort) => docker.getContainer(container).logs({ follow: true, ...abort, ...({ _query: { ...query, follow } } as object) }),
    { signal, timeoutMs: follow ? 0 : 60_000 },
  )
  return undefinedIfNotFound(stream as Promise<unknown> as Promise<Readable>)
}

async function* lines(stream: Readable): AsyncIterable<ContainerLogLine> {
  let pending: Buffer = Buffer.alloc(0)
  // Each frame waits as a chunk of its own, and a short text takes a seventh of a short buffer.
  for await (const text of stream.setEncoding("latin1") as AsyncIterable<string>) {
    const chunk = Buffer.from(text, "latin1")
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
    let at = 0
    while (pending.length - at >= headerBytes) {
      const length = pending.readUInt32BE(at + 4)
      if (pending.length - at - headerBytes < length) break
      yield lineOf(pending[at] === 2 ? "stderr" : "stdout", pending.toString("utf8", at + headerBytes, at + headerBytes + length))
      at += headerBytes + length
    }
    pending = pending.subarray(at)
  }
}

function lineOf(stream: ContainerLogLine["stream"], frame: string): ContainerLogLine {
  const space = frame.indexOf(" ")
  return { time: Date.parse(frame.slice(0, space)), stream, text: frame.slice(space + 1).replace(/\r?\n$/, "") }
}
