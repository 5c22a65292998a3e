import assert from "node:assert/strict"
import { test } from "node:test"
import { setImmediate as turn } from "node:timers/promises"
import { bounds } from "#contract"
import type { ChannelStream, JsonObject } from "./channel-stream.ts"
import { decodeFrame, encodeCredit, encodeData, encodeFrame, encodeJson, frameKinds } from "./frames.ts"
import { Multiplexer, type Transport } from "./multiplexer.ts"

const { windowBytes, badFrames, streams } = bounds.control

/** Both ends in this process. Frames arrive in a later turn, as on a network. */
function pair(onOpen: (stream: ChannelStream, request: JsonObject) => void) {
  const sent: Uint8Array[] = []
  const closed: number[] = []
  const state = { congested: false }
  const transport = (to: () => Multiplexer, log?: Uint8Array[]): Transport => ({
    send: (frame) => {
      log?.push(frame)
      setImmediate(() => to().receive(frame))
    },
    get isCongested() {
      return state.congested
    },
    close: (status) => void closed.push(status),
  })
  const server: Multiplexer = new Multiplexer({ transport: transport(() => client, sent), side: "server", onOpen })
  const client: Multiplexer = new Multiplexer({ transport: transport(() => server), side: "client" })
  return { client, server, sent, closed, state }
}

async function settle(): Promise<void> {
  for (let n = 0; n < 50; n += 1) await turn()
}

/** Sends all back, and ends with the number of bytes. */
async function echo(stream: ChannelStream): Promise<void> {
  stream.accept({ hello: 1 })
  let bytes = 0
  for await (const { part, data } of stream) {
    bytes += data.length
    await stream.write(data, part)
  }
  stream.finish({ bytes })
}

/** The error codes in the close frames that the server sent. */
const codesIn = (sent: Uint8Array[]) =>
  sent.flatMap((frame) => (frame[0] === frameKinds.close ? [JSON.parse(Buffer.from(frame.subarray(5)).toString()).code] : []))

test("a stream carries data larger than its window both ways, and a result", async () => {
  const { client } = pair((stream) => void echo(stream))
  const stream = client.open("echo")
  assert.deepEqual(await stream.accepted, { hello: 1 })
  const data = Buffer.alloc(1_000_000, "0123456789")
  const writing = stream.write(data, 3).then(() => stream.end())
  const chunks = await Array.fromAsync(stream)
  assert.deepEqual(Buffer.concat(chunks.map((chunk) => chunk.data)), data)
  assert.ok(chunks.every(({ part }) => part === 3))
  assert.deepEqual(await stream.done, { bytes: data.length })
  await writing
  assert.equal(client.streamCount, 0)
})

test("data arrives as it was written, also when its memory was used again before there was credit", async () => {
  const peer = Promise.withResolvers<ChannelStream>()
  const { client } = pair((stream) => {
    stream.accept()
    peer.resolve(stream)
  })
  const stream = client.open("sink")
  const memory = new Uint8Array(windowBytes.value + 1_000).fill(1)
  const sent = stream.writeCopy(memory)
  memory.fill(2)
  const received: Uint8Array[] = []
  const reading = (async () => {
    for await (const { data } of await peer.promise) received.push(data)
  })()
  await sent
  stream.end()
  await reading
  const bytes = Buffer.concat(received)
  assert.equal(bytes.length, memory.length)
  assert.ok(bytes.every((byte) => byte === 1))
})

test("of 200 streams one that is never read holds at most its window, and delays no other", async () => {
  const { client, sent } = pair((stream, { kind }) => {
    if (kind === "echo") return void echo(stream)
    void stream.write(Buffer.alloc(10_000_000)).catch(() => {})
  })
  const unread = client.open("flood")
  const others = Array.from({ length: 199 }, () => client.open("echo"))
  for (const stream of others) void stream.write(Buffer.from("x".repeat(1_000))).then(() => stream.end())
  for (const stream of others) assert.equal((await Array.fromAsync(stream))[0]?.data.length, 1_000)
  await settle()
  const flooded = sent.filter((frame) => frame[0] === frameKinds.data && decodeFrame(frame)?.stream === unread.id)
  const bytes = flooded.reduce((sum, frame) => sum + frame.length, 0)
  assert.ok(bytes > windowBytes.value / 2 && bytes <= windowBytes.value, String(bytes))
})

