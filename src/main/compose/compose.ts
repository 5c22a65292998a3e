import { join, resolve } from "node:path"
import { createIdentity, type Identity } from "#access"
import type { ApiServer } from "#api"
import { followJournal, openEvents } from "#events"
import type { Gateway } from "#gateway"
import { systemClock } from "#kit"
import { StorageQuotas } from "#runs"
import { openStore, type Store } from "#store"
import { assignFreePorts, listenHosts, resolvePublicUrls, runPortRange } from "../addresses.ts"
import { assertCanIsolate, assertGpuSettings } from "../engine.ts"
import { startHealthServer } from "../health/health-server.ts"
import { createReadiness } from "../health/readiness.ts"
import { assertOpenIdSettings } from "../openid.ts"
import { type Roles, rolesOf } from "../roles.ts"
import { prepareDataDir, secretKey } from "../secrets.ts"
import type { BaseComponents, ComposeOptions, FileComponents, LateComponents, RunComponents, StartContext } from "./context.ts"
import { createWildcardCheck } from "./wildcard.ts"

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

/** The start was stopped before it was complete. No component is left running. */
export class StartStoppedError extends Error {
  override readonly name = "StartStoppedError"
}

/**
 * Starts the components of this process's roles in the order of their dependencies, and owns their
 * lifetimes. If one cannot start, it disposes of the others and rejects. The code of other roles is
 * not loaded.
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
  const files = hasFiles(roles) ? (await import("./files.ts")).startFileServer(context, base, late) : undefined
  const runParts = hasRuns(roles) ? await import("./runs.ts") : undefined
  assertNotStopped()
  const opened = await runParts?.openEngine(context, base, { options, late })
  const generatedPassword = roles.has("api")
    ? await base.identity.ensureAdmin(context.settings.adminPassword || undefined, options.announcePassword)
    : undefined
  const home = files?.tree.ensureDirectory("/users/admin")
  home?.catch(() => {})
  const parts = opened && (await runParts?.openRunComponents(context, { ...base, ...opened, files }, { options, late }))
  const servers =
    parts && hasServers(roles)
      ? await (await import("./servers.ts")).createServers(context, { ...base, ...parts, files }, options)
      : undefined
  if (servers) late.gateway = servers.gateway
  assertNotStopped()
  await listen(context, { ...base, ...parts, ...servers, files })
  await opened?.finishIsolation?.()
  if (parts) await runParts?.superviseRuns(context, parts)
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
  return roles.has("supervisor") || hasServers(roles)
}

function hasServers(roles: Roles): boolean {
  return roles.has("api") || roles.has("gateway")
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
  const filesRoot = settings.filesDir === "" ? join(dataDir, "files") : resolve(settings.filesDir)
  const apps = runPorts === undefined && hasServers(roles) ? createWildcardCheck(urls.appsUrl, { clock: systemClock }) : undefined
  return { settings, roles, urls, runPorts, dataDir, filesRoot, clock: systemClock, logger, apps, stack }
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

async function listen(
  { settings, roles, clock, logger, apps, stack }: StartContext,
  parts: BaseComponents & Partial<RunComponents> & { api?: ApiServer | undefined; gateway?: Gateway; files: FileComponents | undefined },
): Promise<void> {
  const { store, engine, runs, files, api, gateway } = parts
  const { host, appsPort, port, healthPort } = settings
  const hosts = listenHosts(host)
  void apps?.().then(({ ok, msg }) => ok || logger.warn({}, msg))
  if (roles.has("gateway")) await gateway?.listen(hosts.map((each) => ({ host: each, port: appsPort })))
  if (api) return void (await api.listen(hosts.map((each) => ({ host: each, port }))))
  if (healthPort === undefined) return
  const readiness = createReadiness({ clock, store, engine, startsRuns: roles.has("supervisor"), files: files?.starting, runs, apps })
  stack.use(await startHealthServer({ host, port: healthPort, readiness }))
}
