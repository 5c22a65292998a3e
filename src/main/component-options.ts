import { join } from "node:path"
import type { Identity } from "#access"
import type { Events } from "#events"
import { type Logger, systemClock } from "#kit"
import type { RunEvents, RunSettingsOptions, StorageQuotas } from "#runs"
import type { Store } from "#store"
import type { PublicUrls } from "./addresses.ts"
import { createFilesAuthority } from "./files-authority.ts"
import { type Settings, settingsInForce } from "./settings/settings.ts"

/** Writes changes of runs to the journal and the audit log. */
export function runEvents(events: Events): RunEvents {
  return {
    stateChanged: (tx, run, before) => events.runStateChanged(tx, run, before),
    requested: (tx, asked) => events.runRequested(tx, asked),
    progress: (run, progress) => events.runProgress(run, progress),
    warning: (run, text, endsAt) => events.runWarning(run, text, endsAt),
  }
}

/** The settings of the API. */
export function apiSettings(settings: Settings, { baseUrl, filesUrl, hostNames }: PublicUrls, version: string) {
  return {
    version,
    baseUrl,
    filesUrl,
    origin: settings.baseUrl || undefined,
    hostNames,
    trustedProxies: settings.trustedProxies,
    memoryUnit: settings.memoryUnit,
    defaultLimits: settings.defaultLimits,
    startDefaults: { cpus: settings.defaultCpus, memoryMiB: settings.defaultMemory, startMinutes: settings.startMinutes },
    rates: {
      startsPerMinute: settings.startsPerMinute,
      writesPerMinute: settings.writesPerMinute,
      streamsPerMinute: settings.streamsPerMinute,
      openStreams: settings.openStreams,
    },
    internetGroups: settings.groupInternet.map(({ group }) => group),
    secureCookies: baseUrl.startsWith("https:"),
    inForce: settingsInForce(settings),
  }
}

/** The settings of runs. */
export function runSettings(settings: Settings, { baseUrl, filesUrl }: PublicUrls, dataDir: string): RunSettingsOptions {
  return {
    logsDir: join(dataDir, "logs"),
    usageDir: join(dataDir, "usage"),
    defaultCpus: settings.defaultCpus,
    defaultMemoryMiB: settings.defaultMemory,
    cpuOvercommit: settings.cpuOvercommit,
    memoryOvercommit: settings.memoryOvercommit,
    defaultLimits: settings.defaultLimits,
    startMinutes: settings.startMinutes,
    installation: { baseUrl, filesUrl, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone },
    maxEndedRuns: settings.historyRuns,
    maxEndedDays: settings.historyDays,
  }
}

/** The options of the file server. */
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
    authority: createFilesAuthority({ store, identity, events, clock: systemClock, quotas }),
    allowedHosts: [...hostNames],
    allowedOrigin: baseOrigin,
    trustedProxies: settings.trustedProxies,
    connections: {
      max: settings.maxConnections,
      maxPerAddress: settings.maxConnectionsPerAddress,
      maxPerPerson: settings.maxConnectionsPerPerson,
    },
    owner: { uid: settings.runUid, gid: settings.runUid },
    storage: { reserveBytes: settings.storageReserve, firstProject: settings.storageProjects },
    logger,
  }
}
