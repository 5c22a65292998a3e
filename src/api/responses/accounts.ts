import type { GroupRow, UserRow } from "#store"
import { splitWords, toSortColumn, toTimestamp } from "./lists.ts"

export const toStamps = (row: UserRow | GroupRow) => ({
  ID: row.id,
  CreatedAt: toTimestamp(row.createdAt),
  UpdatedAt: toTimestamp(row.updatedAt),
  DeletedAt: toTimestamp(row.deletedAt),
})

export function listFilter<Row>(query: { ID?: number[]; q?: string; sort?: { by: string; descending: boolean } }, where: Partial<Row>) {
  const words = splitWords(query.q)
  const sort = toSortColumn(query.sort)
  return { where, ...(query.ID ? { ids: query.ID } : {}), ...(words ? { words } : {}), ...(sort ? { sort } : {}) }
}
