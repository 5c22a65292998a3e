import { accounts } from "./accounts.ts"
import { grants } from "./grants.ts"
import { slices } from "./index-slices.ts"
import { lists } from "./lists.ts"
import { records } from "./records.ts"
import { rows } from "./rows.ts"
import { runPorts } from "./run-ports.ts"
import { runs } from "./runs.ts"
import { search } from "./search.ts"

/** Every query by name: a function of the query builder, its arguments and, for some, a shape. */
export const queries = { ...accounts, ...grants, ...lists, ...records, ...rows, ...runPorts, ...runs, ...search, ...slices }
