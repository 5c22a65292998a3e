import type { Bounds } from "./bound.ts"

/** Signing in. */
export const accounts = {} as const satisfies Bounds
