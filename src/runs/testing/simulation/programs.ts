import type { openFakeDaemon } from "#engine"

type StartProgram = NonNullable<NonNullable<Parameters<typeof openFakeDaemon>[0]>["startProgram"]>

/** The programs of the fake engine, without sockets. A port is never used twice. */
export class Programs {
  readonly #keys = new Map<number, string>()
  #lastPort = 10_000

  /** The run whose program listens on the port. */
  keyAt(port: number): string | undefined {
    return this.#keys.get(port)
  }

  readonly start: StartProgram = async ({ spec }) => {
    this.#lastPort += 1
    const port = this.#lastPort
    this.#keys.set(port, spec.key)
    const close = async () => void this.#keys.delete(port)
    return { port, close }
  }
}
