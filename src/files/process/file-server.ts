import { AllowedHosts, ConnectionLimiter, connectionLimits, HttpServers, type ListenTarget, PendingRequests, TrustedProxies } from "#http"
import { sharedScheduler, TurnShares } from "#kit"
import type { Authority } from "../access/authority.ts"
import { OpenRequests } from "../access/open-requests.ts"
import { RightsCache } from "../access/rights-cache.ts"
import { createDavServer } from "../dav-server.ts"
import { LockTable } from "../locks/lock-table.ts"
import { DeadProperties } from "../properties/dead-properties.ts"
import { createLiveProperties } from "../properties/live-properties.ts"
import { StaleProperties } from "../properties/stale-properties.ts"
import { relayedAddress, relaySigner } from "../relay/relayed-address.ts"
import type { FilesContext } from "../requests/dav-request.ts"
import { PathLocks } from "../requests/path-locks.ts"
import { CopyQueue, RequestLimiter } from "../requests/request-limiter.ts"
import type { FileServerSettings } from "../settings.ts"
import { StagingArea } from "../staging/staging-area.ts"
import { StorageLedger } from "../storage/ledger.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { LocalFileTree } from "../tree/local-file-tree.ts"
import { UploadStore } from "../uploads/upload-store.ts"
import { TreeWorker } from "./tree-worker.ts"

/** How long open requests may take to finish when the server stops. */
const shutdownMs = 10_000
const sweepEveryMs = 600_000
/** After the start: a predecessor whose main process was killed may need a moment to end. */
const earlySweepsMs = [1_000, 5_000, 30_000] as const

/** The file server, in whichever process it runs. */
export class FileServer implements AsyncDisposable {
  /** Runs the main process's operations on the file tree. */
  readonly treeWorker: TreeWorker
  readonly #context: FilesContext
  readonly #servers: HttpServers
  readonly #sweepers: NodeJS.Timeout[]
  #confirmedAt = performance.now()

  constructor(parts: { root: DirectoryHandle; authority: Authority; settings: FileServerSettings; report: (error: unknown) => void }) {
    const { root, authority, settings, report } = parts
    const locks = new LockTable()
    const staging = openStagingArea(root, report)
    const storage = new StorageLedger({ root, authority, settings: settings.storage, trash: () => staging.trash.list() })
    const rights = new RightsCache(authority)
    const pathLocks = new PathLocks()
    const deadProperties = new DeadProperties(root, report)
    this.#context = {
      root,
      rights,
      staging,
      uploads: new UploadStore({ root, staging, storage, rights }),
      liveProperties: createLiveProperties(root, locks),
      locks,
      pathLocks,
      deadProperties,
      staleProperties: new StaleProperties(deadProperties, pathLocks),
      storage,
      requestLimiter: new RequestLimiter(),
      copyQueue: new CopyQueue(),
      scheduler: sharedScheduler,
      turnShares: new TurnShares(),
      openRequests: new OpenRequests(),
      allowedHosts: new AllowedHosts(settings.allowedHosts),
      reportError: report,
      recordRefusals: (refusals) => authority.recordRefusals(refusals),
      limits: settings.limits,
      isServedElsewhere: () => settings.sharing !== undefined && performance.now() - this.#confirmedAt > settings.sharing.confirmedWithinMs,
    }
    const connections = createConnectionLimiter(settings, report)
    const pending = new PendingRequests()
    this.#servers = new HttpServers({
      createServer: () =>
        createDavServer({
          context: this.#context,
          ...settings,
          relayKey: settings.sharing?.relayKey,
          connections,
          pending,
          isClosing: () => this.#servers.isClosing,
        }),
      pending,
    })
    this.treeWorker = new TreeWorker(new LocalFileTree({ root, staging, storage, properties: deadProperties }))
    const sweep = () => this.#sweep()
    this.#sweepers = [setInterval(sweep, sweepEveryMs), ...earlySweepsMs.map((ms) => setTimeout(sweep, ms))]
    for (const each of this.#sweepers) each.unref()
    sweep()
  }

  /** Listens on sockets that are bound already. */
  async listen(sockets: readonly ListenTarget[]): Promise<void> {
    await this.#servers.listen(sockets)
  }

  /** Records that no other process serves the files now. */
  confirm(): void {
    this.#confirmedAt = performance.now()
  }

  invalidate(): void {
    this.#context.rights.invalidate()
  }

  #sweep(): void {
    const { staging, uploads, root, reportError } = this.#context
    staging.sweep(root).catch(reportError)
    uploads.sweep().catch(reportError)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const each of this.#sweepers) clearTimeout(each)
    const closed = this.#servers.close({ deadlineMs: shutdownMs, stopsListening: "first" })
    await Promise.all([this.treeWorker.end(), closed])
    this.#context.openRequests[Symbol.dispose]()
    await this.#context.storage[Symbol.asyncDispose]()
    await this.#context.staging[Symbol.asyncDispose]()
    this.#context.uploads[Symbol.dispose]()
    await this.#context.deadProperties[Symbol.asyncDispose]()
    this.#context.root[Symbol.dispose]()
  }
}

/** Limited by the descriptors of this process, which needs few others. */
function createConnectionLimiter(
  { connections, trustedProxies, sharing }: FileServerSettings,
  report: (error: unknown) => void,
): ConnectionLimiter {
  const signer = sharing && relaySigner(sharing.relayKey)
  return new ConnectionLimiter({
    ...connectionLimits(connections),
    proxies: new TrustedProxies(trustedProxies),
    relayedAddress: signer && ((request) => relayedAddress(request, signer)),
    onFull: (what, error) => {
      if (what === "accept") report(error)
    },
  })
}

function openStagingArea(root: DirectoryHandle, report: (error: unknown) => void): StagingArea {
  try {
    return new StagingArea(root, report)
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    throw new Error(
      `The files root cannot be used by uid ${process.geteuid?.()}: ${why} on its directory .quayside, which must belong to that uid`,
    )
  }
}
