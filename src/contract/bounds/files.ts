import type { Bounds } from "./bound.ts"

/** Files (WebDAV). */
export const files = {} as const satisfies Bounds
