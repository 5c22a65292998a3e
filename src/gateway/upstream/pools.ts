import { bounds } from "#contract"
import type { ProgramAddress } from "../run-directory.ts"
import { UpstreamConnection } from "./connection.ts"

/** Who a connection is for: it is never used for another key or another address. */
export interface Upstream {
  key: string
  address: ProgramAddress
}

interface Pool {
  address: ProgramAddress
  idle: UpstreamConnection[]
  all: Set<UpstreamConnection>
}

const idleMost = bounds.gateway.idleConnections.value
/**
 * A request that cannot be sent twice takes only a connection that the program can hardly be
 * closing at this moment.
 */
const surelyOpenFor = 1_000

/** Kept connections to the runs' programs. */
export class ConnectionPools implements Disposable {
  readonly #pools = new Map<string, Pool>()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#closeIdle(), 1_000)
    this.#timer.unref()
  }

  /**
   * A connection that carries nothing. `mayRepeat`: the request may be sent again when the
   * connection turns out to be closing.
   */
  acquire(upstream: Upstream, options: { mayRepeat: boolean }): UpstreamConnection {
    const pool = this.#pool(upstream)
    const idleFor = options.mayRepeat ? Number.POSITIVE_INFINITY : surelyOpenFor
    const now = performance.now()
    for (let kept = pool.idle.pop(); kept !== undefined; kept = pool.idle.pop()) {
      if (kept.isUsable && now - kept.idleAt < Math.min(kept.idleFor, idleFor)) return kept
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
    for (const { idle } of this.#pools.values()) drop(idle.filter((kept) => now - kept.idleAt >= kept.idleFor))
  }
}

function keep(pool: Pool, idle: UpstreamConnection): void {
  if (pool.idle.length >= idleMost) return void idle.destroy()
  pool.idle.push(idle)
}

function drop(idle: readonly UpstreamConnection[]): void {
  for (const connection of [...idle]) connection.destroy()
}

function isSame(a: ProgramAddress, b: ProgramAddress): boolean {
  return a.host === b.host && a.port === b.port
}
