import { accounts } from "./accounts.ts"
import type { Case } from "./case.ts"
import { changes } from "./changes.ts"
import { directories } from "./directories.ts"
import { lists } from "./lists.ts"
import { longLists } from "./long-lists.ts"
import { ports } from "./ports.ts"
import { rows } from "./rows.ts"
import { runs } from "./runs.ts"

export { runCases } from "./case.ts"
/** Every case that all databases pass, by subject. */
export const storeCases: Record<string, Record<string, Case>> = {
  changes,
  rows,
  lists,
  "long lists": longLists,
  accounts,
  runs,
  directories,
  ports,
}
