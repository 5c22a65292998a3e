import { join, resolve } from "node:path"
import { createIdentity, type Identity, type IdentityOptions } from "#access"
import { type ApiServer, createApi } from "#api"
import { createControlServer } from "#control"
import { type Engine, RegistryAllowlist } from "#engine"
import { type Events, openEvents } from "#events"
import { deferredTree, type Files, startFiles } from "#files"
import { createGateway, type Gateway } from "#gateway"
import { createImages, type Images } from "#images"
import { type Clock, type Logger, systemClock } from "#kit"
import { finishInterruptedTransfers, prepareRunDirectories, replanRun, startGrantExpiry } from "#projects"
import { openRuns, type RunSettingsOptions, type Runs, StorageQuotas } from "#runs"
import { openStore, type Store } from "#store"
import { assignFreePorts, listenHosts, type PublicUrls, resolvePublicUrls, runPortRange } from "./addresses.ts"
import { apiSettings, filesOptions, runEvents, runSettings } from "./component-options.ts"
import { createConnectionLimit } from "./connection-limit.ts"
import { assertCanIsolate, assertGpuSettings, createConfiguredEngine, startIsolation } from "./engine.ts"
import { createImagePolicy, imageOwner } from "./image-policy.ts"
import { assertOpenIdSettings, createOpenIdSignIn } from "./openid.ts"
import { createReadiness } from "./readiness.ts"
import { readRegistryCredentials } from "./registry-credentials.ts"
import { createPortAssignments, createRunDirectory } from "./run-directory.ts"
import { warnAboutLoginAccount } from "./run-user.ts"
import { prepareDataDir, secretKey } from "./secrets.ts"
import type { Settings } from "./settings/settings.ts"

/** A running installation. Its disposal stops all components; the containers of runs stay. */
export interface Quayside extends AsyncDisposable {
  readonly baseUrl: string
  readonly appsUrl: string
  readonly filesUrl: string
  /** Set at the first start if no password was configured. */
  readonly generatedPassword: string | undefined
}

export interface ComposeOptions {
  settings: Settings
  version: string
  logger: Logger
  /** Receives one line for each request to the base URL. Without it, none are written. */
  accessLog?: (line: string) => void
  /** Called before the generated password is valid. */
  announcePassword: (password: string) => void
  /** How passwords are hashed. Default: as `createIdentity` does. */
  hashing?: NonNullable<IdentityOptions["hashing"]>
  /** How runs are supervised. Default: as the settings say. */
  supervision?: RunSettingsOptions
  /** When it aborts, the start ends at its next step and throws `StartStoppedError`. */
  signal?: AbortSignal
}

/** The start was stopped before it was complete. No component is left running. */
export class StartStoppedError extends Error {
  override readonly name = "StartStoppedError"
}

/** How long open requests have to finish when the service stops. */
const closeMs = 8_000

/** Shared by all steps of the start. */
interface StartContext {
  settings: Settings
  urls: PublicUrls
  runPorts: ReturnType<typeof runPortRange>
  dataDir: string
  filesRoot: string
  clock: Clock
  logger: Logger
  registries: RegistryAllowlist
  /** Disposes of all components, the latest first. */
  stack: AsyncDisposableStack
}

/** The components that do not depend on the engine. */
interface BaseComponents {
  store: Store
  identity: Identity
  quotas: StorageQuotas
}

interface FileServer {
  events: Events
  /** Resolves when the worker serves requests. */
  starting: Promise<Files>
  tree: ReturnType<typeof deferredTree>
}

interface Components extends BaseComponents, FileServer {
  engine: Engine
  images: Images
  runs: Runs
}

/**
 * Starts all components in the order of their dependencies, and owns their lifetimes. If one cannot
 * start, it disposes of the others and rejects.
 */
