import type { ChannelStream } from "#channel"
import { sharedScheduler, Yielder } from "#kit"

/**
 * The chunks of a client, in slices of the person's time. A wide window holds tens of thousands of
 * one byte, and a program that did not read before may take all of them at once.
 */
export async function* pacedInput(stream: ChannelStream, userId: number): AsyncGenerator<Uint8Array> {
  const yielder = new Yielder(sharedScheduler, userId)
  for await (const { data } of stream) {
    yield data
    await yielder.pause()
  }
}
