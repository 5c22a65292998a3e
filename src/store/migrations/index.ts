import { firstMigration } from "./0001-first.ts"
import { countersMigration } from "./0002-counters.ts"
import { openidSubjectsMigration } from "./0003-openid-subjects.ts"
import { namesMigration } from "./0004-names.ts"
import { auditCountsMigration } from "./0005-audit-counts.ts"
import { grantsMigration } from "./0006-grants.ts"
import { writersMigration } from "./0007-writers.ts"
import { runPortsMigration } from "./0008-run-ports.ts"
import { limitsMigration } from "./0009-limits.ts"
import { searchMigration } from "./0010-search.ts"
import { startMinutesMigration } from "./0011-start-minutes.ts"
import { writablePathsMigration } from "./0012-writable-paths.ts"
import { projectLimitsMigration } from "./0013-project-limits.ts"
import { pulledImagesMigration } from "./0014-pulled-images.ts"
import { tokenCodesMigration } from "./0015-token-codes.ts"
import { rolesMigration } from "./0016-roles.ts"
import { datasetWritersMigration } from "./0017-dataset-writers.ts"
import { sessionsMigration } from "./0018-sessions.ts"
import { longTextsLastMigration } from "./0019-long-texts-last.ts"
import { searchWritesMigration } from "./0020-search-writes.ts"
import { imageOwnersMigration } from "./0021-image-owners.ts"
import { trustedDigestsMigration } from "./0022-trusted-digests.ts"
import type { Migration } from "./migration.ts"

export { type Dialect, type Migration, migrationError, statementsOf } from "./migration.ts"

/** In the order in which they run. */
export const migrations: readonly Migration[] = [
  firstMigration,
  countersMigration,
  openidSubjectsMigration,
  namesMigration,
  auditCountsMigration,
  grantsMigration,
  writersMigration,
  runPortsMigration,
  limitsMigration,
  searchMigration,
  startMinutesMigration,
  writablePathsMigration,
  projectLimitsMigration,
  pulledImagesMigration,
  tokenCodesMigration,
  rolesMigration,
  datasetWritersMigration,
  sessionsMigration,
  longTextsLastMigration,
  searchWritesMigration,
  imageOwnersMigration,
  trustedDigestsMigration,
]
export const newestVersion = migrations.length
