import { isIP } from "node:net"
import { hostname, networkInterfaces } from "node:os"
import { type Files, type FilesOptions, FilesRelay, FileTree, type ListenAddress, relaySigner, startFiles } from "#files"
import { aborted, type Clock, type Logger } from "#kit"
import { type HeldLease, LeaseAcquirer, type LeasedTask, type LeaseTimes } from "#leases"
import type { Store } from "#store"
import { listenHosts } from "./addresses.ts"

const task: LeasedTask = { name: "files", activity: "serves the files" }
/** Shorter than the time after which another process takes over. */
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
 * The files address in an installation of several processes. One process at a time serves it, so
 * that locks, properties and reserved space are the same for everybody; the others forward
 * requests to it. Each process has a file tree of its own, which is replaced when the process
 * begins or stops to serve: that undoes unfinished operations.
 */
export class SharedFiles implements Files {
  readonly #options: SharedFilesOptions
  readonly #acquirer: LeaseAcquirer
  readonly #closing = new AbortController()
  #current: Files
  #relay: FilesRelay | undefined
  #lease: HeldLease | undefined
  #running: Promise<void> = Promise.resolve()
  readonly tree = new FileTree((operation, options) => this.#current.tree.perform(operation, options))

  private constructor(options: SharedFilesOptions, acquirer: LeaseAcquirer, parts: { current: Files; relay: FilesRelay | undefined }) {
    this.#options = options
    this.#acquirer = acquirer
    this.#current = parts.current
    this.#relay = parts.relay
  }

  /**
   * Rejects when the address is taken, the root cannot be used, or the database does not answer.
   */
  static async start(options: SharedFilesOptions): Promise<SharedFiles> {
    const { store, clock, logger, leaseTimes, files } = options
    const acquirer = new LeaseAcquirer({ store, clock, logger, task, times: leaseTimes, address: leaseAddress(files.listen) })
    const relay = await openRelay(options, acquirer)
    let lease: HeldLease | undefined
    try {
      lease = await acquirer.tryAcquire()
      if (lease) await relay.close()
      const current = await startFiles({ ...files, listen: lease ? files.listen : undefined, sharing: sharing(options) })
      const shared = new SharedFiles(options, acquirer, { current, relay: lease ? undefined : relay })
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
    return this.#acquirer.holderAddress === undefined
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
    // Without the database no process can take over, so the worker finishes its requests.
    this.#lease = await this.#acquirer.acquireUnlessHeld(closing)
    if (!this.#lease) await this.#replaceCurrent(undefined)
  }

  async #relayUntilHeld(): Promise<HeldLease> {
    this.#relay ??= await openRelay(this.#options, this.#acquirer)
    const lease = await this.#acquirer.acquire(this.#closing.signal)
    try {
      // It stops listening at once. Requests under way continue.
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
    // The lease goes last: no other process serves while this one still listens.
    await this.#current[Symbol.asyncDispose]()
    await this.#lease?.[Symbol.asyncDispose]()
  }
}

async function openRelay({ files, relayKey, logger }: SharedFilesOptions, acquirer: LeaseAcquirer): Promise<FilesRelay> {
  const relay = new FilesRelay({
    target: () => acquirer.holderAddress?.split(" ")[1],
    signer: relaySigner(relayKey.toString("base64")),
    authority: files.authority,
    trustedProxies: files.trustedProxies ?? [],
    allowedOrigin: files.allowedOrigin,
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

/** This machine's name, and the `host:port` at which other processes reach it. */
function leaseAddress({ host, port }: ListenAddress): string {
  const first = listenHosts(host)[0] ?? host
  const isAny = first === "0.0.0.0" || first === "::"
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  const outer = own.filter(({ internal, address }) => !internal && !address.startsWith("fe80:"))
  const name = isAny ? (outer.find(({ family }) => family === "IPv4") ?? outer[0] ?? { address: "127.0.0.1" }).address : first
  return `${hostname()} ${isIP(name) === 6 ? `[${name}]` : name}:${port}`
}
