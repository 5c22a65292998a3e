import { generatedId, integer, nullableInteger } from "./column.ts"

/** Fields of every row that somebody may change or delete. The store writes all of them. */
export const stamps = {
  id: generatedId({ wire: "ID" }),
  createdAt: integer("created_at", { wire: "CreatedAt", written: "once" }),
  updatedAt: integer("updated_at", { wire: "UpdatedAt" }),
  deletedAt: nullableInteger("deleted_at", { wire: "DeletedAt", written: "never" }),
  /** Grows by one with every change of the row; the basis of its ETag. */
  version: integer("version", { written: "never" }),
}
