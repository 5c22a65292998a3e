import type { ProgramAddress } from "../run-directory.ts"
import { type Upstream, UpstreamConnection } from "./connection.ts"
import { IdleConnections } from "./idle-connections.ts"

interface Pool {
  address: ProgramAddress
  all: Set<UpstreamConnection>
}

/**
 * A request that cannot be repeated uses only a connection that was used just before: the program
 * is hardly closing that.
 */
const maxIdleUnrepeatableMs = 1_000

/** The pools of connections to the runs' programs, one for each run. */
export class ConnectionPools implements Disposable {
  readonly #pools = new Map<string, Pool>()
  readonly #idle = new IdleConnections()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#idle.close(this.#idle.expired(performance.now())), 1_000)
    this.#timer.unref()
  }

  /**
   * An idle connection of the same visitor, or a new one. `mayRepeat`: the request may be repeated
   * if the connection turns out to be closing.
   */
  acquire(upstream: Upstream, options: { mayRepeat: boolean }): UpstreamConnection {
    this.#pool(upstream)
    const maxIdleMs = options.mayRepeat ? Number.POSITIVE_INFINITY : maxIdleUnrepeatableMs
    const now = performance.now()
    for (let kept = this.#idle.latestFor(upstream); kept !== undefined; kept = this.#idle.latestFor(upstream)) {
      this.#idle.delete(kept)
      if (kept.isUsable && now - kept.idleAt < Math.min(kept.maxIdleMs, maxIdleMs)) return kept
      kept.destroy()
    }
    return this.open(upstream)
  }

  /** A new connection. */
  open(upstream: Upstream): UpstreamConnection {
    const pool = this.#pool(upstream)
    const connection = new UpstreamConnection(upstream, {
      onIdle: (idle) => this.#idle.add(idle),
      onClose: (closed) => {
        pool.all.delete(closed)
        this.#idle.delete(closed)
      },
    })
    pool.all.add(connection)
    return connection
  }

  /** Cuts the connections of runs that are gone or moved, used or not. */
  retainOnly(addressOf: (key: string) => ProgramAddress | "stopping" | undefined): void {
    for (const [key, pool] of this.#pools) {
      const address = addressOf(key)
      if (address === "stopping") this.#idle.close(this.#idle.ofRun(key))
      else if (address === undefined || !isSame(address, pool.address)) this.#drop(key, pool)
      if (pool.all.size === 0) this.#pools.delete(key)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer)
    for (const [key, pool] of this.#pools) this.#drop(key, pool)
  }

  /** The run's pool, after the connections to an earlier address were cut. */
  #pool({ key, address }: Upstream): Pool {
    let pool = this.#pools.get(key)
    if (pool !== undefined && !isSame(pool.address, address)) {
      this.#drop(key, pool)
      pool = undefined
    }
    if (pool === undefined) {
      pool = { address: { host: address.host, port: address.port }, all: new Set() }
      this.#pools.set(key, pool)
    }
    return pool
  }

  #drop(key: string, pool: Pool): void {
    this.#pools.delete(key)
    this.#idle.close(this.#idle.ofRun(key))
    for (const connection of [...pool.all]) connection.abort()
  }
}

function isSame(a: ProgramAddress, b: ProgramAddress): boolean {
  return a.host === b.host && a.port === b.port
}
