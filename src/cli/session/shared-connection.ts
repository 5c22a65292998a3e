import type { Socket } from "node:net"
import type { Multiplexer } from "#channel"
import type { ControlledRun } from "./control.ts"

/** One control connection for all forwarded ports, opened again when it was lost. */
export class SharedConnection {
  readonly #run: Pick<ControlledRun, "open">
  readonly #sockets = new Set<Socket>()
  #opened: Promise<Multiplexer> | undefined

  constructor(run: Pick<ControlledRun, "open">) {
    this.#run = run
  }

  /** Callers at the same time share a new connection. */
  async acquire(): Promise<Multiplexer> {
    const before = this.#opened
    const known = await before?.catch(() => undefined)
    if (known && !known.isClosed) return known
    if (this.#opened === before) this.#opened = this.#run.open()
    return this.#opened as Promise<Multiplexer>
  }

  track(socket: Socket): void {
    this.#sockets.add(socket)
    socket.once("close", () => this.#sockets.delete(socket))
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
    this.#opened?.then(
      (multiplexer) => multiplexer.close(1000, ""),
      () => {},
    )
  }
}
