import { queryOptions } from "@tanstack/react-query"
import type { RequestOptions } from "#client"
import type { Answer, OperationId } from "#contract"
import { callOperation } from "./queries.ts"

/** An answer with the tag of its version, which a change names in `If-Match`. */
export interface Versioned<T> {
  value: T
  etag: string
}

/**
 * The query of one object for a form. Events read it again as they do every read, so the form
 * learns of other people's changes while it is open.
 */
export function versionedQuery<Op extends OperationId>(operation: Op, id: number) {
  const request = { query: { ID: id } } as RequestOptions<Op>
  return queryOptions({
    queryKey: [operation, request, "versioned"] as const,
    queryFn: ({ signal }) => readVersioned(operation, { ...request, signal }),
    gcTime: 0,
  })
}

async function readVersioned<Op extends OperationId>(operation: Op, request: RequestOptions<Op>): Promise<Versioned<Answer<Op>>> {
  let etag = ""
  const onHeaders = (headers: Pick<Headers, "get">) => {
    etag = headers.get("etag") ?? ""
  }
  return { value: await callOperation(operation, { ...request, onHeaders }), etag }
}

/** The header of a change that is meant for this version alone. */
export function ifMatch(etag: string): { "if-match": string } {
  return { "if-match": etag }
}
