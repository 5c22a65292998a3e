import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { test } from "node:test"
import { ClientFrames } from "./client-frames.ts"

interface FrameOptions {
  opcode?: number
  isCompressed?: boolean
  isFinal?: boolean
}

/** A frame as a browser sends it. */
function frame(payload: string | Buffer, { opcode = 1, isCompressed = false, isFinal = true }: FrameOptions = {}): Buffer {
  const bytes = Buffer.from(payload)
  const mask = randomBytes(4)
  const size = bytes.length
  const head =
    size < 126
      ? [size | 0x80]
      : size < 65_536
        ? [0xfe, size >> 8, size & 0xff]
        : [0xff, 0, 0, 0, 0, 0, size >> 16, (size >> 8) & 0xff, size & 0xff]
  const first = (isFinal ? 0x80 : 0) | (isCompressed ? 0x40 : 0) | opcode
  return Buffer.concat([Buffer.from([first, ...head]), mask, bytes.map((byte, i) => byte ^ (mask[i & 3] ?? 0))])
}

type Protocol = ConstructorParameters<typeof ClientFrames>[0]

const isUse = (protocol: Protocol, ...frames: Buffer[]) => new ClientFrames(protocol).detectActivity(Buffer.concat(frames), false)

/** A message to a kernel, as JupyterLab sends it with each of its two protocols. */
function kernelMessage(type: string, code: string): Buffer[] {
  const header = {
    date: "2026-01-01T00:00:00Z",
    msg_id: "a".repeat(36),
    msg_type: type,
    session: "b".repeat(36),
    username: "",
    version: "5.2",
  }
  const json = JSON.stringify({ buffers: [], channel: "shell", content: { code }, header, metadata: {}, parent_header: {} })
  const parts = [Buffer.alloc(56), Buffer.from("shell"), Buffer.from(JSON.stringify(header)), Buffer.from(JSON.stringify({ code }))]
  return [frame(json), frame(Buffer.concat(parts), { opcode: 2 })]
}

/** A message of VS Code: type, ID, acknowledged ID, size. */
function codeMessage(type: number, size: number): Buffer {
  const head = Buffer.alloc(13)
  head[0] = type
  head.writeUInt32BE(size, 9)
  return frame(Buffer.concat([head, Buffer.alloc(size, "x")]), { opcode: 2 })
}

const typed: Record<string, [Protocol, Buffer]> = {
  "an executed cell": ["jupyter", kernelMessage("execute_request", "1")[0] as Buffer],
  "an executed cell of the newer protocol": ["jupyter", kernelMessage("execute_request", "1")[1] as Buffer],
  "a key in Jupyter's terminal": ["jupyter", frame('["stdin","a"]')],
  "a key in a desktop": ["rfb", frame(Buffer.from([4, 1, 0, 0, 0, 0, 0, 97]), { opcode: 2 })],
  "the pointer in a desktop": ["rfb", frame(Buffer.from([5, 0, 0, 9, 0, 9]), { opcode: 2 })],
  "the clipboard of a desktop": ["rfb", frame(Buffer.from([6, 0, 0, 0, 0, 0, 0, 1, 97]), { opcode: 2 })],
  "an edit in VS Code": ["vscode", codeMessage(1, 200)],
  "a compressed edit in VS Code": ["vscode", frame(randomBytes(80), { opcode: 2, isCompressed: true })],
  "a message of a web application": ["any", frame('{"message": "shipping and mapping"}')],
  "a compressed message": ["any", frame(randomBytes(20), { isCompressed: true })],
  "a long message": ["any", frame("x".repeat(70_000))],
}

