import type { IncomingMessage } from "node:http"
import type { Writable } from "node:stream"
import { PacedReader, sharedTurnBudget, type TurnOwner } from "#http"

/**
 * Like `source.pipe(sink)`, but the bytes count for their owner: a hundred transfers of one person
 * move no more in a turn of the event loop than one. The returned function ends it early.
 */
export function pipePaced(source: IncomingMessage, sink: Writable, owner: TurnOwner): () => void {
  let isOver = false
  const resume = () => void (isOver || source.resume())
  const reader = new PacedReader(resume, sharedTurnBudget, () => source.pause())
  const onData = (chunk: Buffer) => {
    if (!sink.write(chunk)) reader.pause()
    if (!reader.countRead(owner, chunk.length)) source.pause()
  }
  const onDrain = () => reader.resume()
  const stop = () => {
    isOver = true
    reader.leave()
    source.off("data", onData).off("end", onEnd).off("close", stop)
    sink.off("drain", onDrain).off("close", stop)
  }
  const onEnd = () => {
    stop()
    sink.end()
  }
  source.on("data", onData).once("end", onEnd).once("close", stop)
  sink.on("drain", onDrain).once("close", stop)
  reader.join(owner)
  return stop
}
