import { read } from "node:fs"
import type { ServerResponse } from "node:http"
import { ClientGoneError } from "../failures.ts"

/** For few downloads large chunks are faster; for many, small chunks limit the memory. */
const largeChunkBytes = 2 ** 20
const smallChunkBytes = 2 ** 16
const manyDownloads = 24
let downloads = 0

/**
 * Sends a range of a file, and reads the next chunk while the last one is being sent. If the file
 * became shorter, the connection is closed.
 */
export async function sendFile(response: ServerResponse, fd: number, range: { start: number; end: number }): Promise<void> {
  downloads += 1
  const size = downloads > manyDownloads ? smallChunkBytes : largeChunkBytes
  const closed = rejectOnClose(response)
  try {
    let spare = Buffer.allocUnsafeSlow(size)
    let other = Buffer.allocUnsafeSlow(size)
    let sent: Promise<void> = Promise.resolve()
    for (let position = range.start; position < range.end; ) {
      const count = await readInto(fd, spare, position, Math.min(size, range.end - position))
      await Promise.race([sent, closed.promise])
      if (count === 0) return void response.destroy()
      sent = written(response, spare.subarray(0, count))
      sent.catch(() => {})
      position += count
      ;[spare, other] = [other, spare]
    }
    await Promise.race([sent, closed.promise])
    response.end()
  } finally {
    downloads -= 1
    closed.stop()
  }
}

function readInto(fd: number, buffer: Buffer, position: number, length: number): Promise<number> {
  return new Promise((resolve, reject) => read(fd, buffer, 0, length, position, (error, count) => (error ? reject(error) : resolve(count))))
}

function written(response: ServerResponse, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => response.write(bytes, (error) => (error ? reject(new ClientGoneError()) : resolve())))
}

/** Rejects when the connection closes: the callback of a pending write would never be called. */
function rejectOnClose(response: ServerResponse): { promise: Promise<never>; stop(): void } {
  let onClose = (): void => {}
  const promise = new Promise<never>((_, reject) => {
    onClose = () => reject(new ClientGoneError())
    if (response.destroyed) onClose()
    else response.once("close", onClose)
  })
  promise.catch(() => {})
  return { promise, stop: () => response.off("close", onClose) }
}
