import { accountQueries } from "./accounts.ts"
import { datasetQueries } from "./datasets.ts"
import { grantQueries } from "./grants.ts"
import { sliceQueries } from "./index-slices.ts"
import { journalAndAuditQueries } from "./journal-and-audit.ts"
import { leaseQueries } from "./leases.ts"
import { listQueries } from "./lists.ts"
import { metaQueries } from "./meta.ts"
import { projectDatasetQueries } from "./project-datasets.ts"
import { pulledImageQueries } from "./pulled-images.ts"
import { rowQueries } from "./rows.ts"
import { runPortQueries } from "./run-ports.ts"
import { runQueries } from "./runs.ts"
import { searchQueries } from "./search.ts"
import { trustedDigestQueries } from "./trusted-digests.ts"
import { usedProofQueries } from "./used-proofs.ts"

/** Every query by name: a function of the query builder, its arguments and, for some, a shape. */
export const queries = {
  ...accountQueries,
  ...datasetQueries,
  ...grantQueries,
  ...journalAndAuditQueries,
  ...leaseQueries,
  ...listQueries,
  ...metaQueries,
  ...projectDatasetQueries,
  ...pulledImageQueries,
  ...rowQueries,
  ...runPortQueries,
  ...runQueries,
  ...searchQueries,
  ...sliceQueries,
  ...trustedDigestQueries,
  ...usedProofQueries,
}
