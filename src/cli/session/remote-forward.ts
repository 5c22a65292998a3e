import type { ChannelStream, Multiplexer } from "#channel"
import type { Cli } from "../io/cli.ts"
import { sanitize } from "../io/table.ts"
import { type ControlledRun, reconnect } from "./control.ts"
import { listenInRun } from "./run-connection.ts"

interface Port {
  /** Of the run. */
  local: number
  /** As this machine reaches it; without one, this machine itself. */
  host?: string
  remote: number
}

/** A port of the run that leads to this machine. */
export class RemoteForward {
  readonly port: Port
  #listening: ChannelStream

  private constructor(port: Port, listening: ChannelStream) {
    this.port = port
    this.#listening = listening
  }

  static async open(connection: Multiplexer, port: Port): Promise<RemoteForward> {
    const stream = listenFor(connection, port)
    const { port: local } = (await stream.accepted) as { port: number }
    return new RemoteForward({ ...port, local }, stream)
  }

  /** Listens again after a loss of the connection, until the command ends. */
  async keepListening(cli: Cli, run: ControlledRun): Promise<void> {
    const { signal } = cli.process
    while (!signal.aborted) {
      await this.#listening.done.catch(() => {})
      if (signal.aborted) return
      cli.note(`Port ${this.port.local} of the run: the connection was lost; connecting again …`)
      try {
        this.#listening = listenFor(await reconnect(cli, run), this.port)
        await this.#listening.accepted
      } catch (error) {
        if (!signal.aborted) cli.note(`Port ${this.port.local} of the run: ${sanitize((error as Error).message)}`)
        return
      }
    }
  }
}

function listenFor(connection: Multiplexer, { local, host = "127.0.0.1", remote }: Port): ChannelStream {
  return listenInRun(connection, local, { host, port: remote })
}
