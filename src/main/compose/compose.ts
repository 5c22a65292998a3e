import { join, resolve } from "node:path"
import { createIdentity, type Identity, type IdentityOptions } from "#access"
import { type ApiServer, createApi } from "#api"
import { createControlServer } from "#control"
import { type Engine, RegistryAllowlist } from "#engine"
import { type Events, followJournal, openEvents } from "#events"
import { deferredTree, type Files, type FileTree, startFiles } from "#files"
import { createGateway, type Gateway } from "#gateway"
import { createImages, type Images } from "#images"
import { type Clock, type Logger, systemClock } from "#kit"
import { finishInterruptedTransfers, prepareRunDirectories, replanRun, startGrantExpiry } from "#projects"
import { openRuns, type RunSettingsOptions, type Runs, type StorageMeter, StorageQuotas } from "#runs"
import { openStore, type Store } from "#store"
import { assignFreePorts, listenHosts, type PublicUrls, resolvePublicUrls, runPortRange } from "./addresses.ts"
import { apiSettings, filesOptions, runEvents, runSettings } from "./component-options.ts"
import { createConnectionLimit } from "./connection-limit.ts"
import { assertCanIsolate, assertGpuSettings, createConfiguredEngine, startIsolation } from "./engine.ts"
import { startHealthServer } from "./health-server.ts"
import { createImagePolicy, imageOwner } from "./image-policy.ts"
import { assertOpenIdSettings, createOpenIdSignIn } from "./openid.ts"
import { createReadiness } from "./readiness.ts"
import { readRegistryCredentials } from "./registry-credentials.ts"
import { type Roles, rolesOf } from "./roles.ts"
import { createPortAssignments, createRunDirectory } from "./run-directory.ts"
import { warnAboutLoginAccount } from "./run-user.ts"
import { prepareDataDir, secretKey } from "./secrets.ts"
import type { Settings } from "./settings/settings.ts"
import { SharedFiles } from "./shared-files.ts"

