import { QueryClient, queryOptions } from "@tanstack/react-query"
import type { RequestOptions } from "#client"
import { type Answer, Failure, type OperationId, type RunningProject } from "#contract"
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

/** Calls an operation by its name, for code that is generic over operations. */
export function callOperation<Op extends OperationId>(operation: Op, request: RequestOptions<Op> = {}): Promise<Answer<Op>> {
  const method = client[operation] as (request: RequestOptions<Op>) => Promise<Answer<Op>>
  return method(request)
}

/** The server measures every ten seconds; there is no event for it. */
export const sampleIntervalMs = 10_000
const secondsPerHour = 3_600

/**
 * The query of a run's present usage. It asks for the hour before as one step: a card shows no
 * series, and would receive and keep hundreds of points.
 */
export const currentUsageQuery = (ID: number) => ({ ...apiQuery("runStats", { query: { ID, Step: secondsPerHour } }), retry: false })

/** Places in the queue change without events: reads of runs that wait are repeated so often. */
const queuePollMs = 5_000

/** Repeats the read of these runs while one of them is queued. */
export function pollWhileQueued(runs: readonly Pick<RunningProject, "State">[]): number | false {
  return runs.some(({ State }) => State === "queued") ? queuePollMs : false
}
