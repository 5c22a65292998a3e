import { once } from "node:events"
import { connect } from "node:net"
import type { Duplex } from "node:stream"
import { type ChannelStream, type Chunk, type Multiplexer, openExec, openForward, openListen, outputPart, StreamError } from "#channel"
import { bounds } from "#contract"

/** Names of the run itself. */
const ownNames = new Set(["localhost", "127.0.0.1", "::1", "0.0.0.0", "::"])
/** The characters of names and addresses: a program of the image receives them as one word. */
const hostForm = /^[A-Za-z0-9_:][A-Za-z0-9_.:-]{0,254}$/

export function isHost(text: string): boolean {
  return hostForm.test(text)
}

/**
 * Connects to a host and port, from inside the container and with what most images have. `+` says
 * that the connection is there. Python comes first: Bash cannot end one direction of a connection
 * alone.
 */
const relay = `
if command -v python3 > /dev/null; then exec python3 -I -c '
import os, socket, sys, threading
try: s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
except OSError as error: sys.exit(str(error))
os.write(1, b"+")
def send():
    while d := os.read(0, 65536): s.sendall(d)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=send, daemon=True).start()
while d := s.recv(65536):
    while d: d = d[os.write(1, d):]' "$0" "$1"
elif command -v bash > /dev/null; then exec bash -c '
  exec 3<> "/dev/tcp/$0/$1" 4<&0 || exit 1
  printf +
  cat <&4 >&3 2> /dev/null & sending=$!
  cat <&3
  kill $sending' "$0" "$1"
elif command -v nc > /dev/null; then
  printf +
  exec nc "$0" "$1"
fi
echo "the image has none of bash, python3 and nc" >&2
exit 1`

/** The other end of a TCP connection that begins in a run. */
export interface RunConnection {
  write(data: Uint8Array): Promise<void>
  end(): void
  cancel(): void
  readonly data: AsyncIterable<Uint8Array>
}

export interface TcpTarget {
  /** Default: the run itself. */
  host?: string
  port: number
}

/**
 * Connects to a port of the run, also if a program listens there for its own container only, or to
 * another host as the run reaches it. Rejects with a `StreamError`.
 */
export async function connectFromRun(connection: Multiplexer, { host = "localhost", port }: TcpTarget): Promise<RunConnection> {
  if (!isHost(host)) throw new StreamError("invalid", `A host must be a name or an address; got ${JSON.stringify(host.slice(0, 100))}`)
  if (!ownNames.has(host)) return connectInside(connection, host, port)
  try {
    return await connectToPort(connection, port)
  } catch (error) {
    if ((error as StreamError).code !== "connection_refused") throw error
    // The reason why the run refuses names more than the program inside knows.
    return connectInside(connection, "127.0.0.1", port).catch(() => Promise.reject(error))
  }
}

/**
 * Passes on the data of a stream of this machine and of the other end, in each direction until it
 * ends. `endLocal` tells the stream that nothing more comes.
 */
export async function relayTcp(local: Duplex, end: RunConnection, endLocal: () => void): Promise<void> {
  const closed = new Promise<void>((resolve) => local.once("close", resolve))
  void closed.then(() => end.cancel())
  if (local.destroyed) end.cancel()
  const send = async () => {
    for await (const chunk of local.iterator({ destroyOnReturn: false })) await end.write(chunk as Buffer)
    end.end()
  }
  const receive = async () => {
    for await (const data of end.data) if (!local.write(data)) await Promise.race([once(local, "drain"), closed])
    endLocal()
  }
  await Promise.all([send(), receive()])
}

async function connectToPort(connection: Multiplexer, port: number): Promise<RunConnection> {
  const stream = openForward(connection, port)
  await stream.accepted
  return toRunConnection(stream)
}

export function toRunConnection(stream: ChannelStream): RunConnection {
  return {
    write: (data) => stream.write(data),
    end: () => stream.end(),
    cancel: () => stream.fail("cancelled", "The local connection was closed"),
    data: bytesOf(stream),
  }
}

/**
 * Listens at a port of the run, 0 for a free one, and passes each connection on to a host and port
 * as this machine reaches them. The stream is over with the listening; `accepted` has the port.
 */
export function listenInRun(connection: Multiplexer, port: number, target: Required<TcpTarget>): ChannelStream {
  return openListen(connection, port, (stream) => {
    const socket = connect({ ...target, allowHalfOpen: true, noDelay: true })
    const refuse = (error: Error) => stream.fail("connection_refused", error.message)
    socket.once("error", refuse).once("connect", () => {
      socket.off("error", refuse).on("error", () => socket.destroy())
      stream.accept()
      stream.widenWindow(bounds.control.wideWindowBytes.value)
      relayTcp(socket, toRunConnection(stream), () => socket.end()).catch(() => socket.destroy())
    })
  })
}

async function connectInside(connection: Multiplexer, host: string, port: number): Promise<RunConnection> {
  const program = openExec(connection, { command: ["sh", "-c", relay, host, String(port)] })
  await program.started
  const output = program.stream[Symbol.asyncIterator]()
  const { first, errors } = await firstOutput(output)
  if (first?.[0] !== plus) {
    program.cancel()
    throw new StreamError("connection_refused", `The run does not reach port ${port} of ${host}${errors && `: ${errors}`}`)
  }
  async function* data() {
    if (first && first.length > 1) yield first.subarray(1)
    yield* bytesOf(output)
  }
  return { write: (chunk) => program.write(chunk), end: () => program.end(), cancel: () => program.cancel(), data: data() }
}

const plus = 0x2b
const maxErrorCharacters = 500

/** The first of a program's output; without any, the first line of its errors. */
async function firstOutput(output: AsyncIterator<Chunk>): Promise<{ first?: Uint8Array; errors: string }> {
  const decoder = new TextDecoder()
  let errors = ""
  for (;;) {
    const { value, done } = await output.next()
    if (done) return { errors: errors.trim().split("\n", 1)[0] ?? "" }
    if (value.part === outputPart.stdout) return { first: value.data, errors }
    errors = (errors + decoder.decode(value.data, { stream: true })).slice(0, maxErrorCharacters)
  }
}

/** The bytes of a connection; what a program writes to its standard error is none of them. */
async function* bytesOf(chunks: AsyncIterable<Chunk>): AsyncGenerator<Uint8Array> {
  for await (const { part, data } of chunks) if (part !== outputPart.stderr) yield data
}