export async function compose(options: ComposeOptions): Promise<Quayside> {
  const { logger, signal } = options
  const assertNotStopped = () => {
    if (signal?.aborted) throw new StartStoppedError("The start was stopped")
  }
  await using stack = new AsyncDisposableStack()
  const context = await prepareStart(options, stack)
  const { settings, urls, clock } = context
  const credentials = readRegistryCredentials(settings.registryCredentials)
  const base = await openBase(context, options)
  assertNotStopped()
  const late: { gateway?: Gateway } = {}
  const fileServer = startFileServer(context, base, () => late.gateway?.recheck())
  const { events, starting, tree } = fileServer
  const { store, identity } = base
  const engine = stack.use(await createConfiguredEngine({ ...context, store }))
  assertNotStopped()
  const finishIsolation = await startIsolation({ store, engine, clock, logger })
  const generatedPassword = await identity.ensureAdmin(settings.adminPassword || undefined, options.announcePassword)
  const home = tree.ensureDirectory("/users/admin")
  home.catch(() => {})
  const images = stack.use(
    createImages({
      engine,
      store,
      events,
      registries: context.registries,
      credentials,
      ownerOf: imageOwner({ store, clock }),
      pruneRules: { days: settings.pruneImagesDays, maxBytes: settings.pruneImagesSize },
      clock,
      logger,
    }),
  )
  await finishMoves(context, { store, tree })
  stack.use(startGrantExpiry({ store, events, clock, logger }))
  const runs = await createRuns(context, { ...base, ...fileServer, engine, images }, options.supervision)
  const components: Components = { ...base, ...fileServer, engine, images, runs }
  const servers = createServers(context, components, options)
  late.gateway = servers.gateway
  assertNotStopped()
  await listen({ settings, ...servers })
  await finishIsolation()
  if (settings.engine === "docker" && settings.isolation === "on") await warnAboutLoginAccount(settings.runUid, logger)
  runs.startSupervisor()
  images.startKeeping()
  await starting
  await home
  assertNotStopped()
  const { baseUrl, appsUrl, filesUrl } = urls
  const owned = stack.move()
  return { baseUrl, appsUrl, filesUrl, generatedPassword, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Checks the settings and prepares the data directory. Throws a `SettingError`. */
async function prepareStart({ settings: given, logger }: ComposeOptions, stack: AsyncDisposableStack): Promise<StartContext> {
  const settings = await assignFreePorts(given)
  const urls = resolvePublicUrls(settings)
  const runPorts = runPortRange(settings)
  const dataDir = resolve(settings.dataDir)
  prepareDataDir(dataDir)
  assertCanIsolate(settings)
  assertGpuSettings(settings)
  assertOpenIdSettings(settings)
  const registries = new RegistryAllowlist({ allowed: settings.registries })
  const filesRoot = settings.filesDir === "" ? join(dataDir, "files") : resolve(settings.filesDir)
  return { settings, urls, runPorts, dataDir, filesRoot, clock: systemClock, logger, registries, stack }
}

async function openBase(
  { settings, dataDir, clock, logger, stack }: StartContext,
  { hashing = {} }: ComposeOptions,
): Promise<BaseComponents> {
  const store = stack.use(
    await openStore({
      url: settings.databaseUrl || `sqlite:${join(dataDir, "quayside.db")}`,
      logger,
      clock,
      isMoved: settings.databaseMoved === "on",
    }),
  )
  const identity = stack.use(createIdentity({ store, clock, logger, keys: { files: secretKey(dataDir, "files-token") }, hashing }))
  return { store, identity, quotas: new StorageQuotas(store, settings.defaultLimits) }
}

/**
 * Starts the worker without waiting for it: it takes a while to load, and the first requests do not
 * need it. `recheckConnections` is called when a grant changes.
 */
function startFileServer(
  { settings, urls, filesRoot, clock, logger, stack }: StartContext,
  { store, identity, quotas }: BaseComponents,
  recheckConnections: () => Promise<void> | undefined,
): FileServer {
  // Open connections to a dataset that is no longer shared are closed at once, instead of when the
  // file server's cached answer expires.
  const onChange = ({ type, id }: { type: string; id: number }) => {
    if (type === "data" || type === "grant") void files.then((each) => each?.invalidate())
    quotas.recordChange({ type, id })
    if (type === "grant")
      void recheckConnections()?.catch((error: unknown) => logger.error({ err: error }, "rechecking open connections failed"))
  }
  const events = stack.use(openEvents({ store, clock, logger, onResourceChange: onChange, maxAuditDays: settings.auditDays }))
  const { hostNames, origin: baseOrigin } = urls
  const starting = startFiles(filesOptions({ settings, filesRoot, store, identity, events, logger, hostNames, baseOrigin, quotas }))
  const files = starting.catch(() => undefined)
  stack.defer(async () => (await files)?.[Symbol.asyncDispose]())
  identity.onInvalidate(async () => (await files)?.invalidate())
  return { events, starting, tree: deferredTree(starting) }
}

/**
 * On SQLite, no other process can have moves under way, so the start waits until all are finished.
 */
async function finishMoves({ clock, logger, stack }: StartContext, { store, tree }: Pick<Components, "store" | "tree">): Promise<void> {
  const stopping = new AbortController()
  stack.defer(() => stopping.abort())
  const finished = finishInterruptedTransfers({ store, tree, clock, logger }, stopping.signal).catch((err) =>
    logger.warn({ err }, "interrupted moves were not finished"),
  )
  if (store.dialect === "sqlite") await finished
}

async function createRuns(
  context: StartContext,
  components: Omit<Components, "runs">,
  supervision: RunSettingsOptions = {},
): Promise<Runs> {
  const { settings, dataDir, clock, logger, stack } = context
  const { store, engine, events, images, tree, starting, quotas } = components
  const internetGroups = settings.groupInternet.map(({ group }) => group)
  return stack.use(
    await openRuns({
      store,
      engine,
      clock,
      logger,
      events: runEvents(events),
      settings: { ...runSettings(settings, context.urls, dataDir), ...supervision },
      imagePolicy: createImagePolicy({ store, images, clock }),
      onImageUse: images.recordUse,
      prepareDirectories: (run, options) => prepareRunDirectories({ store, tree, events }, run, options),
      replan: (reads, run) => replanRun({ clock, internetGroups }, reads, run),
      storage: {
        quotas,
        meter: {
          diskSpace: async () => (await starting).diskSpace(),
          count: async (account, maxBytes) => (await starting).countStorage(account, maxBytes),
          hasQuotas: async () => (await starting).hasQuotas,
        },
      },
    }),
  )
}

/** The gateway and the API. Neither listens yet. */
function createServers(
  { settings, urls, runPorts, dataDir, clock, logger, stack }: StartContext,
  { store, identity, events, engine, images, runs, tree, starting }: Components,
  options: ComposeOptions,
): { api: ApiServer; gateway: Gateway } {
  const connections = createConnectionLimit(settings, logger)
  const gateway = createGateway({
    runs: createRunDirectory({ store, identity, events, runs, logger }),
    baseUrl: urls.baseUrl,
    appsUrl: urls.appsUrl,
    ...(runPorts ? { ports: { ...runPorts, ledger: createPortAssignments(store) } } : {}),
    cookieKey: secretKey(dataDir, "gateway-cookie"),
    trustedProxies: settings.trustedProxies,
    connections,
    logger,
    clock,
  })
  const control = createControlServer({ store, identity, events, engine, runs, clock, logger })
  const api = createApi({
    store,
    identity,
    openId: createOpenIdSignIn(settings, { baseUrl: urls.baseUrl, dataDir, clock }),
    runs,
    images,
    tree,
    gateway,
    control,
    events,
    clock,
    logger,
    readiness: createReadiness({ store, engine, files: starting }),
    accessLog: options.accessLog,
    connections,
    settings: apiSettings(settings, urls, options.version),
  })
  // Both stop together, so that open requests get the whole time that a stop may take.
  stack.defer(
    async () =>
      void (await Promise.all([control[Symbol.asyncDispose](), api[Symbol.asyncDispose](), gateway.close({ deadlineMs: closeMs })])),
  )
  return { api, gateway }
}

async function listen({ settings, api, gateway }: { settings: Settings; api: ApiServer; gateway: Gateway }): Promise<void> {
  const hosts = listenHosts(settings.host)
  await gateway.listen(hosts.map((host) => ({ host, port: settings.appsPort })))
  await api.listen(hosts.map((host) => ({ host, port: settings.port })))
}
