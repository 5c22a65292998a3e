import { lookup } from "node:dns/promises"
import * as net from "node:net"
import { getSystemErrorMap } from "node:util"

export interface ListenAddress {
  /** A name or an address; `localhost` is both loopback addresses. */
  host: string
  /** 0 picks a free one. */
  port: number
}

/**
 * A socket that is bound, and does not accept.
 *
 * The process that holds it keeps the address: one that it hands the descriptor to listens and
 * accepts, and when that one dies, new connections wait in the kernel's queue for the next. Node
 * has this for `node:cluster` only, hence the underscore.
 */
export class BoundSocket implements Disposable {
  readonly host: string
  readonly port: number
  readonly handle: RawHandle

  constructor(host: string, port: number) {
    const made = createServerHandle(host, port, net.isIP(host) === 6 ? 6 : 4)
    if (typeof made === "number") throw bindError(made, host, port)
    this.handle = made
    const name: { port?: number } = {}
    // A port in use is told here, not by the binding itself.
    const failed = made.getsockname(name)
    if (failed !== 0) {
      made.close()
      throw bindError(failed, host, port)
    }
    this.host = host
    this.port = name.port ?? port
  }

  get fd(): number {
    return this.handle.fd
  }

  [Symbol.dispose](): void {
    this.handle.close()
  }
}

interface RawHandle {
  readonly fd: number
  getsockname(out: { port?: number }): number
  close(): void
}

const { _createServerHandle: createServerHandle } = net as unknown as {
  _createServerHandle(host: string, port: number, family: 4 | 6): RawHandle | number
}

function bindError(errno: number, host: string, port: number): NodeJS.ErrnoException {
  const [code, text] = getSystemErrorMap().get(errno) ?? ["UNKNOWN", "it cannot be bound"]
  return Object.assign(
    new Error(`The files address ${host} port ${port} cannot be used: ${code === "EADDRINUSE" ? "it is taken" : text}`),
    { code, port },
  )
}

/**
 * Binds every address of the host, with the same port for all. Where the machine has no IPv6,
 * `localhost` is 127.0.0.1 alone.
 */
export async function bindAll({ host, port }: ListenAddress): Promise<BoundSocket[]> {
  const hosts = await addressesOf(host)
  for (let attempt = 0; ; attempt += 1) {
    try {
      return bindEach(hosts, port)
    } catch (error) {
      const again = port === 0 && attempt < 10 && (error as NodeJS.ErrnoException).code === "EADDRINUSE"
      if (!again) throw error
    }
  }
}

function bindEach(hosts: readonly string[], port: number): BoundSocket[] {
  const sockets: BoundSocket[] = []
  try {
    for (const host of hosts) {
      const socket = bindUnlessAbsent(host, sockets[0]?.port ?? port, sockets.length > 0)
      if (socket) sockets.push(socket)
    }
    return sockets
  } catch (error) {
    for (const socket of sockets) socket[Symbol.dispose]()
    throw error
  }
}

function bindUnlessAbsent(host: string, port: number, mayBeAbsent: boolean): BoundSocket | undefined {
  try {
    return new BoundSocket(host, port)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ""
    if (mayBeAbsent && (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT")) return undefined
    throw error
  }
}

async function addressesOf(host: string): Promise<string[]> {
  if (host === "localhost") return ["127.0.0.1", "::1"]
  if (net.isIP(host)) return [host]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}
