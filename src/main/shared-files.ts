import { isIP } from "node:net"
import { hostname, networkInterfaces } from "node:os"
import { type Files, type FilesOptions, FilesRelay, FileTree, type ListenAddress, relaySigner, startFiles } from "#files"
import { aborted, type Clock, type Logger } from "#kit"
import { type HeldLease, type LeasedTask, LeaseKeeper, type LeaseTimes } from "#leases"
import type { Store } from "#store"
import { listenHosts } from "./addresses.ts"

const task: LeasedTask = { name: "files", does: "serves the files" }
/** Less than the time without beats after which another process takes over. */
const confirmedWithinMs = 4_000
const confirmEveryMs = 500
const retryMs = 2_000

export interface SharedFilesOptions {
  files: FilesOptions & { listen: ListenAddress }
  /** 32 bytes, which the processes of this installation share. */
  relayKey: Buffer
  store: Store
  clock: Clock
  logger: Logger
  leaseTimes?: Partial<LeaseTimes> | undefined
}

/**
 * The files address in an installation of several processes. One at a time serves it, so that
 * locks, properties and the space that uploads reserve are the same for everybody; the others pass
 * requests on to it. Each has its own file tree; what it does there is undone when a turn ends.
 */
export class SharedFiles implements Files {
  readonly #options: SharedFilesOptions
  readonly #keeper: LeaseKeeper
  readonly #closing = new AbortController()
  #current: Files
  #relay: FilesRelay | undefined
  #lease: HeldLease | undefined
  #running: Promise<void> = Promise.resolve()
  readonly tree = new FileTree((operation, options) => this.#current.tree.perform(operation, options))

  private constructor(options: SharedFilesOptions, keeper: LeaseKeeper, parts: { current: Files; relay: FilesRelay | undefined }) {
    this.#options = options
    this.#keeper = keeper
    this.#current = parts.current
    this.#relay = parts.relay
  }

  /**
   * Rejects when the address is taken, the root cannot be used, or the database cannot be asked.
   */
  static async start(options: SharedFilesOptions): Promise<SharedFiles> {
    const { store, clock, logger, leaseTimes, files } = options
    const keeper = new LeaseKeeper({ store, clock, logger, task, times: leaseTimes, address: leaseAddress(files.listen) })
    const relay = await openRelay(options, keeper)
    let lease: HeldLease | undefined
    try {
      lease = await keeper.tryAcquire()
      if (lease) await relay.close()
      const current = await startFiles({ ...files, listen: lease ? files.listen : undefined, sharing: sharing(options) })
      const shared = new SharedFiles(options, keeper, { current, relay: lease ? undefined : relay })
      shared.#lease = lease
      shared.#running = shared.#run()
      return shared
    } catch (error) {
      await Promise.all([relay.close(), lease?.[Symbol.asyncDispose]()])
      throw error
    }
  }

  get addresses(): readonly ListenAddress[] {
    return [this.#options.files.listen]
  }

  get hasQuotas(): boolean {
    return this.#current.hasQuotas
  }

  diskSpace: Files["diskSpace"] = () => this.#current.diskSpace()
  countStorage: Files["countStorage"] = (account, maxBytes) => this.#current.countStorage(account, maxBytes)
  invalidate = (): void => this.#current.invalidate()
  confirm = (): void => this.#current.confirm()

  async health(): Promise<{ ok: boolean; msg: string }> {
    if (!this.#relay) return this.#current.health()
    return this.#keeper.holderAddress === undefined
      ? { ok: false, msg: "No process serves the files; one takes over in a few seconds" }
      : { ok: true, msg: "Another process serves the files; this one passes requests on to it" }
  }

  async #run(): Promise<void> {
    const { logger, clock } = this.#options
    const closing = this.#closing.signal
    while (!closing.aborted) {
      try {
        if (this.#lease) await this.#serveUntilLost(this.#lease)
        else this.#lease = await this.#relayUntilHeld()
      } catch (err) {
        if (closing.aborted) return
        logger.error({ err }, "this process could not take over the files; it tries again")
        await clock.sleep(retryMs, closing).catch(() => {})
      }
    }
  }

  async #serveUntilLost(lease: HeldLease): Promise<void> {
    const closing = this.#closing.signal
    const confirming = setInterval(() => {
      if (lease.isHeld()) this.#current.confirm()
    }, confirmEveryMs)
    await aborted(AbortSignal.any([closing, lease.lost])).finally(() => clearInterval(confirming))
    if (closing.aborted) return
    this.#lease = undefined
    await lease[Symbol.asyncDispose]()
    // While the database is away, nobody takes over, and what the worker has under way goes on.
    this.#lease = await this.#keeper.acquireUnlessHeld(closing)
    if (!this.#lease) await this.#replaceCurrent(undefined)
  }

  async #relayUntilHeld(): Promise<HeldLease> {
    this.#relay ??= await openRelay(this.#options, this.#keeper)
    const lease = await this.#keeper.acquire(this.#closing.signal)
    try {
      // It stops listening at once, and what it passes on goes on.
      void this.#relay.close()
      await this.#replaceCurrent(this.#options.files.listen)
      this.#options.logger.info({}, "this process serves the files")
      return lease
    } catch (error) {
      await lease[Symbol.asyncDispose]()
      throw error
    } finally {
      this.#relay = undefined
    }
  }

  async #replaceCurrent(listen: ListenAddress | undefined): Promise<void> {
    const previous = this.#current
    this.#current = await startFiles({ ...this.#options.files, listen, sharing: sharing(this.#options) })
    await previous[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new DOMException("Quayside closes", "AbortError"))
    const relayClosed = this.#relay?.close()
    await this.#running
    await relayClosed
    // Nobody else begins while this process still listens.
    await this.#current[Symbol.asyncDispose]()
    await this.#lease?.[Symbol.asyncDispose]()
  }
}

async function openRelay({ files, relayKey, logger }: SharedFilesOptions, keeper: LeaseKeeper): Promise<FilesRelay> {
  const relay = new FilesRelay({
    target: () => keeper.holderAddress?.split(" ")[1],
    signer: relaySigner(relayKey.toString("base64")),
    trustedProxies: files.trustedProxies ?? [],
    connections: files.connections ?? {},
    logger,
  })
  const { host, port } = files.listen
  await relay.listen(listenHosts(host).map((each) => ({ host: each, port })))
  return relay
}

function sharing({ relayKey }: SharedFilesOptions): NonNullable<FilesOptions["sharing"]> {
  return { relayKey: relayKey.toString("base64"), confirmedWithinMs }
}

/** This machine's name, and where the others reach it. */
function leaseAddress({ host, port }: ListenAddress): string {
  const first = listenHosts(host)[0] ?? host
  const isAny = first === "0.0.0.0" || first === "::"
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outer = own.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"))
  const name = isAny ? (outer.find(({ family }) => family === "IPv4") ?? outer[0] ?? { address: "127.0.0.1" }).address : first
  return `${hostname()} ${isIP(name) === 6 ? `[${name}]` : name}:${port}`
}
