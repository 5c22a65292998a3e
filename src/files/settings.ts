import { bounds } from "#contract"
import type { ConnectionSettings } from "#http"
import type { RequestLimits } from "./requests/dav-request.ts"
import type { StorageSettings } from "./storage/storage.ts"

/** The file server's settings. Plain values, since they cross to another process. */
export interface FileServerSettings {
  /** Host names without port, lower case; loopback ones are always allowed. */
  allowedHosts: readonly string[]
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[]
  /** The one origin whose pages may write; undefined: none. */
  allowedOrigin: string | undefined
  limits: RequestLimits
  connections: ConnectionSettings
  storage: StorageSettings
  /** If several processes share the files root. */
  sharing: SharingSettings | undefined
}

/** One process at a time serves the files. The others forward requests to it. */
export interface SharingSettings {
  /** The key that signs the client's address: 32 bytes in base64, the same in all processes. */
  relayKey: string
  /** Requests are refused if `confirm` was not called for this long. */
  confirmedWithinMs: number
}

export const defaultRequestLimits: RequestLimits = {
  maxDeepEntries: bounds.files.listingEntries.value,
  stallMs: bounds.files.stallMs.value,
}

export const defaultConnections: ConnectionSettings = {
  max: bounds.http.connections.value,
  maxPerAddress: bounds.http.connectionsPerAddress.value,
  maxPerPerson: bounds.http.connectionsPerPerson.value,
}

export function defaultStorageSettings(reserveBytes: number | undefined): StorageSettings {
  const { storage } = bounds
  return {
    reserveBytes,
    minReserveBytes: storage.reserveBytes.value,
    reserveFraction: storage.reservePercent.value / 100,
    minFreeInodes: storage.freeInodes.value,
    firstProject: undefined,
    minEntryBytes: storage.entryBytes.value,
    maxHardLinks: storage.hardLinks.value,
    maxCountMs: storage.countMs.value,
    recountAfterMs: storage.recountMs.value,
    maxRecountWaitMs: storage.recountWaitMs.value,
  }
}
