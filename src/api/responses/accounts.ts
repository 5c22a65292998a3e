import { splitWords, toSortColumn } from "./lists.ts"

export function toListFilter<Row>(query: { ID?: number[]; q?: string; sort?: { by: string; descending: boolean } }, where: Partial<Row>) {
  const words = splitWords(query.q)
  const sort = toSortColumn(query.sort)
  return { where, ...(query.ID ? { ids: query.ID } : {}), ...(words ? { words } : {}), ...(sort ? { sort } : {}) }
}
