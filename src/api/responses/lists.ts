import { bounds, defaultPageSize, Failure, type List, maxPageSize } from "#contract"
import { rfc3339 } from "#kit"
import type { RowPage, RowPageRequest } from "#store"

export function toPageRequest(query: { page?: number; pageSize?: number }): RowPageRequest {
  return { page: query.page ?? 1, pageSize: Math.min(query.pageSize ?? defaultPageSize, maxPageSize) }
}

export function toListResponse<Row, T>(found: RowPage<Row>, request: RowPageRequest, data: T[]): List<T> {
  return { data, page: request.page, pageCount: Math.ceil(found.total / request.pageSize), pageSize: request.pageSize }
}

/** The words of a `q`, or undefined if it has none. */
export function splitWords(q: string | undefined): string[] | undefined {
  const words = [...new Set((q ?? "").split(/\s+/).filter((word) => word !== ""))]
  const maxWords = bounds.texts.searchWords.value
  if (words.length > maxWords)
    throw new Failure("invalid", `q may hold ${maxWords} different words at most; got ${words.length}`, { field: "q" })
  return words.length === 0 ? undefined : words
}

export function toTimestamp(time: number): string
export function toTimestamp(time: number | null): string | null
export function toTimestamp(time: number | null): string | null {
  return time === null ? null : rfc3339(time)
}

/** The fields that every stored object has. */
export function toCommonFields(row: { id: number; createdAt: number; updatedAt: number; deletedAt: number | null }) {
  return { ID: row.id, CreatedAt: toTimestamp(row.createdAt), UpdatedAt: toTimestamp(row.updatedAt), DeletedAt: toTimestamp(row.deletedAt) }
}

const sortColumns: Readonly<Record<string, "id" | "createdAt" | "updatedAt" | "name">> = {
  ID: "id",
  CreatedAt: "createdAt",
  UpdatedAt: "updatedAt",
  Name: "name",
  ProjectName: "name",
}

/** The store's order for a `sort` of the contract's. */
export function toSortColumn(
  sort: { by: string; descending: boolean } | undefined,
): { by: "id" | "createdAt" | "updatedAt" | "name"; descending: boolean } | undefined {
  const by = sort && sortColumns[sort.by]
  return sort && by ? { by, descending: sort.descending } : undefined
}
