import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { type Caller, runResource } from "#access"
import { closeStatus, type Multiplexer, protocolName } from "#channel"
import { bounds, Failure, isLive } from "#contract"
import type { Actor } from "#events"
import { abortOnRevocation } from "#projects"
import type { RunRow } from "#store"
import { isControllable } from "./address.ts"
import { serveConnection } from "./connection.ts"
import type { ControlOptions, PersonLimits } from "./context.ts"
import { ControlUsageByPerson } from "./control-usage.ts"
import { ShellSessions } from "./streams/shell-sessions.ts"

/** A request for a WebSocket whose caller may control the run. */
export interface ControlUpgrade {
  request: IncomingMessage
  socket: Duplex
  head: Buffer
  caller: Caller
  actor: Actor
  run: RunRow
  /** Called when the socket changes its protocol. */
  release: () => void
  limits: PersonLimits
}

/** The server's end of the control channel. */
export interface ControlServer extends AsyncDisposable {
  /** Throws a `Failure` if the request cannot be accepted; otherwise owns the socket. */
  accept(upgrade: ControlUpgrade): void
  /** Open connections. */
  readonly size: number
}

export function createControlServer(options: ControlOptions): ControlServer {
  const { runs, clock, identity, logger, store } = options
  const webSockets = new WebSocketServer({
    noServer: true,
    maxPayload: bounds.control.frameBytes.value + 16,
    perMessageDeflate: false,
    handleProtocols: () => protocolName,
  })
  const connections = new Set<Multiplexer>()
  const usages = new ControlUsageByPerson()
  const shells = new ShellSessions()
  const closing = new AbortController()

  function accept({ request, socket, head, caller, actor, run, release, limits }: ControlUpgrade): void {
    checkRequest(request, run)
    if (closing.signal.aborted) throw new Failure("unavailable", "The service stops", { headers: { "Retry-After": "5" } })
    const usage = usages.of(caller.userId)
    const slot = usage.addConnection()
    let isServed = false
    socket.once("close", () => isServed || slot[Symbol.dispose]())
    release()
    webSockets.handleUpgrade(request, socket, head, (webSocket) => {
      const ended = new AbortController()
      const resource = async () => {
        const now = runs.row(run.id)
        return now && now.key === run.key && isLive(now.state) ? runResource(now) : undefined
      }
      const watchRight = (signal: AbortSignal) =>
        abortOnRevocation({ store, identity, clock, logger }, { caller, signal }, { action: "run:control", resource })
      const person = { caller, actor, usage, limits, watchRight }
      const connection = serveConnection({ ...options, ...person, run, shells, signal: ended.signal }, webSocket)
      connections.add(connection)
      isServed = true
      const right = watchRight(ended.signal)
      right.addEventListener("abort", () =>
        connection.close(closeStatus.revoked, "The right to control this run, or the run itself, ended"),
      )
      // Messages may still be handled after the socket is closed.
      void connection.closed.then(() => {
        slot[Symbol.dispose]()
        connections.delete(connection)
        ended.abort()
      })
    })
  }

  return {
    accept,
    get size() {
      return connections.size
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      for (const connection of connections) connection.close(1001, "The service stops")
      await shells.close()
      for (const client of webSockets.clients) client.terminate()
    },
  }
}

function checkRequest({ headers }: IncomingMessage, run: RunRow): void {
  const offered = (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim())
  if (!offered.includes(protocolName)) {
    throw new Failure("invalid", `Sec-WebSocket-Protocol must offer ${protocolName}; got ${offered.join(", ").slice(0, 100) || "none"}`)
  }
  if (headers["sec-websocket-version"] !== "13" || !/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? "")) {
    throw new Failure("invalid", "This is not a request for a WebSocket of version 13")
  }
  if (isControllable(run)) return
  throw new Failure("conflict", `A control connection needs a run that is starting or ready; this one is ${run.state}`)
}
