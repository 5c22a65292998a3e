import type { JsonSchema } from "./fields/field.ts"

/** A header that some operations read. */
export interface Header {
  name: string
  description: string
  schema: JsonSchema
}

const lastEventId: Header = {
  name: "Last-Event-ID",
  description: "The `id` of the last known event: later events are sent first.",
  schema: { type: "string", pattern: "^[0-9]{0,15}$" },
}
const ifMatch: Header = {
  name: "If-Match",
  description: "The object's `ETag`, or several, or `*`: the request fails with 412 unless the object still has it.",
  schema: { type: "string", pattern: '^(\\*|(W/)?"[!#-~]*"(, (W/)?"[!#-~]*")*)$' },
}
const named = {
  Prefer: {
    name: "Prefer",
    description: "`respond-async`: the answer comes at once, with the state at that time.",
    schema: { type: "string", examples: ["respond-async"] },
  },
  "Idempotency-Key": {
    name: "Idempotency-Key",
    description:
      "For 24 hours, a repeat with the same key and request answers the same run in its current state; with another request it is 409.",
    schema: { type: "string", pattern: "^[!-~]{1,200}$" },
  },
} as const satisfies Record<string, Header>

/** The headers that a row of the table names itself. */
export type OptionalHeader = keyof typeof named

/** A row of the table, as far as its headers follow from it. */
interface HeaderSource {
  method: string
  path: string
  answer: object
  headers?: readonly OptionalHeader[]
}

/** The headers that an operation reads beside those of every request. */
export function endpointHeaders({ method, path, answer, headers = [] }: HeaderSource): Header[] {
  const conditional = (method === "PUT" || method === "DELETE") && path !== "/session"
  return [...headers.map((name) => named[name]), ...(conditional ? [ifMatch] : []), ...("events" in answer ? [lastEventId] : [])]
}
