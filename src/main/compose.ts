import { join, resolve } from "node:path"
import { createIdentity } from "#access"
import { type ApiServer, createApi } from "#api"
import { RegistryAllowlist } from "#engine"
import { openEvents } from "#events"
import { deferredTree, startFiles } from "#files"
import { createGateway, type Gateway } from "#gateway"
import { createImages } from "#images"
import { type Logger, systemClock } from "#kit"
import { finishInterruptedMoves, prepareRun, replanRun, startGrantExpiry } from "#projects"
import { openRuns, StorageQuotas } from "#runs"
import { openStore } from "#store"
import { gatewayHost, imageTermsOf, portLedger, readinessOf } from "./adapters.ts"
import { addressesOf, hostsOf, runPortsOf, withPorts } from "./addresses.ts"
import { checkRights, confineInTime, engineOf } from "./engine.ts"
import { checkOpenId, openIdOf } from "./openid.ts"
import { apiSettings, connectionLimitOf, filesOptions, runEvents, runSettings } from "./parts.ts"
import { credentialsFrom } from "./registry-credentials.ts"
import { warnOfLoginAccounts } from "./run-user.ts"
import { prepareDataDir, secretKey } from "./secrets.ts"
import type { Settings } from "./settings.ts"

/** A running installation. Disposing of it stops everything but the runs. */
export interface Quayside extends AsyncDisposable {
  readonly baseUrl: string
  readonly appsUrl: string
  readonly filesUrl: string
  /** Set at the first start when no password was configured. */
  readonly generatedPassword: string | undefined
}

export interface ComposeOptions {
  settings: Settings
  version: string
  logger: Logger
  /** Takes a line for each request to the base URL; none are made without it. */
  accessLog?: (line: string) => void
  /** Shown before the password counts. */
  announcePassword: (password: string) => void
  /** Aborted: the start ends at its next step, with `StartStopped`. */
  signal?: AbortSignal
}

/** Somebody ended the start before it was complete; nothing is left running. */
export class StartStopped extends Error {
  override readonly name = "StartStopped"
}

/** How long requests through the gateway may take to finish when the service stops. */
const closeMs = 8_000

/**
 * Starts all parts in the order in which they need each other, and owns their lives. Rejects when
 * one cannot start; nothing is then left running.
 */
