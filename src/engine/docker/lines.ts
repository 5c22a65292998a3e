import type { Readable } from "node:stream"

/**
 * The JSON objects of a stream, one per line. Destroys the stream in the end, also when the caller breaks off: the daemon goes on with
 * what it streams as long as somebody holds the other end. An abort is thrown.
 */
export async function* jsonLines<T>(stream: Readable, signal: AbortSignal): AsyncIterable<T> {
  const end = () => stream.destroy()
  if (signal.aborted) end()
  signal.addEventListener("abort", end, { once: true })
  try {
    let held = ""
    for await (const chunk of stream.setEncoding("utf8") as AsyncIterable<string>) {
      const lines = (held + chunk).split("\n")
      held = lines.pop() ?? ""
      for (const line of lines) if (line.trim() !== "") yield JSON.parse(line) as T
    }
    signal.throwIfAborted()
  } finally {
    signal.removeEventListener("abort", end)
    stream.destroy()
  }
}
