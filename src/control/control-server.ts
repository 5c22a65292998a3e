import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import { WebSocketServer } from "ws"
import { type Caller, runResource } from "#access"
import { closeStatus, type Multiplexer, protocolName } from "#channel"
import { bounds, Failure, isLive } from "#contract"
import type { Actor } from "#events"
import { abortOnRevocation, type RightHolder } from "#projects"
import type { RunRow } from "#store"
import { isControllable } from "./address.ts"
import { serveConnection } from "./connection.ts"
import type { ApiLimits, ControlOptions } from "./context.ts"
import { ControlUsageByPerson } from "./control-usage.ts"
import { restoreShells } from "./shells/restore-shells.ts"
import { ShellRecovery } from "./shells/shell-recovery.ts"
import { ShellSessions } from "./shells/shell-sessions.ts"

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
  limits: ApiLimits
}

/** The server's end of the control channel. */
export interface ControlServer extends AsyncDisposable {
  /** Throws a `Failure` if the request cannot be accepted; otherwise owns the socket. */
  accept(upgrade: ControlUpgrade): void
  /** Open connections. */
  readonly size: number
}

export function createControlServer(options: ControlOptions): ControlServer {
  const webSockets = new WebSocketServer({
    noServer: true,
    maxPayload: bounds.control.frameBytes.value + 16,
    maxFragments: bounds.control.messageParts.value,
    maxBufferedChunks: bounds.control.frameParts.value,
    perMessageDeflate: false,
    handleProtocols: () => protocolName,
  })
  const connections = new Set<Multiplexer>()
  const usages = new ControlUsageByPerson()
  const closing = new AbortController()
  const watchRight = createRightWatcher(options)
  const recovery = options.shellsDirectory === undefined ? undefined : new ShellRecovery(options.shellsDirectory)
  const shells = new ShellSessions(recovery)
  const restored = recovery ? restoreShells({ ...options, recovery, shells, usages, watchRight }) : Promise.resolve()

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
      const watch = (signal: AbortSignal) => watchRight(caller, run, signal)
      const person = { caller, actor, usage, limits, watchRight: watch }
      const connection = serveConnection({ ...options, ...person, run, shells, restored, signal: ended.signal }, webSocket, socket)
      connections.add(connection)
      isServed = true
      const right = watch(ended.signal)
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
      await restored
      await shells.close()
      for (const client of webSockets.clients) client.terminate()
    },
  }
}

type WatchRight = (holder: RightHolder, run: Pick<RunRow, "id" | "key">, signal: AbortSignal) => AbortSignal

/**
 * Each signal is aborted with the given one, or when the right to control the run, or its proof,
 * ends.
 */
function createRightWatcher({ runs, clock, identity, logger, store }: ControlOptions): WatchRight {
  return (holder, { id, key }, signal) => {
    const resource = async () => {
      const now = runs.row(id)
      return now && now.key === key && isLive(now.state) ? runResource(now) : undefined
    }
    return abortOnRevocation({ store, identity, clock, logger }, { caller: holder, signal }, { action: "run:control", resource })
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
