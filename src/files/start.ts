import { statfs } from "node:fs/promises"
import type { ConnectionSettings } from "#http"
import type { Logger } from "#kit"
import type { Authority } from "./access/authority.ts"
import { type BoundAddress, bindAll, type ListenAddress } from "./bound-addresses.ts"
import { WorkerSupervisor } from "./process/supervisor.ts"
import { unwrapOutcome } from "./process/tree-reply.ts"
import type { RequestLimits } from "./requests/dav-request.ts"
import {
  defaultConnections,
  defaultRequestLimits,
  defaultStorageSettings,
  type FileServerSettings,
  type SharingSettings,
} from "./settings.ts"
import { diskSpaceOf } from "./storage/disk-space.ts"
import { ProjectQuotas } from "./storage/project-quotas.ts"
import type { DiskSpace, StorageAccount, StorageCount, StorageSettings } from "./storage/storage.ts"
import type { DirectoryHandle } from "./tree/directory-handle.ts"
import { FileTree, type PerformTreeOperation } from "./tree/file-tree.ts"
import { openRoot } from "./tree/open-root.ts"

export interface FilesOptions {
  /** The files root, a path that only trusted people can change; created when missing. */
  root: string
  /** Undefined: no address, only the files root for this process. */
  listen: ListenAddress | undefined
  authority: Authority
  /**
   * Host names, without port, by which the files address is reached; loopback ones are always
   * allowed.
   */
  allowedHosts: readonly string[]
  logger: Logger
  /**
   * The owner of the files and the user that the worker runs as. Required when this process is
   * root; ignored otherwise.
   */
  owner?: { uid: number; gid: number }
  /** Addresses and networks (`10.0.0.0/8`) whose `X-Forwarded-For` counts. Default: none. */
  trustedProxies?: readonly string[]
  /** The one origin whose pages may use the files address, such as the web UI's. Default: none. */
  allowedOrigin?: string
  limits?: Partial<RequestLimits>
  connections?: Partial<ConnectionSettings>
  /** How people's files are counted. `reserveBytes` undefined: by the size of the disk. */
  storage?: Partial<StorageSettings>
  /** If several processes share the root. Default: this one has it alone. */
  sharing?: SharingSettings | undefined
  /** The process that serves requests: a worker process (default), or this one. */
  runIn?: "worker" | "in-process"
}

export interface Files extends AsyncDisposable {
  /** The bound addresses: for `localhost` both loopback ones, with one port. */
  readonly addresses: readonly ListenAddress[]
  /** The files root for the main process. Operations still running at the end are cancelled. */
  readonly tree: FileTree
  /** Free space on the disk of the files root. */
  diskSpace(): Promise<DiskSpace>
  /**
   * Counts what a person stores. If the file system has project quotas, it also lets the kernel
   * enforce the limit from then on, for what is there and what is written later.
   */
  countStorage(account: StorageAccount, maxBytes: number | null): Promise<StorageCount>
  /** Whether the kernel enforces storage limits. */
  readonly hasQuotas: boolean
  /** Empties the cache of identities and rights. */
  invalidate(): void
  /** Said often if the root is shared: no other process serves the files now. */
  confirm(): void
  health(): Promise<{ ok: boolean; msg: string }>
}

/** Starts the file server. Rejects when the address is taken or the root cannot be used. */
export async function startFiles(options: FilesOptions): Promise<Files> {
  const root = openRoot(options.root, options.owner)
  let addresses: BoundAddress[] = []
  try {
    if (options.listen) addresses = await bindAll(options.listen)
    return await (options.runIn === "in-process" ? startInProcess : startWorker)(options, root, addresses)
  } catch (error) {
    for (const address of addresses) address[Symbol.dispose]()
    root[Symbol.dispose]()
    throw error
  }
}

function settingsOf(options: FilesOptions): FileServerSettings {
  return {
    allowedHosts: options.allowedHosts,
    trustedProxies: options.trustedProxies ?? [],
    allowedOrigin: options.allowedOrigin,
    limits: { ...defaultRequestLimits, ...options.limits },
    connections: { ...defaultConnections, ...options.connections },
    storage: { ...defaultStorageSettings(undefined), ...options.storage },
    sharing: options.sharing,
  }
}

