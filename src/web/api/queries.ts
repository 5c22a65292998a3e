import { QueryClient, queryOptions } from "@tanstack/react-query"
import type { RequestOptions } from "#client"
import { type Answer, Failure, type OperationId } from "#contract"
import { client } from "./client.ts"

/**
 * The cache of answers. `/events` marks what changed, so nothing grows stale by time; a failed read
 * is retried only if the server may answer better a moment later.
 */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: "always",
      retry: (count, error) => count < 2 && isTemporary(error),
    },
    mutations: { networkMode: "always" },
  },
})

function isTemporary(error: unknown): boolean {
  return !(error instanceof Failure) || error.status === 429 || error.status >= 500
}

type ReadRequest<Op extends OperationId> = Pick<RequestOptions<Op>, "query" | "body">

/**
 * The query of one read operation. Its key begins with the operation's name, by which events find
 * it. Use it with `useQuery` and `useSuspenseQuery`.
 */
export function apiQuery<Op extends OperationId>(operation: Op, request: ReadRequest<Op> = {}) {
  return queryOptions({
    queryKey: [operation, request] as const,
    queryFn: ({ signal }) => callOperation(operation, { ...request, signal }),
  })
}

/** An object with the tag of its version, which a change sends back as `If-Match`. */
export interface Versioned<T> {
  value: T
  etag: string | undefined
}

/**
 * As `apiQuery`, for a page that edits the object. A change that carries the tag is refused as
 * `stale` if somebody else changed the object meanwhile.
 */
export function versionedQuery<Op extends OperationId>(operation: Op, request: ReadRequest<Op> = {}) {
  return queryOptions({
    queryKey: [operation, request, "versioned"] as const,
    queryFn: async ({ signal }): Promise<Versioned<Answer<Op>>> => {
      let etag: string | undefined
      const onHeaders = (headers: Pick<Headers, "get">) => {
        etag = headers.get("etag") ?? undefined
      }
      return { value: await callOperation(operation, { ...request, signal, onHeaders }), etag }
    },
  })
}

/** Calls an operation by its name, for code that is generic over operations. */
export function callOperation<Op extends OperationId>(operation: Op, request: RequestOptions<Op> = {}): Promise<Answer<Op>> {
  const method = client[operation] as (request: RequestOptions<Op>) => Promise<Answer<Op>>
  return method(request)
}
