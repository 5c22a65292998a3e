import type { Writable } from "node:stream"

/**
 * Writes, and resolves when the system has the bytes or the stream is closed. Short writes that
 * wait take hundreds of bytes each, which a stream's own limit does not count. Bulk transfers wait
 * for each chunk, so this leaves no signals and weak references to the garbage collector.
 */
export function writeThrough(stream: Writable, data: Uint8Array): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      stream.off("close", done)
      resolve()
    }
    stream.on("close", done)
    stream.write(data, done)
  })
}
