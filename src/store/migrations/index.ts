import { first } from "./0001-first.ts"
import { counters } from "./0002-counters.ts"
import { openidSubjects } from "./0003-openid-subjects.ts"
import { names } from "./0004-names.ts"
import { auditCounts } from "./0005-audit-counts.ts"
import { grants } from "./0006-grants.ts"
import { writers } from "./0007-writers.ts"
import { runPorts } from "./0008-run-ports.ts"
import { limits } from "./0009-limits.ts"
import { search } from "./0010-search.ts"
import { startMinutes } from "./0011-start-minutes.ts"
import { writablePaths } from "./0012-writable-paths.ts"
import { projectLimits } from "./0013-project-limits.ts"
import type { Migration } from "./migration.ts"

export { type Dialect, type Migration, statementsOf } from "./migration.ts"

/** In the order in which they run. */
export const migrations: readonly Migration[] = [
  first,
  counters,
  openidSubjects,
  names,
  auditCounts,
  grants,
  writers,
  runPorts,
  limits,
  search,
  startMinutes,
  writablePaths,
  projectLimits,
]
export const newestVersion = migrations.length
