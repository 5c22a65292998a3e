import { queryOptions } from "@tanstack/react-query"
import { Failure, type Readiness } from "#contract"
import { client } from "../../api/client.ts"

export type ReadinessPart = keyof Readiness["checks"]
export const readinessParts: readonly ReadinessPart[] = ["store", "engine", "files", "supervision", "apps"]

/** The readiness in an answer or in the refusal that a part which fails makes of it. */
export function readinessOf(error: unknown): Readiness | undefined {
  const checks = error instanceof Failure ? (error.extra.checks as Readiness["checks"] | undefined) : undefined
  return checks && { ok: false, checks }
}

/**
 * No event says that a part fails, so each visit asks, and a page that stays open once a minute.
 */
export const readinessQuery = queryOptions({
  queryKey: ["readyz"] as const,
  queryFn: async ({ signal }): Promise<Readiness> => {
    try {
      return await client.readyz({ signal })
    } catch (error) {
      const readiness = readinessOf(error)
      if (readiness) return readiness
      throw error
    }
  },
  staleTime: 0,
  refetchInterval: 60_000,
})
