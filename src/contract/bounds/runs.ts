import type { Bounds } from "./bound.ts"

/** Runs, queue and history. */
export const runs = {} as const satisfies Bounds
