import { integer, text } from "./column.ts"
import type { RowOf } from "./row-mapper.ts"
import { describeTable } from "./table.ts"

export const idempotencyKeysTable = describeTable({
  name: "idempotency_keys",
  fields: {
    userId: integer("user_id"),
    key: text("key"),
    /** SHA-256 of the body. */
    bodyHash: text("body_hash"),
    runId: integer("run_id"),
    createdAt: integer("created_at"),
  },
})

export interface IdempotencyEntry extends RowOf<typeof idempotencyKeysTable.fields> {}
