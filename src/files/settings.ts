import { bounds } from "#contract"
import type { Limits } from "./call.ts"

/** What the file server is told; plain values, since they go to another process. */
export interface Settings {
  /** Host names without port, lower case; loopback ones are always allowed. */
  allowedHosts: readonly string[]
  /** Addresses and networks whose `X-Forwarded-For` counts. */
  trustedProxies: readonly string[]
  /** The one origin whose pages may write; undefined: none. */
  allowedOrigin: string | undefined
  limits: Limits
}

export const defaultLimits: Limits = {
  deepEntries: bounds.files.listingEntries.value,
  stallMs: bounds.files.stallMs.value,
  connectionsPerAddress: 1_000,
}
