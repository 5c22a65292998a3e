import type { Bounds } from "./bound.ts"

/** Gateway. */
export const gateway = {} as const satisfies Bounds
