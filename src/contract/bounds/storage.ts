import type { Bounds } from "./bound.ts"

/** Disk. */
export const storage = {} as const satisfies Bounds
