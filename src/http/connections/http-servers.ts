import type { Server } from "node:http"
import type { AddressInfo, ListenOptions } from "node:net"
import type { PendingRequests } from "./pending-requests.ts"

/** An address, a bound socket (`handle`), or the descriptor of one. */
export type ListenTarget = ListenOptions & { fd?: number }

export interface HttpServersOptions {
  createServer: () => Server
  /** The requests that a close waits for. */
  pending: PendingRequests
  /** Receives errors of servers that listen already. */
  onError?: (error: Error) => void
}

export interface CloseOptions {
  /** How long pending requests may take to finish. */
  deadlineMs: number
  /**
   * `first`: the ports close, then requests finish. `last`: the ports stay open until requests have
   * finished, so that new requests can be refused.
   */
  stopsListening: "first" | "last"
  /** Called after the wait for pending requests, before connections are cut. */
  beforeCut?: () => void
}

/** Servers with one handler, one for each address: `localhost` is two of them. */
export class HttpServers {
  readonly #options: HttpServersOptions
  #hosts: (string | undefined)[] = []
  #servers: Server[] = []
  #isClosing = false

  constructor(options: HttpServersOptions) {
    this.#options = options
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  /** Opens all of the addresses or none. */
  async listen(addresses: readonly ListenTarget[]): Promise<AddressInfo[]> {
    const opened = await this.#openAll(addresses)
    this.#hosts = [...new Set(addresses.map(({ host }) => host))]
    return opened.map((server) => server.address() as AddressInfo)
  }

  /**
   * Opens one more port on all hosts that the servers listen on, or on none. Its `close` cuts the
   * connections to it.
   */
  async openPort(port: number): Promise<{ close(): void }> {
    const opened = await this.#openAll(this.#hosts.map((host) => ({ port, ...(host === undefined ? {} : { host }) })))
    return {
      close: () => {
        cut(opened)
        this.#servers = this.#servers.filter((server) => !opened.includes(server))
      },
    }
  }

  /** Resolves when no connection is left. */
  async close({ deadlineMs, stopsListening, beforeCut }: CloseOptions): Promise<void> {
    this.#isClosing = true
    let stopped = stopsListening === "first" ? this.#stopListening() : undefined
    await this.#options.pending.waitUntilNone(deadlineMs)
    beforeCut?.()
    stopped ??= this.#stopListening()
    for (const server of stopped.servers) server.closeAllConnections()
    await stopped.closed
  }

  #stopListening(): { servers: readonly Server[]; closed: Promise<unknown> } {
    const servers = this.#servers.splice(0)
    return { servers, closed: Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve)))) }
  }

  async #openAll(addresses: readonly ListenTarget[]): Promise<Server[]> {
    const opened: Server[] = []
    try {
      for (const address of addresses) opened.push(await this.#open(address))
    } catch (error) {
      cut(opened)
      throw error
    }
    this.#servers.push(...opened)
    return opened
  }

  #open(address: ListenTarget): Promise<Server> {
    const { createServer, onError } = this.#options
    const server = createServer()
    return new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(address, () => {
        server.off("error", reject)
        if (onError) server.on("error", onError)
        resolve(server)
      })
    })
  }
}

function cut(servers: readonly Server[]): void {
  for (const server of servers) {
    server.close()
    server.closeAllConnections()
  }
}
