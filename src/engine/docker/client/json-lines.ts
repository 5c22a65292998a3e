import type { Readable } from "node:stream"

/**
 * Parses a stream of JSON objects, one per line. Destroys the stream in the end, even if the caller
 * breaks off: the daemon continues to stream as long as the other end is open. Throws on abort.
 */
export async function* parseJsonLines<T>(stream: Readable, signal: AbortSignal): AsyncIterable<T> {
  const end = () => stream.destroy()
  if (signal.aborted) end()
  signal.addEventListener("abort", end, { once: true })
  try {
    // The pieces of an incomplete line, joined once, since a long line arrives in many.
    let pending: string[] = []
    for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
      const [first = "", ...others] = chunk.split("\n")
      pending.push(first)
      if (others.length === 0) continue
      const lines = [pending.join(""), ...others]
      pending = [lines.pop() ?? ""]
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T
    }
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener("abort", end)
    stream.destroy()
  }
}
