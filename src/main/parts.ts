import { join } from "node:path"
import type { Identity } from "#access"
import { bounds } from "#contract"
import type { Events } from "#events"
import { ConnectionLimit, connectionLimits, TrustedProxies } from "#http"
import { type Logger, systemClock } from "#kit"
import type { RunEvents, StorageQuotas } from "#runs"
import type { Store } from "#store"
import { authorityOf } from "./adapters.ts"
import type { Addresses } from "./addresses.ts"
import type { Settings } from "./settings.ts"

/** Whose the files of people are. */
function ownerOf({ runUid }: Settings): { uid: number; gid: number } {
  return { uid: runUid, gid: runUid }
}

/** Bounds the connections to API and gateway together: they share this process's descriptors. */
export function connectionLimitOf(settings: Settings, logger: Logger): ConnectionLimit {
  return new ConnectionLimit({
    ...connectionLimits({
      max: settings.maxConnections,
      anonymousPercent: bounds.http.unprovedConnectionPercent.value,
      maxReserved: bounds.http.reservedDescriptors.value,
    }),
    maxPerAddress: settings.maxConnectionsPerAddress,
    maxPerPerson: settings.maxConnectionsPerPerson,
    proxies: new TrustedProxies(settings.trustedProxies),
    onFull: (what, err) => {
      if (what === "accept") logger.error({ err }, "a connection could not be accepted")
      else logger.warn({}, "there are as many connections as there may be: idle ones, or those of an address with many, are closed")
    },
  })
}

/** What runs tell, as the events that are kept and sent. */
export function runEvents(events: Events): RunEvents {
  return {
    stateChanged: (tx, run, before) => events.runStateChanged(tx, run, before),
    requested: (tx, asked) => events.runRequested(tx, asked),
    progress: (run, progress) => events.runProgress(run, progress),
    warning: (run, text) => events.runWarning(run, text),
  }
}

/** What the API is told of the settings. */
export function apiSettings(settings: Settings, { baseUrl, hostNames }: Addresses, version: string) {
  return {
    version,
    baseUrl,
    origin: settings.baseUrl || undefined,
    hostNames,
    trustedProxies: settings.trustedProxies,
    memoryUnit: settings.memoryUnit,
    defaultLimits: settings.defaultLimits,
    rates: {
      startsPerMinute: settings.startsPerMinute,
      writesPerMinute: settings.writesPerMinute,
      streamsPerMinute: settings.streamsPerMinute,
      openStreams: settings.openStreams,
    },
    internetGroups: settings.groupInternet.map(({ group }) => group),
    secureCookies: baseUrl.startsWith("https:"),
  }
}

/** What runs are told of the settings. */
export function runSettings(settings: Settings, dataDir: string) {
  return {
    logsDir: join(dataDir, "logs"),
    defaultCpus: settings.defaultCpus,
    defaultMemoryMiB: settings.defaultMemory,
    cpuOvercommit: settings.cpuOvercommit,
    memoryOvercommit: settings.memoryOvercommit,
    defaultLimits: settings.defaultLimits,
    historyRuns: settings.historyRuns,
    historyDays: settings.historyDays,
  }
}

/** What the file server is told, and whom it asks. */
export function filesOptions(made: {
  settings: Settings
  filesRoot: string
  store: Store
  identity: Identity
  events: Events
  logger: Logger
  hostNames: ReadonlySet<string>
  baseOrigin: string
  quotas: StorageQuotas
}) {
  const { settings, filesRoot, store, identity, events, logger, hostNames, baseOrigin, quotas } = made
  return {
    root: filesRoot,
    listen: { host: settings.host, port: settings.filesPort },
    authority: authorityOf({ store, identity, events, clock: systemClock, quotas }),
    allowedHosts: [...hostNames],
    allowedOrigin: baseOrigin,
    trustedProxies: settings.trustedProxies,
    connections: {
      max: settings.maxConnections,
      maxPerAddress: settings.maxConnectionsPerAddress,
      maxPerPerson: settings.maxConnectionsPerPerson,
    },
    owner: ownerOf(settings),
    storage: settings.storageReserve === undefined ? {} : { reserveBytes: settings.storageReserve },
    logger,
  }
}
