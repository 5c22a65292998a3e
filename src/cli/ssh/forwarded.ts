import { once } from "node:events"
import type { ServerChannel } from "ssh2"
import { type Chunk, type Multiplexer, openExec, openForward, outputPart, type StreamError } from "#channel"

const ownNames = new Set(["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"])

/**
 * Connects to a port of the container's own address, with what most images have. `+` says that the
 * connection is there.
 */
const relay = `
if command -v bash > /dev/null; then exec bash -c '
  exec 3<> /dev/tcp/127.0.0.1/$0 4<&0 || exit 1
  printf +
  cat <&4 >&3 2> /dev/null & sending=$!
  cat <&3
  kill $sending' "$0"
elif command -v python3 > /dev/null; then exec python3 -c '
import os, socket, sys, threading
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
os.write(1, b"+")
def send():
    while d := os.read(0, 65536): s.sendall(d)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
while d := s.recv(65536):
    while d: d = d[os.write(1, d):]' "$0"
fi
printf +
exec nc 127.0.0.1 "$0"`

/** The end of a connection in the run. */
interface RunEnd {
  write(data: Uint8Array): Promise<void>
  end(): void
  cancel(): void
  readonly data: AsyncIterable<Uint8Array>
}

export interface ForwardRequest {
  accept(): ServerChannel
  reject(): void
  host: string
  port: number
}

/** `ssh -L` to a port of the run, also where a program listens for its own container only. */
export async function serveForward(connection: Multiplexer, { accept, reject, host, port }: ForwardRequest): Promise<void> {
  if (!ownNames.has(host)) return reject()
  const end = await connect(connection, port).catch(() => undefined)
  if (!end) return reject()
  const channel = accept()
  const closed = once(channel, "close")
  channel.on("error", () => {})
  void closed.then(() => end.cancel())
  await Promise.all([sendAll(channel, end), receiveAll(channel, end, closed)]).catch(() => {})
  channel.end()
}

async function connect(connection: Multiplexer, port: number): Promise<RunEnd> {
  const stream = openForward(connection, port)
  try {
    await stream.accepted
  } catch (error) {
    if ((error as StreamError).code !== "connection_refused") throw error
    return connectInside(connection, port)
  }
  return {
    write: (data) => stream.write(data),
    end: () => stream.end(),
    cancel: () => stream.fail("cancelled", "The local connection was closed"),
    data: bytesOf(stream),
  }
}

async function connectInside(connection: Multiplexer, port: number): Promise<RunEnd> {
  const program = openExec(connection, { command: ["sh", "-c", relay, String(port)] })
  await program.started
  const output = program.stream[Symbol.asyncIterator]()
  const first = await firstOutput(output)
  if (first?.[0] !== plus) {
    program.cancel()
    throw new Error("Nothing listens at this port")
  }
  async function* data() {
    if (first && first.length > 1) yield first.subarray(1)
    yield* bytesOf(output)
  }
  return { write: (chunk) => program.write(chunk), end: () => program.end(), cancel: () => program.cancel(), data: data() }
}

const plus = 0x2b

async function firstOutput(output: AsyncIterator<Chunk>): Promise<Uint8Array | undefined> {
  for (;;) {
    const { value, done } = await output.next()
    if (done) return undefined
    if (value.part === outputPart.stdout) return value.data
  }
}

/** The bytes of a connection; what a program writes to its standard error is none of them. */
async function* bytesOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<Uint8Array> {
  for await (const { part, data } of chunks) if (part !== outputPart.stderr) yield data
}

async function sendAll(channel: ServerChannel, end: RunEnd): Promise<void> {
  for await (const chunk of channel.iterator({ destroyOnReturn: false })) await end.write(chunk as Buffer)
  end.end()
}

async function receiveAll(channel: ServerChannel, end: RunEnd, closed: Promise<unknown>): Promise<void> {
  for await (const data of end.data) if (!channel.write(data)) await Promise.race([once(channel, "drain"), closed])
  channel.eof()
}
