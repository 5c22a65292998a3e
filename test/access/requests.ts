import { type Endpoint, endpoints, type Operation } from "#contract"
import type { Answer } from "../api/asking.ts"
import { type Expectation, expectations, type Named, type Request } from "./expectations.ts"

/** A thing that never was. */
export const nobodys: Named = { id: 999_999_999, projectId: 999_999_999, name: "never-was" }

/** The request of this operation on this thing, as its expectation asks it. */
export function requestFor(operation: Operation, thing: Named): { method: string; path: string; body?: object } {
  const { method, path, body: takesBody }: Endpoint = endpoints[operation]
  const expectation = expectations[operation] as Expectation
  const usual = (): Request => {
    if (expectation.is !== "on") return {}
    return takesBody ? { body: { ID: thing.id, Comment: `changed ${Math.random()}` } } : { query: { ID: thing.id } }
  }
  const { query = {}, body } = (expectation.ask ?? usual)(thing)
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  return { method, path: `${path}${search.size === 0 ? "" : `?${search}`}`, ...(body ? { body } : {}) }
}

/** Whether the operation changes something, as its expectation says. */
export function writes(operation: Operation): boolean {
  return ((expectations[operation] as Expectation).needs ?? (endpoints[operation].method === "GET" ? "read" : "write")) === "write"
}

/** All that a refusal tells apart from the request's own ID; an ID that the caller named themselves is no news. */
export function told({ status, body, headers }: Answer, thing: Named): string {
  const { requestId: _own, msg, ...rest } = body as Record<string, unknown>
  const names = Object.keys(headers).filter((name) => name !== "content-length" && name !== "retry-after")
  const words = String(msg).replaceAll(new RegExp(`\\b${thing.id}\\b`, "g"), "N")
  return `${status} ${words} ${JSON.stringify(rest)} ${names.sort()}`
}

/** All of these done, so many at a time. */
export async function each<T>(items: readonly T[], work: (item: T) => Promise<void>, atOnce = 12): Promise<void> {
  const rest = items.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of rest) await work(item)
    }),
  )
}
