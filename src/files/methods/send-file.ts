import { read } from "node:fs"
import type { ServerResponse } from "node:http"
import { ClientGone } from "../failures.ts"

/** With few downloads large pieces are quicker; with many, small ones keep the memory bounded. */
const largeChunkBytes = 2 ** 20
const smallChunkBytes = 2 ** 16
const manyDownloads = 24
let downloads = 0

/**
 * Sends a stretch of a file, reading the next piece while the last one is on its way. A file that
 * got shorter ends the connection.
 */
export async function sendFile(response: ServerResponse, fd: number, stretch: { start: number; end: number }): Promise<void> {
  downloads += 1
  const size = downloads > manyDownloads ? smallChunkBytes : largeChunkBytes
  const gone = closed(response)
  try {
    let spare = Buffer.allocUnsafeSlow(size)
    let other = Buffer.allocUnsafeSlow(size)
    let sent: Promise<void> = Promise.resolve()
    for (let position = stretch.start; position < stretch.end; ) {
      const count = await readInto(fd, spare, position, Math.min(size, stretch.end - position))
      await Promise.race([sent, gone.promise])
      if (count === 0) return void response.destroy()
      sent = written(response, spare.subarray(0, count))
      sent.catch(() => {})
      position += count
      ;[spare, other] = [other, spare]
    }
    await Promise.race([sent, gone.promise])
    response.end()
  } finally {
    downloads -= 1
    gone.stop()
  }
}

function readInto(fd: number, buffer: Buffer, position: number, length: number): Promise<number> {
  return new Promise((resolve, reject) => read(fd, buffer, 0, length, position, (error, count) => (error ? reject(error) : resolve(count))))
}

function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => response.write(bytes, (error) => (error ? reject(new ClientGone()) : resolve())))
}

/** Rejects when the connection closes: a write that waits for it then would never be told. */
function closed(response: ServerResponse): { promise: Promise<never>; stop(): void } {
  let onClose = (): void => {}
  const promise = new Promise<never>((_, reject) => {
    onClose = () => reject(new ClientGone())
    if (response.destroyed) onClose()
    else response.once("close", onClose)
  })
  promise.catch(() => {})
  return { promise, stop: () => response.off("close", onClose) }
}
