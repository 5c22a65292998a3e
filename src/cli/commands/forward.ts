import { once } from "node:events"
import { type AddressInfo, createServer, type Server } from "node:net"
import type { Cli } from "../io/cli.ts"
import { CliError } from "../io/failures.ts"
import { usageError } from "../io/formats.ts"
import { sanitize } from "../io/table.ts"
import { findControlledRun } from "../session/control.ts"
import { RemoteForward } from "../session/remote-forward.ts"
import { connectFromRun, isHost, relayTcp } from "../session/run-connection.ts"
import { SharedConnection } from "../session/shared-connection.ts"

export interface ForwardedPort {
  /** Of this machine; 0: a free one. */
  local: number
  /** A host that the run reaches; without one, the run itself. */
  host?: string
  remote: number
}

const forms = "PORT, LOCAL:REMOTE, LOCAL:HOST or LOCAL:HOST:REMOTE, with ports from 1 to 65535; without LOCAL, a free one is used"

/** `8888`, `5432:80`, `:80`, `5432:db`, `5433:db:5432` or `:[fd00::1]:80`. */
export function parsePorts(text: string): ForwardedPort {
  const wrong = () => usageError(`A port must be ${forms}; got ${JSON.stringify(text)}`)
  const match = /^(\d{0,5})(?::(?:\[([^\]]+)\]|([^:[\]]*[^:[\]\d][^:[\]]*)))?(?::(\d{1,5}))?$/.exec(text)
  if (!match) throw wrong()
  const [, first = "", bracketed, name, last] = match
  const host = bracketed ?? name
  const local = Number(first)
  const remote = Number(last ?? first)
  const isValid = local <= 65_535 && remote >= 1 && remote <= 65_535 && (host === undefined || isHost(host))
  if (!isValid) throw wrong()
  return { local, ...(host === undefined ? {} : { host }), remote }
}

interface ForwardOptions {
  back?: string[]
}

/**
 * Forwards ports of this machine to a run until Ctrl-C, and ports of the run to this machine. Only
 * this machine, and only the run, can connect to them.
 */
export async function forward(cli: Cli, name: string, texts: readonly string[], options: ForwardOptions): Promise<undefined> {
  const [ports, backPorts] = [texts.map(parsePorts), (options.back ?? []).map(parsePorts)]
  if (ports.length + backPorts.length === 0) throw usageError(`Name at least one port: ${forms}`)
  const run = await findControlledRun(cli, name)
  const connection = new SharedConnection(run)
  const opened = await connection.acquire()
  const servers = await Promise.all(ports.map((port) => listen(cli, port, connection)))
  const forwarded = servers.map((server, i) => ({ ...(ports[i] as ForwardedPort), local: (server.address() as AddressInfo).port }))
  const back = await Promise.all(backPorts.map((port) => RemoteForward.open(opened, port)))
  const shown = [...forwarded, ...back.map(({ port }) => ({ ...port, isBack: true }))]
  cli.show(shown, () =>
    [
      ...forwarded.map((port) => `localhost:${port.local} is ${describeTarget(port, run.run.ID)}.`),
      ...back.map(
        ({ port: { local, host, remote } }) => `localhost:${local} of run ${run.run.ID} is port ${remote} of ${host ?? "this machine"}.`,
      ),
    ].join("\n"),
  )
  cli.note("Ctrl-C ends it.")
  const { signal } = cli.process
  for (const each of back) void each.keepListening(cli, { ...run, open: () => connection.acquire() })
  if (!signal.aborted) await once(signal, "abort")
  for (const server of servers) server.close()
  connection.close()
  return undefined
}

function describeTarget({ host, remote }: ForwardedPort, runId: number): string {
  return host === undefined ? `port ${remote} of run ${runId}` : `port ${remote} of ${host}, as run ${runId} reaches it`
}

async function listen(cli: Cli, { local, host, remote }: ForwardedPort, connection: SharedConnection): Promise<Server> {
  const target = { port: remote, ...(host === undefined ? {} : { host }) }
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    connection.track(socket)
    socket.on("error", () => socket.destroy())
    const joined = connection.acquire().then(async (opened) => relayTcp(socket, await connectFromRun(opened, target), () => socket.end()))
    joined.catch((error: Error) => {
      cli.note(`Port ${remote}: ${sanitize(error.message)}`)
      socket.destroy()
    })
  })
  server.listen({ host: "127.0.0.1", port: local })
  await once(server, "listening").catch((error: NodeJS.ErrnoException) => {
    throw new CliError(`Port ${local} of this machine cannot be used: ${error.message}`, {
      hint: `:${host === undefined ? "" : `${host}:`}${remote} takes a free port.`,
    })
  })
  return server
}
