import type { Bounds } from "./bound.ts"

/** Texts, lists and answers of the API. */
export const texts = {
  bodyLevels: {
    what: "Depth of a JSON body",
    value: 64,
    unit: "levels",
    per: "request",
    beyond: "400 `invalid`",
  },
} as const satisfies Bounds
