import type { Readable } from "node:stream"

/**
 * The JSON objects of a stream, one per line. Destroys the stream in the end, also when the caller
 * breaks off: the daemon goes on with what it streams as long as somebody holds the other end. An
 * abort is thrown.
 */
export async function* jsonLines<T>(stream: Readable, signal: AbortSignal): AsyncIterable<T> {
  const end = () => stream.destroy()
  if (signal.aborted) end()
  signal.addEventListener("abort", end, { once: true })
  try {
    // The pieces of a line that has not ended: put together once, since a long one comes in many.
    let held: string[] = []
    for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
      const [first = "", ...others] = chunk.split("\n")
      held.push(first)
      if (others.length === 0) continue
      const lines = [held.join(""), ...others]
      held = [lines.pop() ?? ""]
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T
    }
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener("abort", end)
    stream.destroy()
  }
}
