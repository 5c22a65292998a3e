import { bounds } from "#contract"
import type { Clock, Logger } from "#kit"
import type { RunTarget } from "../run-directory.ts"
import { choosePort, type NoPortReason, type PortAssignment, type PortAssignments, type PortChoice, type PortRange } from "./port-choice.ts"

/** A port that the gateway listens on. */
export interface OpenPort {
  close(): void
}

export interface RunPortAllocatorOptions {
  range: PortRange
  ledger: PortAssignments
  /** Default 32; never more than half of the range. */
  maxPerPerson?: number | undefined
  /** Rejects if another program listens on the port. */
  open(port: number): Promise<OpenPort>
  /** Whether there is a live run with this key. */
  isLive(key: string): boolean
  logger: Logger
  clock: Clock
}

/** How long the gateway skips a port on which another program listens. */
const retryAfterMs = 10_000
/** The maximum of ports to try for one run. */
const maxAttempts = 8

interface OpenRunPort {
  entry: PortAssignment
  open: OpenPort
}

/**
 * Assigns ports to live runs.
 *
 * Browsers keep caches and storage by port. So a port belongs to one person and one set of authors
 * for ever, and the ledger records them before the port serves any request. A run gets its port
 * when a browser first opens it; runs that only programs reach need none.
 */
export class RunPortAllocator {
  readonly #options: RunPortAllocatorOptions
  readonly #openPorts = new Map<string, OpenRunPort>()
  readonly #keys = new Map<number, string>()
  readonly #blockedUntil = new Map<number, number>()
  #queue: Promise<unknown> = Promise.resolve()
  /** The end of each person's last assignment. */
  readonly #ends = new Map<number, Promise<unknown>>()
  #isClosed = false
  /** No further warning is logged until this time. */
  #quietUntil = 0

  constructor(options: RunPortAllocatorOptions) {
    this.#options = options
  }

  has(port: number): boolean {
    const { first, last } = this.#options.range
    return port >= first && port <= last
  }

  portOf(key: string): number | undefined {
    return this.#openPorts.get(key)?.entry.port
  }

  keyAt(port: number): string | undefined {
    return this.#keys.get(port)
  }

  /**
   * Whether the run's pages may be served at its port: its authors may have changed while it was
   * queued.
   */
  canServe({ key, authors }: RunTarget): boolean {
    return this.#openPorts.get(key)?.entry.authors === authors
  }

  /**
   * Whether the port's last run was of another project: browsers must then drop their storage for
   * the port.
   */
  isHandedOver(key: string): boolean {
    return this.#openPorts.get(key)?.entry.isHandedOver ?? false
  }

  /** Reopens the ports that these runs had when the gateway stopped. */
  restore(targets: readonly RunTarget[]): Promise<void> {
    return this.#serialize(async () => {
      const { ledger, range } = this.#options
      for (const [userId, runs] of Map.groupBy(targets, (target) => target.userId)) {
        const previousKeys = new Set((await ledger.ofUser(userId, range)).map(({ runKey }) => runKey))
        for (const target of runs) if (previousKeys.has(target.key)) await this.#assign(target)
      }
    })
  }

  /** Closes the ports of all other runs. */
  retainOnly(targets: readonly RunTarget[]): void {
    const live = new Set(targets.map(({ key }) => key))
    for (const key of [...this.#openPorts.keys()]) if (!live.has(key)) this.#release(key)
  }

  /** Ensures that this run has a suitable port, or returns the reason why it has none. */
  async ensure(target: RunTarget): Promise<NoPortReason | undefined> {
    if (this.canServe(target)) return undefined
    return this.#inPersonsTurn(target.userId, () => this.#assign(target))
  }

  /** Assigns no more ports. The server closes the open ones. */
  async stop(): Promise<void> {
    this.#isClosed = true
    await this.#queue
  }

  /** Only one assignment of a person waits behind those of others. */
  #inPersonsTurn<T>(userId: number, work: () => Promise<T>): Promise<T> {
    const result = (this.#ends.get(userId) ?? Promise.resolve()).then(() => this.#serialize(work))
    const end = result
      .catch(() => {})
      .then(() => {
        if (this.#ends.get(userId) === end) this.#ends.delete(userId)
      })
    this.#ends.set(userId, end)
    return result
  }

  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work)
    this.#queue = result.catch(() => {})
    return result
  }

  async #assign(target: RunTarget): Promise<NoPortReason | undefined> {
    if (this.#isClosed) return "blocked"
    if (this.canServe(target)) return undefined
    this.#release(target.key)
    // A port is free as soon as its run ends: otherwise quick restarts would use up one port after
    // another.
    for (const key of [...this.#openPorts.keys()]) if (!this.#options.isLive(key)) this.#release(key)
    for (let attempt = 0; attempt < maxAttempts; attempt += 1) {
      const chosen = await this.#choose(target)
      if (typeof chosen === "string") return this.#refuse(target, chosen)
      if (await this.#tryOpen(target, chosen)) return undefined
    }
    return this.#refuse(target, "blocked")
  }

  #choose(target: RunTarget): Promise<PortChoice | NoPortReason> {
    const { ledger, range, isLive, clock, maxPerPerson = bounds.gateway.portsPerPerson.value } = this.#options
    return choosePort(target, {
      ...{ ledger, range, maxPerPerson },
      isBusy: (port) => this.#keys.has(port) || clock.now() < (this.#blockedUntil.get(port) ?? 0),
      isLive: (key) => key !== target.key && isLive(key),
    })
  }

  /** The port is recorded after it was opened, and serves the run only after it is recorded. */
  async #tryOpen(target: RunTarget, { entry, isRecorded }: PortChoice): Promise<boolean> {
    const { open, ledger, logger, clock } = this.#options
    const { port } = entry
    let opened: OpenPort
    try {
      opened = await open(port)
    } catch (err) {
      this.#blockedUntil.set(port, clock.now() + retryAfterMs)
      logger.warn({ err, port, run: target.id }, "the gateway cannot listen on a port for runs")
      return false
    }
    const isAssigned =
      isRecorded ||
      (await ledger.assign(entry).catch((error: unknown) => {
        opened.close()
        throw error
      }))
    if (!isAssigned) {
      opened.close()
      return false
    }
    this.#openPorts.set(target.key, { entry, open: opened })
    this.#keys.set(port, target.key)
    return true
  }

  #refuse(target: RunTarget, reason: NoPortReason): NoPortReason {
    const { logger, range, clock } = this.#options
    if (clock.now() >= this.#quietUntil)
      logger.warn({ run: target.id, user: target.userId, reason, ...range }, "a run has no port for browsers")
    this.#quietUntil = clock.now() + retryAfterMs
    return reason
  }

  #release(key: string): void {
    const openPort = this.#openPorts.get(key)
    if (!openPort) return
    this.#openPorts.delete(key)
    this.#keys.delete(openPort.entry.port)
    openPort.open.close()
  }
}
