import type { Bounds } from "./bound.ts"

/** Connections and requests, at all three addresses. */
export const http = {
  targetBytes: {
    what: "Length of a request's target",
    value: 8_192,
    unit: "bytes",
    per: "request",
    beyond: "414 `too_large`",
  },
  bodyBytes: {
    what: "Body of a request to the API, `/project` excepted",
    value: 1024 * 1024,
    unit: "bytes",
    per: "request",
    beyond: "413 `too_large`",
  },
} as const satisfies Bounds
