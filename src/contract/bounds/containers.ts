import type { Bounds } from "./bound.ts"

/** Containers and registries. */
export const containers = {} as const satisfies Bounds
