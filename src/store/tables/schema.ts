import type { Generated } from "kysely"

/**
 * Tables as the newest migration leaves them. Flags are 0 or 1, times are milliseconds, lists and
 * objects are JSON text.
 */
interface Stamps {
  id: Generated<number>
  created_at: number
  updated_at: number
  deleted_at: number | null
  version: number
}

interface Named {
  name_fold: string
  /** Name and comment, folded: what `q` looks in. */
  search: string
}

export interface UsersTable extends Stamps, Named {
  user_name: string
  password_hash: string | null
  email: string
  comment: string
  is_admin: number
  is_disabled: number
  limits: string
}

export interface GroupsTable extends Stamps, Named {
  group_name: string
  comment: string
  limits: string
  total_limits: string
}

export interface ImagesTable extends Stamps, Named {
  user_id: number
  user_name: string
  is_published: number
  is_trusted: number
  name: string
  image: string
  comment: string
  command: string
  env: string
  port: string
  doc: string
  written_by: number
}

export interface DatasetsTable extends Stamps, Named {
  user_id: number
  user_name: string
  is_published: number
  type: string
  name: string
  comment: string
  access_info: string
  access_key: string
  doc: string
}

export interface ProjectsTable extends Stamps, Named {
  user_id: number
  user_name: string
  /** 0: no group. */
  group_id: number
  group_name: string
  is_published: number
  is_trusted: number
  image_id: number
  type: string
  project_name: string
  comment: string
  user_path: string
  code_path: string
  model_path: string
  written_by: number
  doc: string
}

export interface RunsTable {
  id: Generated<number>
  key: string
  project_id: number
  user_id: number
  user_name: string
  /** The project's owner, who sees that it runs. */
  owner_id: number
  state: string
  wanted: string
  created_at: number
  updated_at: number
  version: number
  start_time: number | null
  ready_time: number | null
  end_time: number | null
  last_activity: number | null
  expires_at: number | null
  nodes: number
  cpus: number
  memory_mib: number
  gpus: number
  gpu_memory_mib: number
  node_names: string
  gpu_devices: string
  image_digest: string
  reason: string | null
  progress: string | null
  spec: string
}

export interface Tables {
  meta: { key: string; value: string }
  users: UsersTable
  groups: GroupsTable
  group_members: { group_id: number; user_id: number }
  tokens: {
    id: Generated<number>
    user_id: number
    name: string
    hash: string
    created_at: number
    expires_at: number | null
    last_used_at: number | null
    scopes: string
  }
  sessions: { hash: string; user_id: number; created_at: number; expires_at: number }
  openid_subjects: { issuer: string; subject: string; user_id: number; created_at: number }
  images: ImagesTable
  datasets: DatasetsTable
  projects: ProjectsTable
  project_datasets: { project_id: number; position: number; data_id: number; mount_path: string }
  runs: RunsTable
  grants: {
    id: Generated<number>
    created_at: number
    updated_at: number
    version: number
    thing_type: string
    thing_id: number
    /** Whose the thing is, and whether it is not deleted: as in its own row. */
    owner_id: number
    is_live: number
    /** 0 in one of the two. */
    user_id: number
    group_id: number
    access: string
    expires_at: number | null
    created_by: number
  }
  /** Ports of the apps host that runs have of their own. */
  run_ports: {
    port: number
    user_id: number
    authors: string
    project_id: number
    run_key: string
    is_handed_over: number
    created_at: number
  }
  moves: { data_id: number; from_path: string; to_path: string }
  idempotency_keys: { user_id: number; key: string; body_hash: string; run_id: number; created_at: number }
  /** Kept by triggers. Block -1 holds the sum of the others. */
  counters: { key: string; block: number; n: number }
  journal: { id: Generated<number>; at: number; event: string; thing_type: string; thing_id: number; data: string }
  audit: {
    id: Generated<number>
    at: number
    actor: string
    action: string
    thing_type: string | null
    thing_id: number | null
    outcome: string
    address: string
    request_id: string
    count: number
  }
}
