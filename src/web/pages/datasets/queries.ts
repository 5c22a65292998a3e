import { queryOptions } from "@tanstack/react-query"
import type { RequestOptions } from "#client"
import { client } from "../../api/client.ts"

type ListQuery = NonNullable<RequestOptions<"listData">["query"]>

/** A list of datasets. The operation also reads one, so its answer needs a query of its own. */
export function datasetsQuery(query: ListQuery) {
  return queryOptions({
    queryKey: ["listData", { query }] as const,
    queryFn: ({ signal }) => client.listData({ query: query as Omit<ListQuery, "ID">, signal }),
  })
}

/** One dataset. */
export function datasetQuery(id: number) {
  return queryOptions({
    queryKey: ["listData", { query: { ID: id } }, "one"] as const,
    queryFn: ({ signal }) => client.listData({ query: { ID: id }, signal }),
  })
}
