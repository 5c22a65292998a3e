import { openidSubjectsTable, sessionsTable, tokenCodesTable, tokensTable } from "./credentials.ts"
import { datasetMovesTable, datasetsTable, datasetWritersTable } from "./datasets.ts"
import { grantsTable } from "./grants.ts"
import { groupsTable } from "./groups.ts"
import { idempotencyKeysTable } from "./idempotency-keys.ts"
import { imagesTable, trustedDigestsTable } from "./images.ts"
import { auditTable, journalTable } from "./journal-and-audit.ts"

import { leasesTable, usedProofsTable } from "./processes.ts"
import { projectDatasetsTable, projectsTable } from "./projects.ts"
import { pulledImagesTable } from "./pulled-images.ts"
import { runPortsTable } from "./run-ports.ts"
import { runsTable } from "./runs.ts"
import { usersTable } from "./users.ts"

/** Every table whose rows become objects. */
export const tables = {
  users: usersTable,
  groups: groupsTable,
  tokens: tokensTable,
  sessions: sessionsTable,
  token_codes: tokenCodesTable,
  openid_subjects: openidSubjectsTable,
  images: imagesTable,
  trusted_digests: trustedDigestsTable,
  datasets: datasetsTable,
  projects: projectsTable,
  project_datasets: projectDatasetsTable,
  runs: runsTable,
  grants: grantsTable,
  run_ports: runPortsTable,
  pulled_images: pulledImagesTable,
  dataset_writers: datasetWritersTable,
  moves: datasetMovesTable,
  idempotency_keys: idempotencyKeysTable,
  leases: leasesTable,
  used_proofs: usedProofsTable,
  journal: journalTable,
  audit: auditTable,
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