export async function compose(options: ComposeOptions): Promise<Quayside> {
  const { logger, signal } = options
  const demandWanted = () => {
    if (signal?.aborted) throw new StartStopped("The start was stopped")
  }
  const settings = await withPorts(options.settings)
  const urls = addressesOf(settings)
  const runPorts = runPortsOf(settings)
  const clock = systemClock
  await using stack = new AsyncDisposableStack()
  const dataDir = resolve(settings.dataDir)
  prepareDataDir(dataDir)
  checkRights(settings)
  checkOpenId(settings)
  const credentials = credentialsFrom(settings.registryCredentials)
  const registries = new RegistryAllowlist({ allowed: settings.registries })
  const store = stack.use(
    await openStore({
      url: settings.databaseUrl || `sqlite:${join(dataDir, "quayside.db")}`,
      logger,
      clock,
      isMoved: settings.databaseMoved === "on",
    }),
  )
  demandWanted()
  const identity = stack.use(createIdentity({ store, clock, logger, keys: { files: secretKey(dataDir, "files-token") } }))
  const filesRoot = settings.filesDir === "" ? join(dataDir, "files") : resolve(settings.filesDir)
  const quotas = new StorageQuotas(store, settings.defaultLimits)
  // Whose dataset is withdrawn loses it at once, not when the file server asks again.
  const rightsChanged = ({ type }: { type: string }) => {
    if (type === "data" || type === "grant") void files.then((each) => each?.invalidate())
    if (type === "grant")
      void gateway.recheck().catch((error: unknown) => logger.error({ err: error }, "rechecking open connections failed"))
  }
  const events = stack.use(openEvents({ store, clock, logger, onResourceChange: rightsChanged, maxAuditDays: settings.auditDays }))
  // The worker needs a while to load: nothing else waits for it until the end.
  const starting = startFiles(
    filesOptions({ settings, filesRoot, store, identity, events, logger, hostNames: urls.hostNames, baseOrigin: urls.origin, quotas }),
  )
  const files = starting.catch(() => undefined)
  stack.defer(async () => (await files)?.[Symbol.asyncDispose]())
  identity.onInvalidate(async () => (await files)?.invalidate())
  const tree = deferredTree(starting)
  const engine = stack.use(await engineOf({ settings, dataDir, filesRoot, instance: store.instance, registries, clock, logger, stack }))
  demandWanted()
  const confineAtLast = await confineInTime({ store, engine, clock, logger })
  const generatedPassword = await identity.ensureAdmin(settings.adminPassword || undefined, options.announcePassword)
  const home = tree.ensureDirectory("/users/admin")
  home.catch(() => {})
  const images = stack.use(createImages({ engine, store, events, registries, credentials, clock, logger }))
  const ending = new AbortController()
  stack.defer(() => ending.abort())
  const undone = finishInterruptedMoves({ store, tree, clock, logger }, ending.signal).catch((err) =>
    logger.warn({ err }, "interrupted moves were not finished"),
  )
  if (store.dialect === "sqlite") await undone
  stack.use(startGrantExpiry({ store, events, clock, logger }))
  const runs = stack.use(
    await openRuns({
      store,
      engine,
      clock,
      logger,
      events: runEvents(events),
      settings: runSettings(settings, dataDir),
      imagePolicy: imageTermsOf({ store, images, clock }),
      prepare: prepareRun({ store, tree, events }),
      replan: replanRun({ clock, internetGroups: settings.groupInternet.map(({ group }) => group) }),
      storage: { quotas, meter: { diskSpace: async () => (await starting).diskSpace(), count: (account) => tree.countStorage(account) } },
    }),
  )
  const connections = connectionLimitOf(settings, logger)
  const gateway = createGateway({
    runs: gatewayHost({ store, identity, events, runs, logger }),
    baseUrl: urls.baseUrl,
    appsUrl: urls.appsUrl,
    ...(runPorts ? { ports: { ...runPorts, ledger: portLedger(store) } } : {}),
    cookieKey: secretKey(dataDir, "gateway-cookie"),
    trustedProxies: settings.trustedProxies,
    connections,
    logger,
    clock,
  })
  const readiness = readinessOf({ store, engine, files: starting })
  const openId = openIdOf(settings, { baseUrl: urls.baseUrl, dataDir, clock })
  const api = createApi({
    store,
    identity,
    openId,
    runs,
    images,
    tree,
    gateway,
    events,
    clock,
    logger,
    readiness,
    accessLog: options.accessLog,
    connections,
    settings: apiSettings(settings, urls, options.version),
  })
  // Together, so that what is under way gets all of the time that a stop may take.
  stack.defer(async () => void (await Promise.all([api[Symbol.asyncDispose](), gateway.close({ deadlineMs: closeMs })])))
  demandWanted()
  await listen({ settings, api, gateway })
  await confineAtLast()
  if (settings.engine === "docker" && settings.isolation === "on") await warnOfLoginAccounts(settings.runUid, logger)
  runs.startSupervisor()
  await starting
  await home
  demandWanted()
  const parts = stack.move()
  return {
    baseUrl: urls.baseUrl,
    appsUrl: urls.appsUrl,
    filesUrl: urls.filesUrl,
    generatedPassword,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

async function listen({ settings, api, gateway }: { settings: Settings; api: ApiServer; gateway: Gateway }): Promise<void> {
  const hosts = hostsOf(settings.host)
  await gateway.listen(hosts.map((host) => ({ host, port: settings.appsPort })))
  await api.listen(hosts.map((host) => ({ host, port: settings.port })))
}
