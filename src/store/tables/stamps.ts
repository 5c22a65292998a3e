import { generatedId, integer, nullableInteger } from "./column.ts"

/** Fields of every row that somebody may change or delete. The store writes all of them. */
export const stamps = {
  id: generatedId({ apiName: "ID" }),
  createdAt: integer("created_at", { apiName: "CreatedAt", written: "once" }),
  updatedAt: integer("updated_at", { apiName: "UpdatedAt" }),
  deletedAt: nullableInteger("deleted_at", { apiName: "DeletedAt", written: "never" }),
  /** Grows by one with every change of the row; the basis of its ETag. */
  version: integer("version", { written: "never" }),
}
