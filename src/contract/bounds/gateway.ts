import type { Bounds } from "./bound.ts"

/** Gateway. */
export const gateway = {
  portsPerPerson: {
    what: "Ports that belong to one person, with `QUAYSIDE_APPS_PORTS`; never more than half of the range",
    value: 32,
    unit: "count",
    per: "person",
    beyond: "a page that says so (503) for browsers; tokens still work",
    setting: "QUAYSIDE_APPS_PORTS_PER_PERSON",
  },
} as const satisfies Bounds
