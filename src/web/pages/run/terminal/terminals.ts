import { closeStatus, connectControl, controlProtocols, type Multiplexer } from "#channel"
import { SavedShells } from "./saved-shells.ts"
import { ShellTerminal } from "./shell-terminal.ts"

const firstDelayMs = 500
const maxDelayMs = 15_000

export type ChannelState = "connecting" | "open" | "lost" | "refused" | "revoked"

export interface TerminalsView {
  readonly channel: ChannelState
  readonly shells: readonly ShellTerminal[]
}

export interface TerminalsOptions {
  /** The address of the run's control channel. */
  url: string
  runId: number
  onView: (view: TerminalsView) => void
  /** The person wants to leave a terminal by keyboard. */
  onLeave: () => void
}

/** The terminals of a run on one control connection, which is opened again when it is lost. */
export class Terminals {
  readonly #url: string
  readonly #saved: SavedShells
  readonly #onView: (view: TerminalsView) => void
  readonly #onLeave: () => void
  #shells: readonly ShellTerminal[] = []
  #channel: ChannelState = "connecting"
  #connection: Multiplexer | undefined
  #wasOpen = false
  #failures = 0
  #timer: ReturnType<typeof setTimeout> | undefined
  #isClosed = false
  #lastNumber = 0

  constructor({ url, runId, onView, onLeave }: TerminalsOptions) {
    this.#url = url
    this.#saved = new SavedShells(sessionStorage, runId)
    this.#onView = onView
    this.#onLeave = onLeave
    const sessions = this.#saved.read()
    if (sessions.length === 0) this.add()
    for (const session of sessions) this.#add(session)
    void this.#connect()
  }

  /** A new terminal. It opens as soon as there is a connection. */
  add(): ShellTerminal {
    return this.#add(undefined)
  }

  /** Ends a terminal's shell and forgets it. */
  end(shell: ShellTerminal): void {
    this.#shells = this.#shells.filter((each) => each !== shell)
    shell.end()
    this.#show()
  }

  /** Shows a terminal here that another window took over. */
  attach(shell: ShellTerminal): void {
    shell.state = { kind: "waiting" }
    this.#show()
    if (this.#connection) void shell.attach(this.#connection)
  }

  retryNow(): void {
    if (this.#connection) return
    clearTimeout(this.#timer)
    void this.#connect()
  }

  /** Leaves the shells to themselves, for the next page that shows this run. */
  close(): void {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#connection?.close(1000, "")
    for (const shell of this.#shells) shell[Symbol.dispose]()
  }

  #add(session: string | undefined): ShellTerminal {
    this.#lastNumber += 1
    const shell = new ShellTerminal(this.#lastNumber, {
      ...(session === undefined ? {} : { session }),
      onChange: () => this.#show(),
      onLeave: this.#onLeave,
    })
    this.#shells = [...this.#shells, shell]
    this.#show()
    if (this.#connection) void shell.attach(this.#connection)
    return shell
  }

  async #connect(): Promise<void> {
    let status = 0
    try {
      const socket = new WebSocket(this.#url, [...controlProtocols])
      socket.addEventListener("close", (event) => (status = event.code))
      const connection = await connectControl(socket)
      if (this.#isClosed) return connection.close(1000, "")
      this.#connection = connection
      this.#wasOpen = true
      this.#failures = 0
      this.#setChannelState("open")
      for (const shell of this.#shells) if (shell.state.kind === "waiting") void shell.attach(connection)
      await connection.closed
    } catch {
      // A browser does not tell why a WebSocket was refused.
    }
    this.#connection = undefined
    if (this.#isClosed) return
    if (status === closeStatus.revoked) {
      this.#wasOpen = false
      return this.#setChannelState("revoked")
    }
    this.#setChannelState(this.#wasOpen ? "lost" : "refused")
    const delay = Math.min(firstDelayMs * 2 ** this.#failures, maxDelayMs)
    this.#failures += 1
    this.#timer = setTimeout(() => void this.#connect(), delay)
  }

  #setChannelState(channel: ChannelState): void {
    this.#channel = channel
    this.#show()
  }

  #show(): void {
    if (this.#isClosed) return
    this.#saved.write(this.#shells.flatMap(({ session }) => session ?? []))
    this.#onView({ channel: this.#channel, shells: this.#shells })
  }
}
