import { type Endpoint, endpoints } from "#contract"
import type { HttpAnswer } from "../api/http-client.ts"
import { type Expectation, expectations, operationOf, type Request, type ResourceRef } from "./expectations.ts"

/** An object that never existed. */
export const missingResource: ResourceRef = { id: 999_999_999, projectId: 999_999_999, name: "never-was" }

/** The request of this line of the table for this object. */
export function requestFor(row: string, resource: ResourceRef): { method: string; path: string; body?: object } {
  const { method, path, body: takesBody }: Endpoint = endpoints[operationOf(row)]
  const expectation = expectationOf(row)
  const defaultRequest = (): Request => {
    if (expectation.is !== "on") return {}
    return takesBody ? { body: { ID: resource.id, Comment: `changed ${Math.random()}` } } : { query: { ID: resource.id } }
  }
  const { query = {}, body } = (expectation.makeRequest ?? defaultRequest)(resource)
  const search = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, String(value)]))
  return { method, path: `${path}${search.size === 0 ? "" : `?${search}`}`, ...(body ? { body } : {}) }
}

export function expectationOf(row: string): Expectation {
  const expectation = expectations[row]
  if (!expectation) throw new TypeError(`An expectation for ${row} is wanted in test/access/expectations.ts, got none`)
  return expectation
}

/** Whether this line of the table changes something. */
export function isWrite(row: string): boolean {
  return (expectationOf(row).needs ?? (endpoints[operationOf(row)].method === "GET" ? "read" : "write")) === "write"
}

/** Headers of this request alone, without influence on its result. */
const volatileHeaders = new Set(["content-length", "retry-after", "date", "x-request-id"])

/** The visible parts of a refusal, without the request's own ID and an ID that the caller sent. */
export function summarize({ status, body, headers }: HttpAnswer, resource: ResourceRef): string {
  const { requestId: _own, msg, ...remaining } = body as Record<string, unknown>
  const lines = Object.entries(headers).filter(([name]) => !volatileHeaders.has(name))
  const visible = JSON.stringify([msg, lines.filter(([name]) => name === "etag")]).replaceAll(new RegExp(`\\b${resource.id}\\b`, "g"), "N")
  return `${status} ${visible} ${JSON.stringify([remaining, lines.filter(([name]) => name !== "etag").sort()])}`
}

/** Runs all of these, with a maximum of concurrent ones. */
export async function forEachConcurrently<T>(items: readonly T[], work: (item: T) => Promise<void>, atOnce = 12): Promise<void> {
  const remaining = items.values()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (const item of remaining) await work(item)
    }),
  )
}