test("streams send in turn while the connection is slow", async () => {
  const { client, server, sent, state } = pair((stream) => void stream.write(Buffer.alloc(60_000)).catch(() => {}))
  state.congested = true
  const [first, second] = [client.open("a"), client.open("b")]
  await settle()
  state.congested = false
  sent.length = 0
  server.resume()
  await settle()
  assert.deepEqual(sent.map((frame) => decodeFrame(frame)?.stream).slice(0, 3), [first.id, second.id, first.id])
})

test("a bad frame ends its stream with a code and no other", async () => {
  const bad: Record<string, (id: number) => Uint8Array> = {
    "data without a part": (id) => encodeFrame(frameKinds.data, id),
    "short credit": (id) => encodeFrame(frameKinds.credit, id, new Uint8Array(3)),
    "endless credit": (id) => encodeCredit(id, 2 ** 32 - 1),
    "a message that is no JSON": (id) => encodeFrame(frameKinds.message, id, Buffer.from("{")),
    "a message that is a list": (id) => encodeJson(frameKinds.message, id, []),
    "a long message": (id) => encodeJson(frameKinds.message, id, { a: "x".repeat(5_000) }),
    "an unknown kind": (id) => encodeJson(77 as 6, id, {}),
  }
  for (const [what, frame] of Object.entries(bad)) {
    const { client, server, sent } = pair((stream) => void echo(stream).catch(() => {}))
    const [broken, other] = [client.open("echo"), client.open("echo")]
    await broken.accepted
    server.receive(frame(broken.id))
    await assert.rejects(broken.done, { code: "protocol_error" }, what)
    assert.deepEqual(codesIn(sent), ["protocol_error"], what)
    other.end()
    assert.deepEqual(await other.done, { bytes: 0 }, what)
  }
})

test("data beyond the credit ends its stream, whether the frames are large or tiny", async () => {
  for (const length of [16_384, 1, 0]) {
    const { client, server } = pair((stream) => stream.accept())
    const stream = client.open("deaf")
    await stream.accepted
    for (let n = 0; n < 600; n += 1) server.receive(encodeData(new Uint8Array(length), { stream: stream.id, part: 0 }))
    await assert.rejects(stream.done, { code: "protocol_error" }, `frames of ${length} bytes`)
  }
})

test("a stream's ID is never used again, and frames to a closed stream are dropped", async () => {
  const { client, server, sent } = pair((stream) => stream.finish())
  const stream = client.open("short")
  await stream.done
  sent.length = 0
  server.receive(encodeData(new Uint8Array(10), { stream: stream.id, part: 0 }))
  assert.deepEqual(codesIn(sent), [])
  server.receive(encodeJson(frameKinds.open, stream.id, { kind: "short" }))
  server.receive(encodeJson(frameKinds.open, 2, { kind: "short" }))
  server.receive(encodeData(new Uint8Array(10), { stream: 99, part: 0 }))
  assert.deepEqual(codesIn(sent), ["protocol_error", "protocol_error", "protocol_error"])
})

test("many bad frames, or a message that is no frame, close the connection", () => {
  const many = pair(() => {})
  for (let n = 0; n <= badFrames.value; n += 1) many.server.receive(encodeData(new Uint8Array(1), { stream: 1, part: 0 }))
  assert.deepEqual([many.closed, many.server.isClosed], [[4400], true])
  const short = pair(() => {})
  short.server.receive(new Uint8Array(4))
  assert.deepEqual(short.closed, [4400])
})

test("a stream beyond the maximum ends at once, and the others go on", async () => {
  const { client } = pair((stream) => void echo(stream).catch(() => {}))
  const open = Array.from({ length: streams.value }, () => client.open("echo"))
  await assert.rejects(client.open("echo").done, { code: "too_many_streams" })
  open[0]?.end()
  assert.deepEqual(await open[0]?.done, { bytes: 0 })
})

test("the end of the connection ends all streams, their reads and their writes", async () => {
  const { client } = pair((stream) => stream.accept())
  const stream = client.open("deaf")
  await stream.accepted
  const [reading, writing] = [stream.read(), stream.write(new Uint8Array(1_000_000))]
  client.handleTransportClose("gone")
  for (const each of [reading, writing, stream.done, client.open("late").done]) await assert.rejects(each, { code: "connection_lost" })
})
