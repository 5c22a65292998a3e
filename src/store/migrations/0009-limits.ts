import type { Dialect, Migration } from "./migration.ts"

/**
 * Earlier versions stored each unset limit as null, which now means that somebody chose
 * "unlimited".
 */
function withoutNulls(table: string, column: string, dialect: Dialect): string {
  const setLimits =
    dialect === "sqlite"
      ? `(select coalesce(json_group_object(key, value), '{}') from json_each(${table}.${column}) where value is not null)`
      : `json_strip_nulls(${column}::json)::text`
  return `update ${table} set ${column} = ${setLimits} where ${column} like '%null%'`
}

/**
 * Unset limits are absent. Queued runs, admitted runs and suspended grants get indexes of their
 * own.
 */
export const limitsMigration: Migration = {
  version: 9,
  name: "limits",
  statements: (dialect) => [
    withoutNulls("users", "limits", dialect),
    withoutNulls("groups", "limits", dialect),
    withoutNulls("groups", "total_limits", dialect),
    "create index runs_queued on runs (id) where state = 'queued'",
    "create index runs_held on runs (id) where state not in ('queued', 'ended', 'failed')",
    "create index runs_over on runs (end_time, id) where state in ('ended', 'failed')",
    "create index grants_resting on grants (owner_id) where is_live = 0",
    "create index idempotency_run on idempotency_keys (run_id)",
  ],
}
