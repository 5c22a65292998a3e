import { type Role, roleNames } from "./settings/processes.ts"
import { SettingError } from "./settings/setting.ts"
import type { Settings } from "./settings/settings.ts"

export type Roles = ReadonlySet<Role>

/** Throws a `SettingError` if the other settings need all roles in one process. */
export function rolesOf({ only, databaseUrl, engine, appsPorts }: Settings): Roles {
  const roles: Roles = new Set(only)
  if (roles.size === roleNames.length) return roles
  if (!/^postgres(ql)?:/.test(databaseUrl))
    throw new SettingError("QUAYSIDE_ONLY needs PostgreSQL: with SQLite, one process has all roles. Set QUAYSIDE_DATABASE_URL=postgres://…")
  if (engine === "fake")
    throw new SettingError("QUAYSIDE_ONLY needs Docker or Kubernetes: the fake engine's runs are inside of one process")
  if (appsPorts && roles.has("api") !== roles.has("gateway"))
    throw new SettingError("QUAYSIDE_APPS_PORTS needs the roles api and gateway in one process: with a wildcard name they can be apart")
  return roles
}
