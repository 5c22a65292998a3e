import { lookup } from "node:dns/promises"
import { BoundSocket, isIP } from "node:net"
import { setTimeout } from "node:timers/promises"
import { getSystemErrorMap } from "node:util"

export interface ListenAddress {
  /** A name or an address; `localhost` is both loopback addresses. */
  host: string
  /** 0 selects a free one. */
  port: number
}

/**
 * A bound address that the main process owns for as long as it runs. The worker gets the
 * descriptor, listens and accepts. When it dies, new connections wait in the kernel's queue for the
 * next one.
 */
export interface BoundAddress extends ListenAddress, Disposable {
  readonly socket: BoundSocket
}

function bind(host: string, port: number): BoundAddress {
  try {
    const socket = new BoundSocket({ host, port })
    return { host, port: socket.address().port, socket, [Symbol.dispose]: () => socket[Symbol.dispose]() }
  } catch (error) {
    throw bindError(error as NodeJS.ErrnoException, host, port)
  }
}

function bindError({ code = "", errno = 0 }: NodeJS.ErrnoException, host: string, port: number): NodeJS.ErrnoException {
  const [, text] = getSystemErrorMap().get(errno) ?? [code, "it cannot be bound"]
  return Object.assign(
    new Error(`The files address ${host} port ${port} cannot be used: ${code === "EADDRINUSE" ? "it is taken" : text}`),
    { code, port },
  )
}

/** How long the worker of a main process that was killed may still have its address. */
const predecessorMs = 2_000
const pauseMs = 20

/**
 * Binds every address of the host, with the same port for all. If the machine has no IPv6,
 * `localhost` is 127.0.0.1 alone. An address in use is awaited for two seconds.
 */
export async function bindAll({ host, port }: ListenAddress): Promise<BoundAddress[]> {
  const hosts = await addressesOf(host)
  const deadline = performance.now() + predecessorMs
  for (;;) {
    try {
      return bindEach(hosts, port)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE" || performance.now() > deadline) throw error
    }
    // Another port is free at once.
    await setTimeout(port === 0 ? 0 : pauseMs)
  }
}

function bindEach(hosts: readonly string[], port: number): BoundAddress[] {
  const bound: BoundAddress[] = []
  try {
    for (const host of hosts) {
      const address = bindUnlessAbsent(host, bound[0]?.port ?? port, bound.length > 0)
      if (address) bound.push(address)
    }
    return bound
  } catch (error) {
    for (const address of bound) address[Symbol.dispose]()
    throw error
  }
}

function bindUnlessAbsent(host: string, port: number, mayBeAbsent: boolean): BoundAddress | undefined {
  try {
    return bind(host, port)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? ""
    if (mayBeAbsent && (code === "EADDRNOTAVAIL" || code === "EAFNOSUPPORT")) return undefined
    throw error
  }
}

async function addressesOf(host: string): Promise<string[]> {
  if (host === "localhost") return ["127.0.0.1", "::1"]
  if (isIP(host)) return [host]
  const found = await lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}
