import type { Server } from "node:http"
import type { AddressInfo, ListenOptions } from "node:net"
import type { ConnectionLimit } from "#http"
import type { Logger } from "#kit"
import type { GatewayRequest } from "./gateway-request.ts"
import { createGatewayServer } from "./server.ts"

/** The gateway's HTTP servers, one for each address, from the first connection to the last. */
export class Servers {
  readonly #answer: (call: GatewayRequest) => void
  readonly #logger: Logger
  readonly #connections: ConnectionLimit | undefined
  #hosts: (string | undefined)[] = []
  #servers: Server[] = []
  #requests = 0
  #isClosing = false
  #onQuiet: (() => void) | undefined

  constructor(
    answer: (call: GatewayRequest) => void,
    { logger, connections }: { logger: Logger; connections: ConnectionLimit | undefined },
  ) {
    this.#answer = answer
    this.#logger = logger
    this.#connections = connections
  }

  /** Opens all of the addresses or none. */
  async listen(addresses: readonly ListenOptions[]): Promise<AddressInfo[]> {
    const opened: Server[] = []
    try {
      for (const address of addresses) opened.push(await this.#open(address))
    } catch (error) {
      for (const server of opened) server.close()
      throw error
    }
    this.#servers.push(...opened)
    this.#hosts = [...new Set(addresses.map(({ host }) => host))]
    return opened.map((server) => server.address() as AddressInfo)
  }

  /**
   * Opens one more port on all hosts that are listened on, or on none. Closing it cuts what is
   * connected to it.
   */
  async openPort(port: number): Promise<{ close(): void }> {
    const opened: Server[] = []
    const close = () => {
      for (const server of opened) {
        server.close()
        server.closeAllConnections()
      }
      this.#servers = this.#servers.filter((server) => !opened.includes(server))
    }
    try {
      for (const host of this.#hosts) opened.push(await this.#open({ port, ...(host === undefined ? {} : { host }) }))
    } catch (error) {
      close()
      throw error
    }
    this.#servers.push(...opened)
    return { close }
  }

  /**
   * Ends when nothing is connected any more: at once when no request is open, at the latest after
   * `deadlineMs`.
   */
  async close(deadlineMs: number, cut: () => void): Promise<void> {
    this.#isClosing = true
    const servers = this.#servers.splice(0)
    const closed = Promise.all(servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve()))))
    await this.#quiet(deadlineMs)
    cut()
    for (const server of servers) server.closeAllConnections()
    await closed
  }

  #take(call: GatewayRequest): void {
    if (this.#isClosing) call.response.shouldKeepAlive = false
    if (call.upgrade === undefined) this.#count(call)
    this.#answer(call)
  }

  #count({ response }: GatewayRequest): void {
    this.#requests += 1
    response.on("close", () => {
      this.#requests -= 1
      if (this.#requests === 0) this.#onQuiet?.()
    })
  }

  async #quiet(deadlineMs: number): Promise<void> {
    if (this.#requests === 0) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#onQuiet = resolve
    const timer = setTimeout(resolve, deadlineMs)
    await promise
    clearTimeout(timer)
  }

  #open(address: ListenOptions): Promise<Server> {
    const server = createGatewayServer((call) => this.#take(call), this.#connections)
    return new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(address, () => {
        server.off("error", reject)
        server.on("error", (error) => this.#logger.error({ err: error }, "the gateway's server failed"))
        resolve(server)
      })
    })
  }
}
