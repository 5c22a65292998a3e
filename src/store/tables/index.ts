import { openidSubjects, sessions, tokens } from "./credentials.ts"
import { datasets } from "./datasets.ts"
import { grants } from "./grants.ts"
import { groups } from "./groups.ts"
import { audit, journal } from "./history.ts"
import { idempotencyKeys } from "./idempotency-keys.ts"
import { images } from "./images.ts"
import { moves } from "./moves.ts"
import { projectDatasets, projects } from "./projects.ts"
import { runPorts } from "./run-ports.ts"
import { runs } from "./runs.ts"
import { users } from "./users.ts"

/** Every table whose rows become objects. */
export const tables = {
  users,
  groups,
  tokens,
  sessions,
  openid_subjects: openidSubjects,
  images,
  datasets,
  projects,
  project_datasets: projectDatasets,
  runs,
  grants,
  run_ports: runPorts,
  moves,
  idempotency_keys: idempotencyKeys,
  journal,
  audit,
} as const
export type TableName = keyof typeof tables

/** Tables of resources that people own and may publish. */
export const resourceTables = ["images", "datasets", "projects"] as const
export type ResourceTable = (typeof resourceTables)[number]
/** Tables of resources that may be granted. */
export type GrantableTable = ResourceTable | "runs"
/** Tables whose rows are stamped, named, and deleted softly. */
export type StampedTable = ResourceTable | "users" | "groups"
/** Tables that have pages with a total. */
export type ListedTable = ResourceTable | "users" | "groups" | "runs" | "grants"
