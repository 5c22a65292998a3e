import type { Writable } from "node:stream"

/**
 * Resolves when more may be written, or the stream is closed. Bulk transfers wait for each chunk,
 * so this leaves no signals and weak references to the garbage collector.
 */
export function drained(stream: Writable): Promise<void> {
  if (!stream.writableNeedDrain) return Promise.resolve()
  return new Promise((resolve) => {
    const done = () => {
      stream.off("drain", done).off("close", done)
      resolve()
    }
    stream.on("drain", done).on("close", done)
  })
}
