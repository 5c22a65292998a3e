import type { GroupRow, UserRow } from "#store"
import { iso, sortOf, wordsOf } from "./lists.ts"

export const stamps = (row: UserRow | GroupRow) => ({
  ID: row.id,
  CreatedAt: iso(row.createdAt),
  UpdatedAt: iso(row.updatedAt),
  DeletedAt: iso(row.deletedAt),
})

export function listFilter<Row>(query: { ID?: number[]; q?: string; sort?: { by: string; descending: boolean } }, where: Partial<Row>) {
  const words = wordsOf(query.q)
  const sort = sortOf(query.sort)
  return { where, ...(query.ID ? { ids: query.ID } : {}), ...(words ? { words } : {}), ...(sort ? { sort } : {}) }
}
