import { integer, text } from "./column.ts"
import type { RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

const fields = {
  name: text("name", { written: "once" }),
  /** A random name of the process that holds it; empty if none does. */
  holder: text("holder"),
  /** The address at which other processes reach the last holder; empty if they need not. */
  address: text("address"),
  /** Grows with each holder, so that late writes of a former one carry a lower token. */
  token: integer("token"),
  /** Grows while the holder lives. */
  renewals: integer("beat"),
}

export const leasesTable = describeTable({ name: "leases", fields })

/** A task that one of several processes has alone. */
export interface LeaseRow extends RowOf<typeof fields> {}

/** One-time proofs that were used and would not have expired yet. */
export const usedProofsTable = describeTable({
  name: "used_proofs",
  fields: { id: text("id", { written: "once" }), endsAt: integer("ends_at") },
})
