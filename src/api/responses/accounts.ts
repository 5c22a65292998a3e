import type { GroupRow, UserRow } from "#store"
import { iso, splitWords, toSortColumn } from "./lists.ts"

export const stamps = (row: UserRow | GroupRow) => ({
  ID: row.id,
  CreatedAt: iso(row.createdAt),
  UpdatedAt: iso(row.updatedAt),
  DeletedAt: iso(row.deletedAt),
})

export function listFilter<Row>(query: { ID?: number[]; q?: string; sort?: { by: string; descending: boolean } }, where: Partial<Row>) {
  const words = splitWords(query.q)
  const sort = toSortColumn(query.sort)
  return { where, ...(query.ID ? { ids: query.ID } : {}), ...(words ? { words } : {}), ...(sort ? { sort } : {}) }
}
