import { bounds } from "#contract"
import type { Limits } from "./requests/dav-request.ts"
import type { StorageSettings } from "./storage/storage.ts"

/** What the file server is told; plain values, since they go to another process. */
export interface Settings {
  /** Host names without port, lower case; loopback ones are always allowed. */
  allowedHosts: readonly string[]
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[]
  /** The one origin whose pages may write; undefined: none. */
  allowedOrigin: string | undefined
  limits: Limits
  connections: ConnectionSettings
  storage: StorageSettings
}

/** How many connections there may be; see `bounds.http`. */
export interface ConnectionSettings {
  max: number
  maxPerAddress: number
  maxPerPerson: number
}

export const defaultLimits: Limits = {
  deepEntries: bounds.files.listingEntries.value,
  stallMs: bounds.files.stallMs.value,
}

export const defaultConnections: ConnectionSettings = {
  max: bounds.http.connections.value,
  maxPerAddress: bounds.http.connectionsPerAddress.value,
  maxPerPerson: bounds.http.connectionsPerPerson.value,
}

export function storageSettings(reserveBytes: number | undefined): StorageSettings {
  const { storage } = bounds
  return {
    reserveBytes,
    leastReserveBytes: storage.reserveBytes.value,
    reservePart: storage.reservePercent.value / 100,
    freeInodes: storage.freeInodes.value,
    entryBytes: storage.entryBytes.value,
    hardLinks: storage.hardLinks.value,
    countMs: storage.countMs.value,
    recountMs: storage.recountMs.value,
    recountWaitMs: storage.recountWaitMs.value,
  }
}
