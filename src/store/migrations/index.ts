import { first } from "./0001-first.ts"
import type { Migration } from "./migration.ts"

export { type Dialect, type Migration, statementsOf } from "./migration.ts"

/** In the order in which they run. */
export const migrations: readonly Migration[] = [first]
export const newestVersion = migrations.length
