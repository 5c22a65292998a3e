import type { Clock, Logger } from "#kit"
import type { Target } from "./host.ts"

/** Ports that runs have of their own, both ends included. */
export interface PortRange {
  first: number
  last: number
}

/** How many runs of one person have a port at a time. */
const portsOfOne = 4

/** A port that is listened on. */
export interface OpenPort {
  close(): void
}

export interface RunPortsOptions {
  range: PortRange
  /** Rejects when the port is taken. */
  open(port: number): Promise<OpenPort>
  logger: Logger
  clock: Clock
}

/** How long a port that something else has is left alone. */
const againAfter = 10_000

/**
 * Which live run has which port.
 *
 * Browsers keep caches and storage by port, so that a port is one person's for ever: it follows from the order in which accounts were made and nothing else. Of the person's own ports the project's
 * favourite is taken when it is free, so that a project comes back to where its browser storage is.
 */
export class RunPorts {
  readonly #options: RunPortsOptions
  readonly #held = new Map<string, { port: number; open: OpenPort }>()
  readonly #keys = new Map<number, string>()
  readonly #taken = new Map<number, number>()
  #turn: Promise<void> = Promise.resolve()
  #isClosed = false

  constructor(options: RunPortsOptions) {
    this.#options = options
  }

  has(port: number): boolean {
    const { first, last } = this.#options.range
    return port >= first && port <= last
  }

  portOf(key: string): number | undefined {
    return this.#held.get(key)?.port
  }

  keyAt(port: number): string | undefined {
    return this.#keys.get(port)
  }

  /** Gives each of these runs a port as far as there are any, oldest first, and takes back those of all others. */
  sync(targets: readonly Target[]): Promise<void> {
    return this.#inTurn(async () => {
      const live = new Set(targets.map(({ key }) => key))
      for (const key of [...this.#held.keys()]) if (!live.has(key)) this.#release(key)
      for (const target of targets.toSorted((a, b) => a.id - b.id)) await this.#give(target)
    })
  }

  /** Makes sure that this run has a port, where its person has one left. */
  async ensure(target: Target): Promise<void> {
    if (!this.#held.has(target.key)) await this.#inTurn(() => this.#give(target))
  }

  /** Gives no more ports. Those that are open are the server's to close. */
  async end(): Promise<void> {
    this.#isClosed = true
    await this.#turn
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const turn = this.#turn.then(work)
    this.#turn = turn.catch(() => {})
    return turn
  }

  async #give(target: Target): Promise<void> {
    const { open, logger, clock } = this.#options
    if (this.#isClosed || this.#held.has(target.key)) return
    for (const port of this.#portsFor(target)) {
      if (this.#keys.has(port) || clock.now() < (this.#taken.get(port) ?? 0)) continue
      try {
        this.#held.set(target.key, { port, open: await open(port) })
        this.#keys.set(port, target.key)
        return
      } catch (err) {
        this.#taken.set(port, clock.now() + againAfter)
        logger.warn({ err, port, run: target.id }, "a port for runs cannot be listened on")
      }
    }
  }

  /** The person's own, beginning with the one that the project prefers. Nobody has less than all of theirs. */
  #portsFor({ userId, projectId }: Target): number[] {
    const own = this.#options.range.first + (userId - 1) * portsOfOne
    if (!this.has(own) || !this.has(own + portsOfOne - 1)) return []
    return Array.from({ length: portsOfOne }, (_, n) => own + ((projectId + n) % portsOfOne))
  }

  #release(key: string): void {
    const held = this.#held.get(key)
    if (!held) return
    this.#held.delete(key)
    this.#keys.delete(held.port)
    held.open.close()
  }
}
