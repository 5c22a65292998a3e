import type { Server } from "node:http"
import { bounds } from "#contract"
import { ConnectionLimit, connectionLimits, TrustedProxies } from "#http"
import type { Authority } from "../access/authority.ts"
import { OpenCalls } from "../access/open-requests.ts"
import { Rights } from "../access/rights-cache.ts"
import { Locks } from "../locks/lock-table.ts"
import { DeadProperties } from "../properties/dead-properties.ts"
import { liveProperties } from "../properties/live-properties.ts"
import type { Scene } from "../requests/dav-request.ts"
import { CopyQueue, Turns } from "../requests/request-limiter.ts"
import { shared } from "../requests/yielder.ts"
import { createFileServer } from "../server.ts"
import type { Settings } from "../settings.ts"
import { Workplace } from "../staging/staging-area.ts"
import { StorageLedger } from "../storage/ledger.ts"
import type { Folder } from "../tree/directory-handle.ts"
import { LocalTree } from "../tree/local-file-tree.ts"
import { TreeDesk } from "./tree-worker.ts"

/** Requests under way have so long to end when the service stops. */
const graceMs = 10_000
const sweepMs = 600_000
/** After the start: a predecessor whose main process was killed may take a moment to end. */
const soonMs = [1_000, 5_000, 30_000] as const

/** The file server itself, without knowing in which process it runs. */
export class Service implements AsyncDisposable {
  /** What the main process wants done. */
  readonly tree: TreeDesk
  readonly #scene: Scene
  readonly #servers: Server[] = []
  readonly #connections: ConnectionLimit
  readonly #settings: Settings
  readonly #sweepers: NodeJS.Timeout[]

  constructor(parts: { root: Folder; authority: Authority; settings: Settings; report: (error: unknown) => void }) {
    const { root, authority, settings, report } = parts
    this.#settings = settings
    this.#connections = limitOf(settings, report)
    const locks = new Locks()
    this.#scene = {
      root,
      rights: new Rights(authority),
      workplace: openWorkplace(root, report),
      live: liveProperties(root, locks),
      locks,
      properties: new DeadProperties(root),
      storage: new StorageLedger({ root, authority, settings: settings.storage }),
      turns: new Turns(),
      copies: new CopyQueue(),
      slices: shared,
      open: new OpenCalls(),
      hosts: new Set(settings.allowedHosts),
      report,
      refused: (refusals) => authority.refused(refusals),
      limits: settings.limits,
    }
    this.tree = new TreeDesk(new LocalTree(root, this.#scene.workplace, this.#scene.storage))
    const sweep = () => this.#sweep()
    this.#sweepers = [setInterval(sweep, sweepMs), ...soonMs.map((ms) => setTimeout(sweep, ms))]
    for (const each of this.#sweepers) each.unref()
    sweep()
  }

  /** Listens on a socket that is bound already. */
  listen(socket: { fd: number } | { _handle: unknown }): Promise<void> {
    const server = createFileServer({ scene: this.#scene, ...this.#settings }, this.#connections)
    this.#servers.push(server)
    return new Promise((resolve, reject) => {
      server.once("error", reject)
      server.listen(socket, () => {
        server.off("error", reject)
        resolve()
      })
    })
  }

  invalidate(): void {
    this.#scene.rights.invalidate()
  }

  #sweep(): void {
    this.#scene.workplace.sweep(this.#scene.root).catch(this.#scene.report)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#sweepers) clearTimeout(each)
    await Promise.all([this.tree.end(), ...this.#servers.map(close)])
    this.#scene.open[Symbol.dispose]()
    await this.#scene.storage[Symbol.asyncDispose]()
    await this.#scene.workplace[Symbol.asyncDispose]()
    this.#scene.properties[Symbol.dispose]()
    this.#scene.root[Symbol.dispose]()
  }
}

/** By the descriptors of this process, which has no others to keep room for. */
function limitOf({ connections, trustedProxies }: Settings, report: (error: unknown) => void): ConnectionLimit {
  return new ConnectionLimit({
    ...connectionLimits({
      max: connections.max,
      anonymousPercent: bounds.http.unprovedConnectionPercent.value,
      maxReserved: bounds.http.reservedDescriptors.value,
    }),
    maxPerAddress: connections.maxPerAddress,
    maxPerPerson: connections.maxPerPerson,
    proxies: new TrustedProxies(trustedProxies),
    onFull: (what, error) => {
      if (what === "accept") report(error)
    },
  })
}

function openWorkplace(root: Folder, report: (error: unknown) => void): Workplace {
  try {
    return new Workplace(root, report)
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new Error(
      `The files root cannot be used by uid ${process.geteuid?.()}: ${why} on its folder .quayside, which must belong to that uid`,
    )
  }
}

/** A connection is closed as soon as its last answer is out. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const idle = setInterval(() => server.closeIdleConnections(), 25)
    const late = setTimeout(() => server.closeAllConnections(), graceMs)
    server.close(() => {
      clearInterval(idle)
      clearTimeout(late)
      resolve()
    })
  })
}
