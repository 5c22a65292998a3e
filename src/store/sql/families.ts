import { accounts } from "./accounts.ts"
import { grants } from "./grants.ts"
import { lists } from "./lists.ts"
import { ports } from "./ports.ts"
import { records } from "./records.ts"
import { rows } from "./rows.ts"
import { runs } from "./runs.ts"
import { search } from "./search.ts"
import { streams } from "./streams.ts"

/**
 * Every query of the project by name: a function of the builder, its arguments and, for some, a
 * shape.
 */
export const families = { ...accounts, ...grants, ...lists, ...ports, ...records, ...rows, ...runs, ...search, ...streams }