function diskSpaceReader(root: DirectoryHandle, { storage }: FileServerSettings): () => Promise<DiskSpace> {
  return async () => diskSpaceOf(await statfs(root.path), storage)
}

/** The worker labels files only if the kernel limits what the labels count. */
function withQuotas(settings: FileServerSettings, root: DirectoryHandle, logger: Logger) {
  const quotas = ProjectQuotas.open(root, settings.storage, logger)
  return { quotas, settings: quotas ? settings : { ...settings, storage: { ...settings.storage, firstProject: undefined } } }
}

function storageCounter(tree: FileTree, quotas: ProjectQuotas | undefined): Pick<Files, "countStorage" | "hasQuotas"> {
  return {
    hasQuotas: quotas !== undefined,
    async countStorage(account, maxBytes) {
      let count = await tree.countStorage(account)
      if (count.refused > 0) {
        quotas?.limit(account.userId, null)
        count = await tree.countStorage(account)
      }
      quotas?.limit(account.userId, maxBytes)
      return count
    },
  }
}

function describeStorage(quotas: ProjectQuotas | undefined): string {
  return quotas ? "the kernel limits what people store" : "what people store is counted"
}

async function startInProcess(options: FilesOptions, root: DirectoryHandle, addresses: readonly BoundAddress[]): Promise<Files> {
  const { authority, logger } = options
  const report = (err: unknown) => logger.error({ err }, "a file request failed")
  // The worker loads it in its own process; the main process needs neither XML nor media types.
  const { FileServer } = await import("./process/file-server.ts")
  const { settings, quotas } = withQuotas(settingsOf(options), root, logger)
  const server = new FileServer({ root, authority, settings, report })
  await server.listen(addresses.map(({ socket }) => ({ handle: socket })))
  let lastId = 0
  const perform: PerformTreeOperation = async (operation, { signal, onProgress = () => {} }) => {
    lastId += 1
    const id = lastId
    const onAbort = () => server.treeWorker.cancel(id)
    const done = server.treeWorker.run({ id, operation, onProgress })
    signal?.addEventListener("abort", onAbort, { once: true })
    return unwrapOutcome(await done.finally(() => signal?.removeEventListener("abort", onAbort)), signal)
  }
  const tree = new FileTree(perform)
  return {
    addresses: addresses.map(({ host, port }) => ({ host, port })),
    tree,
    ...storageCounter(tree, quotas),
    diskSpace: diskSpaceReader(root, settings),
    invalidate: () => server.invalidate(),
    confirm: () => server.confirm(),
    health: async () => ({ ok: true, msg: `The file server runs in this process; ${describeStorage(quotas)}` }),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

async function startWorker(options: FilesOptions, root: DirectoryHandle, addresses: readonly BoundAddress[]): Promise<Files> {
  const { authority, logger, owner } = options
  const { settings, quotas } = withQuotas(settingsOf(options), root, logger)
  const supervisor = new WorkerSupervisor({ root, addresses, authority, settings, owner }, logger)
  await supervisor.start()
  const tree = new FileTree((operation, options) => supervisor.perform(operation, options))
  return {
    addresses: addresses.map(({ host, port }) => ({ host, port })),
    tree,
    ...storageCounter(tree, quotas),
    diskSpace: diskSpaceReader(root, settings),
    invalidate: () => supervisor.invalidate(),
    confirm: () => supervisor.confirm(),
    async health() {
      const { ok, msg } = await supervisor.health()
      return { ok, msg: `${msg}; ${describeStorage(quotas)}` }
    },
    async [Symbol.asyncDispose]() {
      await supervisor[Symbol.asyncDispose]()
      for (const each of [...addresses, root]) each[Symbol.dispose]()
    },
  }
}

/**
 * A file tree that can be used before the file server runs: operations wait for it, and fail when
 * it does not start.
 */
export function deferredTree(files: Promise<Files>): FileTree {
  return new FileTree(async (operation, options) => (await files).tree.perform(operation, options))
}
