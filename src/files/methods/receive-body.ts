import { writev } from "node:fs"
import type { IncomingMessage } from "node:http"
import { promisify } from "node:util"
import { bounds } from "#contract"
import { hasBody, PacedReader, sharedTurnBudget } from "#http"
import { ChunkBuffer } from "#kit"
import { ClientGoneError } from "../failures.ts"
import { type TurnOwner, withDiskTurn } from "../requests/disk-turns.ts"

const write = promisify(writev)

/** Reading pauses while this much waits for the disk. */
const maxBufferedBytes = bounds.files.waitingBytes.value
/** A body of at most this length is written in one call when it is complete. */
const smallBodyBytes = 65_536

/** The body may be collected until it is complete, since that costs little memory. */
export function isSmallBody({ headers }: IncomingMessage): boolean {
  return Number(headers["content-length"] ?? Number.POSITIVE_INFINITY) <= smallBodyBytes
}

interface Destination {
  userId: number
  /** Called with the next bytes when those before are written. */
  write(chunks: Buffer[]): Promise<void>
  onBytes?: ((bytes: number) => void) | undefined
}

/** Writes bytes into a file of a person, from a position or that of the descriptor on. */
export function fileWriter(fd: number, userId: TurnOwner, position?: number): Destination["write"] {
  let at = position
  return async (chunks) => {
    const from = at
    if (at !== undefined) at += chunks.reduce((sum, { length }) => sum + length, 0)
    await withDiskTurn(userId, () => writeAll({ fd, position: from }, chunks))
  }
}

/**
 * Writes a request's body as it arrives; a small one at once. `onBytes` is called before each
 * write, and an error that it throws ends the reception. Rejects with `ClientGoneError` when the
 * body ends early. No write is pending when the promise settles. The bytes count for the person.
 */
export async function receiveBody(request: IncomingMessage, { userId, write, onBytes }: Destination): Promise<void> {
  if (!hasBody(request)) return
  await new Promise<void>((resolve, reject) => {
    new BodyReceiver(request, { userId, write, onBytes, done: (error) => (error ? reject(error) : resolve()) })
  })
}

/** Collects the next chunks while the last ones are written. */
class BodyReceiver {
  readonly #request: IncomingMessage
  readonly #writeChunks: Destination["write"]
  readonly #userId: number
  readonly #reader = new PacedReader(() => this.#resume(), sharedTurnBudget)
  readonly #onBytes: ((bytes: number) => void) | undefined
  readonly #done: (error?: Error) => void
  readonly #isSmall: boolean
  readonly #waiting = new ChunkBuffer()
  #isWriting = false
  #hasEnded = false
  #isSettled = false
  #failure: Error | undefined

  constructor(request: IncomingMessage, options: Destination & { done: (error?: Error) => void }) {
    this.#request = request
    this.#writeChunks = options.write
    this.#userId = options.userId
    this.#onBytes = options.onBytes
    this.#done = options.done
    this.#isSmall = isSmallBody(request)
    request.on("data", this.#onData).once("end", this.#onEnd).once("error", this.#onGone).once("close", this.#onGone)
    if (request.destroyed) this.#onGone()
  }

  #onData = (chunk: Buffer): void => {
    try {
      this.#onBytes?.(chunk.length)
    } catch (error) {
      this.#fail(error as Error)
      return
    }
    this.#waiting.add(chunk)
    if (this.#waiting.length >= maxBufferedBytes) this.#reader.pause()
    if (!this.#reader.countRead(this.#userId, chunk.length)) this.#request.pause()
    if (!this.#isSmall) this.#write()
  }

  #onEnd = (): void => {
    this.#hasEnded = true
    this.#write()
  }

  #onGone = (): void => {
    if (!this.#hasEnded) this.#fail(new ClientGoneError())
  }

  #fail(error: Error): void {
    this.#failure ??= error
    if (!this.#isWriting) this.#settle()
  }

  #resume(): void {
    if (!this.#isSettled && this.#request.isPaused()) this.#request.resume()
  }

  #settle(): void {
    this.#isSettled = true
    this.#request.off("data", this.#onData).off("end", this.#onEnd).off("error", this.#onGone).off("close", this.#onGone)
    this.#done(this.#failure)
  }

  #write(): void {
    if (this.#isWriting) return
    if (this.#failure || (this.#hasEnded && this.#waiting.length === 0)) this.#settle()
    else if (this.#waiting.length > 0) this.#writeWaiting()
  }

  #writeWaiting(): void {
    const batch = this.#waiting.take()
    this.#isWriting = true
    this.#reader.resume()
    const onWritten = (error?: Error) => {
      this.#isWriting = false
      if (error) this.#failure ??= error
      this.#write()
    }
    this.#writeChunks(batch).then(() => onWritten(), onWritten)
  }
}

/** Repeats `writev`, which may write a part only. */
async function writeAll({ fd, position }: { fd: number; position: number | undefined }, chunks: Buffer[]): Promise<void> {
  let [rest, at] = [chunks, position]
  while (rest.length > 0) {
    const { bytesWritten } = await write(fd, rest, at)
    rest = dropBytes(rest, bytesWritten)
    if (at !== undefined) at += bytesWritten
  }
}

function dropBytes(chunks: Buffer[], count: number): Buffer[] {
  let skip = count
  const rest: Buffer[] = []
  for (const chunk of chunks) {
    if (skip < chunk.length) rest.push(skip > 0 ? chunk.subarray(skip) : chunk)
    skip = Math.max(0, skip - chunk.length)
  }
  return rest
}