const automatic: Record<string, [Protocol, Buffer]> = {
  "a ping": ["any", frame("", { opcode: 9 })],
  "a pong with data": ["jupyter", frame("0123456789", { opcode: 10 })],
  "a close": ["any", frame(Buffer.from([3, 232]), { opcode: 8 })],
  "an empty message": ["any", frame("")],
  "a kernel's first question": ["jupyter", kernelMessage("kernel_info_request", "")[0] as Buffer],
  "a kernel's first question of the newer protocol": ["jupyter", kernelMessage("comm_info_request", "")[1] as Buffer],
  "a terminal's size": ["jupyter", frame('["set_size",24,80,600,800]')],
  "a desktop's request of pixels": ["rfb", frame(Buffer.from([3, 1, 0, 0, 0, 0, 4, 0, 3, 0]), { opcode: 2 })],
  "a desktop's fence": ["rfb", frame(Buffer.from([248, 0, 0, 0, 0, 0, 0, 1, 0]), { opcode: 2 })],
  "a desktop's greeting": ["rfb", frame("RFB 003.008\n", { opcode: 2 })],
  "a keep-alive of VS Code": ["vscode", codeMessage(9, 0)],
  "an acknowledgement of VS Code": ["vscode", codeMessage(3, 0)],
  "a compressed keep-alive of VS Code": ["vscode", frame(randomBytes(16), { opcode: 2, isCompressed: true })],
  "a heartbeat of Socket.IO": ["any", frame("3")],
  "a ping in JSON": ["any", frame('{"type":"ping","id":7}')],
  "a heartbeat of Phoenix": ["any", frame('[null,"5","phoenix","heartbeat",{}]')],
  "a compressed ping": ["any", frame(randomBytes(6), { isCompressed: true })],
}

test("messages that people cause count as use, whole and in single bytes", () => {
  for (const [name, [protocol, bytes]] of Object.entries(typed)) {
    assert.equal(isUse(protocol, bytes), true, name)
    const frames = new ClientFrames(protocol)
    const answers = [...bytes.subarray(0, 600)].map((byte) => frames.detectActivity(Buffer.from([byte]), false))
    assert.equal(answers.filter(Boolean).length, 1, `${name} in single bytes`)
  }
})

test("keep-alives and what pages send by themselves do not count, whole and in single bytes", () => {
  for (const [name, [protocol, bytes]] of Object.entries(automatic)) {
    assert.equal(isUse(protocol, bytes), false, name)
    const frames = new ClientFrames(protocol)
    assert.ok(
      [...bytes].every((byte) => !frames.detectActivity(Buffer.from([byte]), false)),
      `${name} in single bytes`,
    )
  }
})

test("a message is found after any others, in chunks of any size, also after bytes that were not judged", () => {
  const quiet = Object.values(automatic).flatMap(([protocol, bytes]) => (protocol === "any" ? [bytes] : []))
  // Pings whose bytes look like frames must not be read as such.
  const long = frame(Buffer.alloc(5_000, frame("hello")), { opcode: 9 })
  const rest = frame("the rest of a message whose start was judged", { opcode: 0 })
  const all = Buffer.concat([...quiet, long, rest, ...quiet, long])
  const use = frame("hello")
  for (let size = 1; size < 1_500; size += 7) {
    const frames = new ClientFrames("any")
    const read = (bytes: Buffer, isKnown: boolean) => {
      let isUsed = false
      for (let at = 0; at < bytes.length; at += size) isUsed = frames.detectActivity(bytes.subarray(at, at + size), isKnown) || isUsed
      return isUsed
    }
    assert.equal(read(all, false), false, `chunks of ${size}`)
    assert.equal(read(all, true), true)
    assert.equal(read(all, false), false, `chunks of ${size}, after bytes that were not judged`)
    assert.equal(read(use, false), true, `chunks of ${size}`)
  }
})

test("lengths beyond any message are accepted, and hold no memory", () => {
  const frames = new ClientFrames("any")
  const huge = Buffer.concat([Buffer.from([0x82, 0xff]), Buffer.alloc(8, 0xff), randomBytes(4)])
  assert.equal(frames.detectActivity(Buffer.concat([huge, Buffer.alloc(100_000)]), false), true)
  for (let i = 0; i < 100; i += 1) assert.equal(frames.detectActivity(Buffer.alloc(65_536, 0x81), false), false)
})
