import type { Bounds } from "./bound.ts"

/** Disk. */
export const storage = {
  maxStorage: {
    what: "Homes and datasets of a person, unless `MaxStorage` is set",
    value: 102_400,
    unit: "MiB",
    per: "person",
    beyond: "507 `storage_full`",
    setting: "QUAYSIDE_DEFAULT_LIMITS",
  },
} as const satisfies Bounds
