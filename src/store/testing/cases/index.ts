import { accountCases } from "./accounts.ts"
import type { Case } from "./case.ts"
import { changeCases } from "./changes.ts"
import { directoryCases } from "./directories.ts"
import { leaseCases } from "./leases.ts"
import { listCases } from "./lists.ts"
import { longListCases } from "./long-lists.ts"
import { portCases } from "./ports.ts"
import { pulledImageCases } from "./pulled-images.ts"
import { rowCases } from "./rows.ts"
import { runRowCases } from "./runs.ts"

export { runCases } from "./case.ts"
/** Every case that all databases pass, by subject. */
export const storeCases: Record<string, Record<string, Case>> = {
  changes: changeCases,
  rows: rowCases,
  lists: listCases,
  "long lists": longListCases,
  accounts: accountCases,
  runs: runRowCases,
  directories: directoryCases,
  "leases and one-time proofs": leaseCases,
  ports: portCases,
  "pulled images": pulledImageCases,
}
