import { once } from "node:events"
import { createServer, type Server, type Socket } from "node:net"
import type { ChannelStream, Multiplexer } from "#channel"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { usageError } from "../io/formats.ts"
import { type ControlledRun, controlRun } from "../session/control.ts"

export interface PortPair {
  /** Of this machine; 0: a free one. */
  local: number
  remote: number
}

/** `8888`, `5432:80` or `:80`. */
export function parsePorts(text: string): PortPair {
  const [, first, second] = /^(\d{0,5})(?::(\d{1,5}))?$/.exec(text) ?? []
  const local = Number(first === "" ? 0 : first)
  const remote = Number(second ?? first)
  if (first === undefined || !(local <= 65_535) || !(remote >= 1 && remote <= 65_535))
    throw usageError(`A port must be PORT, LOCAL:REMOTE or :REMOTE, from 1 to 65535; got ${JSON.stringify(text)}`)
  return { local, remote }
}

/** Forwards ports of this machine to a run until Ctrl-C. Only this machine can connect to them. */
export async function forward(cli: Cli, name: string, texts: readonly string[]): Promise<undefined> {
  const pairs = texts.map(parsePorts)
  const run = await controlRun(cli, name)
  const connection = new SharedConnection(run)
  await connection.get()
  const listeners = await Promise.all(pairs.map(async (pair) => ({ ...pair, server: await listen(cli, pair, connection) })))
  const ports = listeners.map(({ server, remote }) => ({ local: (server.address() as { port: number }).port, remote }))
  cli.show(ports, () => ports.map(({ local, remote }) => `localhost:${local} is port ${remote} of run ${run.run.ID}.`).join("\n"))
  cli.note("Ctrl-C ends it.")
  const { signal } = cli.process
  if (!signal.aborted) await once(signal, "abort")
  for (const { server } of listeners) server.close()
  connection.close()
  return undefined
}

/** One control connection for all ports, opened again when it was lost. */
class SharedConnection {
  readonly #run: ControlledRun
  readonly #sockets = new Set<Socket>()
  #opened: Promise<Multiplexer> | undefined

  constructor(run: ControlledRun) {
    this.#run = run
  }

  async get(): Promise<Multiplexer> {
    const known = await this.#opened?.catch(() => undefined)
    if (known && !known.isClosed) return known
    this.#opened = this.#run.open()
    return this.#opened
  }

  hold(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once("close", () => this.#sockets.delete(socket))
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    void this.#opened?.then((multiplexer) => multiplexer.close(1000, ""))
  }
}

async function listen(cli: Cli, { local, remote }: PortPair, connection: SharedConnection): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    connection.hold(socket)
    socket.on("error", () => socket.destroy())
    join(socket, remote, connection).catch((error: Error) => {
      cli.note(`Port ${remote}: ${error.message}`)
      socket.destroy()
    })
  })
  server.listen({ host: "127.0.0.1", port: local })
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`Port ${local} of this machine cannot be used: ${error.message}`, { hint: `:${remote} takes a free port.` })
  })
  return server
}

async function join(socket: Socket, port: number, connection: SharedConnection): Promise<void> {
  const { openForward } = await import("#channel")
  const stream = openForward(await connection.get(), port)
  await stream.accepted
  socket.once("close", () => stream.fail("cancelled", "The local connection was closed"))
  await Promise.all([sendAll(socket, stream), receiveAll(socket, stream)])
}

async function sendAll(socket: Socket, stream: ChannelStream): Promise<void> {
  for await (const chunk of socket.iterator({ destroyOnReturn: false })) await stream.write(chunk as Buffer)
  stream.end()
}

async function receiveAll(socket: Socket, stream: ChannelStream): Promise<void> {
  for await (const { data } of stream) if (!socket.write(data)) await once(socket, "drain")
  socket.end()
}
