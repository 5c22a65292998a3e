import { read } from "node:fs"
import type { ServerResponse } from "node:http"
import { ClientGoneError } from "../failures.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { withDiskTurn } from "../requests/disk-turns.ts"

/** For few downloads large chunks are faster; for many, small chunks limit the memory. */
const largeChunkBytes = 2 ** 20
const smallChunkBytes = 2 ** 16
const manyDownloads = 24
let downloads = 0

/**
 * Sends a range of a file, and reads the next chunk while the last one is being sent. If the file
 * became shorter, the connection is closed.
 */
export async function sendFile(
  { response, userId }: Pick<DavRequest, "response" | "userId">,
  fd: number,
  range: { start: number; end: number },
): Promise<void> {
  downloads += 1
  const size = Math.min(range.end - range.start, downloads > manyDownloads ? smallChunkBytes : largeChunkBytes)
  const writer = new ChunkWriter(response)
  try {
    let spare = Buffer.allocUnsafeSlow(size)
    let other = Buffer.allocUnsafeSlow(size)
    let sent: Promise<void> = Promise.resolve()
    for (let position = range.start; position < range.end; ) {
      const [chunk, at] = [spare, position]
      const count = await withDiskTurn(userId, () => readInto(fd, chunk, at, Math.min(size, range.end - at)))
      await sent
      if (count === 0) return void response.destroy()
      sent = writer.write(spare.subarray(0, count))
      sent.catch(() => {})
      position += count
      ;[spare, other] = [other, spare]
    }
    await sent
    response.end()
  } finally {
    downloads -= 1
    writer.stop()
  }
}

function readInto(fd: number, buffer: Buffer, position: number, length: number): Promise<number> {
  return new Promise((resolve, reject) => read(fd, buffer, 0, length, position, (error, count) => (error ? reject(error) : resolve(count))))
}

/**
 * Writes one chunk after another. A write rejects when the connection closes: its callback would
 * never be called. No promise lives as long as the download, since each wait for one that does
 * would take memory until its end.
 */
class ChunkWriter {
  readonly #response: ServerResponse
  #reject: (error: Error) => void = () => {}

  constructor(response: ServerResponse) {
    this.#response = response
    response.once("close", this.#onClose)
  }

  #onClose = (): void => this.#reject(new ClientGoneError())

  write(bytes: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#reject = reject
      if (this.#response.destroyed) this.#onClose()
      else this.#response.write(bytes, (error) => (error ? reject(new ClientGoneError()) : resolve()))
    })
  }

  stop(): void {
    this.#response.off("close", this.#onClose)
  }
}
