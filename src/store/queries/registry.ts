import { accountQueries } from "./accounts.ts"
import { grantQueries } from "./grants.ts"
import { sliceQueries } from "./index-slices.ts"
import { leaseQueries } from "./leases.ts"
import { listQueries } from "./lists.ts"
import { pulledImageQueries } from "./pulled-images.ts"
import { recordQueries } from "./records.ts"
import { rowQueries } from "./rows.ts"
import { runPortQueries } from "./run-ports.ts"
import { runQueries } from "./runs.ts"
import { searchQueries } from "./search.ts"
import { usedProofQueries } from "./used-proofs.ts"

/** Every query by name: a function of the query builder, its arguments and, for some, a shape. */
export const queries = {
  ...accountQueries,
  ...grantQueries,
  ...leaseQueries,
  ...listQueries,
  ...pulledImageQueries,
  ...recordQueries,
  ...rowQueries,
  ...runPortQueries,
  ...runQueries,
  ...searchQueries,
  ...sliceQueries,
  ...usedProofQueries,
}
