import { bounds } from "#contract"
import type { ProgramAddress } from "../run-directory.ts"
import { UpstreamConnection } from "./connection.ts"

/** A connection is never used for another key or another address. */
export interface Upstream {
  key: string
  address: ProgramAddress
}

interface Pool {
  address: ProgramAddress
  idle: UpstreamConnection[]
  all: Set<UpstreamConnection>
}

const maxIdle = bounds.gateway.idleConnections.value
/**
 * A request that cannot be repeated uses only a connection that was used just before: the program
 * is hardly closing that.
 */
const maxIdleUnrepeatableMs = 1_000

/** The pools of connections to the runs' programs, one for each run. */
export class ConnectionPools implements Disposable {
  readonly #pools = new Map<string, Pool>()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#closeIdle(), 1_000)
    this.#timer.unref()
  }

  /**
   * An idle or new connection. `mayRepeat`: the request may be repeated if the connection turns out
   * to be closing.
   */
  acquire(upstream: Upstream, options: { mayRepeat: boolean }): UpstreamConnection {
    const pool = this.#pool(upstream)
    const maxIdleMs = options.mayRepeat ? Number.POSITIVE_INFINITY : maxIdleUnrepeatableMs
    const now = performance.now()
    for (let kept = pool.idle.pop(); kept !== undefined; kept = pool.idle.pop()) {
      if (kept.isUsable && now - kept.idleAt < Math.min(kept.maxIdleMs, maxIdleMs)) return kept
      kept.destroy()
    }
    return this.open(upstream)
  }

  /** A new connection. */
  open(upstream: Upstream): UpstreamConnection {
    const pool = this.#pool(upstream)
    const connection = new UpstreamConnection(upstream.address, {
      onIdle: (idle) => keep(pool, idle),
      onClose: (closed) => {
        pool.all.delete(closed)
        const at = pool.idle.indexOf(closed)
        if (at >= 0) pool.idle.splice(at, 1)
      },
    })
    pool.all.add(connection)
    return connection
  }

  /** Cuts the connections of runs that are gone or moved, used or not. */
  retainOnly(addressOf: (key: string) => ProgramAddress | "stopping" | undefined): void {
    for (const [key, pool] of this.#pools) {
      const address = addressOf(key)
      if (address === "stopping") drop(pool.idle)
      else if (address === undefined || !isSame(address, pool.address)) this.#drop(key, pool)
      if (pool.all.size === 0) this.#pools.delete(key)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    for (const [key, pool] of this.#pools) this.#drop(key, pool)
  }

  #pool({ key, address }: Upstream): Pool {
    let pool = this.#pools.get(key)
    if (pool !== undefined && !isSame(pool.address, address)) {
      this.#drop(key, pool)
      pool = undefined
    }
    if (pool === undefined) {
      pool = { address: { host: address.host, port: address.port }, idle: [], all: new Set() }
      this.#pools.set(key, pool)
    }
    return pool
  }

  #drop(key: string, pool: Pool): void {
    this.#pools.delete(key)
    const all = [...pool.all]
    pool.idle.length = 0
    for (const connection of all) connection.abort()
  }

  #closeIdle(): void {
    const now = performance.now()
    for (const { idle } of this.#pools.values()) drop(idle.filter((kept) => now - kept.idleAt >= kept.maxIdleMs))
  }
}

function keep(pool: Pool, idle: UpstreamConnection): void {
  if (pool.idle.length >= maxIdle) return void idle.destroy()
  pool.idle.push(idle)
}

function drop(idle: readonly UpstreamConnection[]): void {
  for (const connection of [...idle]) connection.destroy()
}

function isSame(a: ProgramAddress, b: ProgramAddress): boolean {
  return a.host === b.host && a.port === b.port
}