/** A running installation. Its disposal stops all components; the containers of runs stay. */
export interface Quayside extends AsyncDisposable {
  readonly baseUrl: string
  readonly appsUrl: string
  readonly filesUrl: string
  /** The parts of Quayside in this process. */
  readonly roles: Roles
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
  /** The directories in which NVIDIA's tool is looked for. Default: the system's. */
  gpuToolPath?: string
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
  roles: Roles
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

/** The components that every process has. */
interface BaseComponents {
  store: Store
  identity: Identity
  quotas: StorageQuotas
  events: Events
}

/** The files root. A process without the role `files` reads and writes it without an address. */
interface FileServer {
  /** Resolves when the worker serves requests. */
  starting: Promise<Files>
  tree: FileTree
}

interface RunComponents {
  engine: Engine
  images: Images
  runs: Runs
}

/** Components that are made later than those that use them. */
interface LateComponents {
  gateway?: Gateway
  files?: Promise<Files | undefined>
  runs?: Runs
}

/**
 * Starts the components of this process's roles in the order of their dependencies, and owns their
 * lifetimes. If one cannot start, it disposes of the others and rejects.
 */
export async function compose(options: ComposeOptions): Promise<Quayside> {
  const assertNotStopped = () => {
    if (options.signal?.aborted) throw new StartStoppedError("The start was stopped")
  }
  await using stack = new AsyncDisposableStack()
  const context = await prepareStart(options, stack)
  const { urls, roles } = context
  const late: LateComponents = {}
  const base = await openBase(context, options, late)
  assertNotStopped()
  const files = hasFiles(roles) ? startFileServer(context, base, late) : undefined
  // The runs of a process that is alone go on while it starts.
  const isInCharge = () => late.runs?.isInCharge() ?? base.store.notices === undefined
  const engineParts = { ...context, store: base.store, isInCharge, gpuToolPath: options.gpuToolPath }
  const engine = hasRuns(roles) ? stack.use(await createConfiguredEngine(engineParts)) : undefined
  assertNotStopped()
  const finishIsolation = engine && roles.has("supervisor") ? await startIsolation({ ...context, ...base, engine }) : undefined
  const generatedPassword = roles.has("api")
    ? await base.identity.ensureAdmin(context.settings.adminPassword || undefined, options.announcePassword)
    : undefined
  const home = files?.tree.ensureDirectory("/users/admin")
  home?.catch(() => {})
  const parts = engine && (await openRunComponents(context, { ...base, files, engine }, { options, late }))
  const servers = parts && createServers(context, { ...base, ...parts, files }, options)
  if (servers) late.gateway = servers.gateway
  assertNotStopped()
  await listen(context, { ...base, ...parts, ...servers, files })
  await finishIsolation?.()
  await superviseRuns(context, parts)
  await files?.starting
  await home
  assertNotStopped()
  const { baseUrl, appsUrl, filesUrl } = urls
  const owned = stack.move()
  return { baseUrl, appsUrl, filesUrl, roles, generatedPassword, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** The API makes homes and looks at files, and the supervisor copies code and counts. */
function hasFiles(roles: Roles): boolean {
  return roles.has("files") || roles.has("api") || roles.has("supervisor")
}

function hasRuns(roles: Roles): boolean {
  return roles.has("api") || roles.has("supervisor") || roles.has("gateway")
}

/** Checks the settings and prepares the data directory. Throws a `SettingError`. */
async function prepareStart({ settings: given, logger }: ComposeOptions, stack: AsyncDisposableStack): Promise<StartContext> {
  const roles = rolesOf(given)
  const settings = await assignFreePorts(given)
  const urls = resolvePublicUrls(settings)
  const runPorts = runPortRange(settings)
  const dataDir = resolve(settings.dataDir)
  prepareDataDir(dataDir)
  if (roles.has("supervisor")) assertCanIsolate(settings)
  assertGpuSettings(settings)
  assertOpenIdSettings(settings)
  const registries = new RegistryAllowlist({ allowed: settings.registries })
  const filesRoot = settings.filesDir === "" ? join(dataDir, "files") : resolve(settings.filesDir)
  return { settings, roles, urls, runPorts, dataDir, filesRoot, clock: systemClock, logger, registries, stack }
}

async function openBase(
  { settings, dataDir, clock, logger, stack }: StartContext,
  { hashing = {} }: ComposeOptions,
  late: LateComponents,
): Promise<BaseComponents> {
  const store = stack.use(
    await openStore({
      url: settings.databaseUrl || `sqlite:${join(dataDir, "quayside.db")}`,
      logger,
      clock,
      isMoved: settings.databaseMoved === "on",
    }),
  )
  const identity = stack.use(
    createIdentity({ store, clock, logger, keys: { files: secretKey({ ...settings, dataDir }, "files-token") }, hashing }),
  )
  const quotas = new StorageQuotas(store, settings.defaultLimits)
  // Open connections to something that is no longer shared are closed at once, instead of when the
  // file server's cached answer expires.
  const recheck = () =>
    void late.gateway?.recheck().catch((error: unknown) => logger.error({ err: error }, "rechecking open connections failed"))
  const onResourceChange = ({ type, id }: { type: string; id: number }) => {
    if (type === "data" || type === "grant") void late.files?.then((each) => each?.invalidate())
    quotas.recordChange({ type, id })
    if (type === "grant") recheck()
  }
  const events = stack.use(openEvents({ store, clock, logger, onResourceChange, maxAuditDays: settings.auditDays }))
  stack.use(followJournal({ store, clock, logger, onResourceChange, onGap: recheck }))
  stack.use(followPeople(store, identity))
  return { store, identity, quotas, events }
}

/** Other processes change rights and end credentials, too. */
function followPeople({ notices }: Store, identity: Identity): Disposable {
  const listening = notices?.on((notice) => {
    if (notice.kind === "person") identity.invalidate(notice.id)
    if (notice.kind === "people" || notice.kind === "gap") identity.invalidateAll()
  })
  return { [Symbol.dispose]: () => listening?.[Symbol.dispose]() }
}

/**
 * Starts the worker without waiting for it: it takes a while to load, and the first requests do not
 * need it.
 */
function startFileServer(
  { settings, roles, urls, dataDir, filesRoot, clock, logger, stack }: StartContext,
  { store, identity, quotas, events }: BaseComponents,
  late: LateComponents,
): FileServer {
  const { hostNames, origin: baseOrigin } = urls
  const all = filesOptions({ settings, filesRoot, store, identity, events, logger, hostNames, baseOrigin, quotas })
  const relayKey = () => secretKey({ ...settings, dataDir }, "files-relay")
  const starting = !roles.has("files")
    ? startFiles({ ...all, listen: undefined })
    : store.dialect === "postgres"
      ? SharedFiles.start({ files: all, relayKey: relayKey(), store, clock, logger })
      : startFiles(all)
  const files = starting.catch(() => undefined)
  late.files = files
  stack.defer(async () => (await files)?.[Symbol.asyncDispose]())
  identity.onInvalidate(async () => (await files)?.invalidate())
  return { starting, tree: deferredTree(starting) }
}

/**
 * On SQLite, no other process can have moves under way, so the start waits until all are finished.
 */
async function finishMoves({ clock, logger, stack }: StartContext, { store, tree }: { store: Store; tree: FileTree }): Promise<void> {
  const stopping = new AbortController()
  stack.defer(() => stopping.abort())
  const finished = finishInterruptedTransfers({ store, tree, clock, logger }, stopping.signal).catch((err) =>
    logger.warn({ err }, "interrupted moves were not finished"),
  )
  if (store.dialect === "sqlite") await finished
}

interface RunParts extends BaseComponents {
  engine: Engine
  files: FileServer | undefined
}

async function openRunComponents(
  context: StartContext,
  base: RunParts,
  { options, late }: { options: ComposeOptions; late: LateComponents },
): Promise<RunComponents> {
  const { settings, clock, logger, stack, roles } = context
  const { store, events, engine, files } = base
  const images = stack.use(
    createImages({
      engine,
      store,
      events,
      registries: context.registries,
      credentials: readRegistryCredentials(settings.registryCredentials),
      ownerOf: imageOwner({ store, clock }),
      pruneRules: { days: settings.pruneImagesDays, maxBytes: settings.pruneImagesSize },
      isInCharge: () => late.runs?.isInCharge() ?? false,
      clock,
      logger,
    }),
  )
  if (roles.has("supervisor") && files) {
    await finishMoves(context, { store, tree: files.tree })
    stack.use(startGrantExpiry({ store, events, clock, logger }))
  }
  const runs = await createRuns(context, { ...base, images }, options.supervision)
  late.runs = runs
  return { engine, images, runs }
}

async function createRuns(
  context: StartContext,
  components: RunParts & { images: Images },
  supervision: RunSettingsOptions = {},
): Promise<Runs> {
  const { settings, roles, dataDir, clock, logger, stack } = context
  const { store, engine, events, images, files, quotas } = components
  const internetGroups = settings.groupInternet.map(({ group }) => group)
  const mode = !roles.has("supervisor") ? "never" : store.dialect === "sqlite" ? "alone" : "leased"
  return stack.use(
    await openRuns({
      store,
      engine,
      clock,
      logger,
      events: runEvents(events),
      settings: { ...runSettings(settings, context.urls, dataDir), ...supervision },
      supervision: { mode, onTurn: () => prepareTurn(engine, images) },
      imagePolicy: createImagePolicy({ store, images, clock }),
      onImageUse: images.recordUse,
      replan: (reads, run) => replanRun({ clock, internetGroups }, reads, run),
      ...(files && {
        prepareDirectories: (run, options) => prepareRunDirectories({ store, tree: files.tree, events }, run, options),
        storage: { quotas, meter: storageMeter(files.starting) },
      }),
    }),
  )
}

async function prepareTurn(engine: Engine, images: Images): Promise<void> {
  await engine.prepare()
  images.recheckKept()
}

function storageMeter(starting: Promise<Files>): StorageMeter {
  return {
    diskSpace: async () => (await starting).diskSpace(),
    count: async (account, maxBytes) => (await starting).countStorage(account, maxBytes),
    hasQuotas: async () => (await starting).hasQuotas,
  }
}

/**
 * The gateway and, for its role, the API. Neither listens yet. The API asks the gateway for
 * addresses and tickets, whichever process serves them.
 */
function createServers(
  context: StartContext,
  components: BaseComponents & RunComponents & { files: FileServer | undefined },
  options: ComposeOptions,
): { api: ApiServer | undefined; gateway: Gateway } {
  const { settings, urls, runPorts, dataDir, clock, logger, stack, roles } = context
  const { store, identity, events, engine, runs, images, files } = components
  const connections = createConnectionLimit(settings, logger)
  const gateway = createGateway({
    runs: createRunDirectory({ store, identity, events, runs, logger }),
    baseUrl: urls.baseUrl,
    appsUrl: urls.appsUrl,
    ...(runPorts ? { ports: { ...runPorts, ledger: createPortAssignments(store) } } : {}),
    cookieKey: secretKey({ ...settings, dataDir }, "gateway-cookie"),
    trustedProxies: settings.trustedProxies,
    connections,
    logger,
    clock,
  })
  const control = createControlServer({ store, identity, events, engine, runs, clock, logger })
  const api =
    roles.has("api") && files
      ? createApi({
          ...{ store, identity, runs, images, tree: files.tree, gateway, control, events, clock, logger, connections },
          openId: createOpenIdSignIn(settings, { store, baseUrl: urls.baseUrl, dataDir, clock }),
          readiness: createReadiness({ store, engine, files: files.starting, runs }),
          accessLog: options.accessLog,
          settings: apiSettings(settings, urls, options.version),
        })
      : undefined
  // All stop together, so that open requests get the whole time that a stop may take.
  stack.defer(
    async () =>
      void (await Promise.all([control[Symbol.asyncDispose](), api?.[Symbol.asyncDispose](), gateway.close({ deadlineMs: closeMs })])),
  )
  return { api, gateway }
}

async function listen(
  { settings, roles, stack }: StartContext,
  parts: BaseComponents & Partial<RunComponents> & { api?: ApiServer | undefined; gateway?: Gateway; files: FileServer | undefined },
): Promise<void> {
  const { store, engine, runs, files, api, gateway } = parts
  const { host, appsPort, port, healthPort } = settings
  const hosts = listenHosts(host)
  if (roles.has("gateway")) await gateway?.listen(hosts.map((each) => ({ host: each, port: appsPort })))
  if (api) return void (await api.listen(hosts.map((each) => ({ host: each, port }))))
  if (healthPort === undefined) return
  const readiness = createReadiness({ store, engine, startsRuns: roles.has("supervisor"), files: files?.starting, runs })
  stack.use(await startHealthServer({ host, port: healthPort, readiness }))
}

async function superviseRuns({ settings, roles, logger }: StartContext, parts: RunComponents | undefined): Promise<void> {
  const isSupervisor = roles.has("supervisor")
  if (isSupervisor && settings.engine === "docker" && settings.isolation === "on") await warnAboutLoginAccount(settings.runUid, logger)
  parts?.runs.startSupervisor()
  if (isSupervisor) parts?.images.startKeeping()
}
