import type { Endpoint } from "./endpoint.ts"
import type { JsonSchema } from "./fields/field.ts"
import { endpointHeaders } from "./headers.ts"
import { endpoints } from "./table.ts"

/** A table of the reference: one row for each field or parameter. */
export interface ReferenceRow {
  name: string
  type: string
  /** Whether it is required, in words; empty: it is not. */
  need: string
  description: string
}

/** One operation in words, for the reference page and `/docs`. */
export interface OperationReference {
  operation: string
  method: string
  path: string
  summary: string
  query: ReferenceRow[]
  headers: ReferenceRow[]
  body: ReferenceRow[]
  answer: string
  /** The permission that it needs, in one sentence. */
  permission: string
}

/** The operations of the table in its order, by their tags. */
export function operationsByTag(): Map<Endpoint["tag"], OperationReference[]> {
  const entries = Object.entries(endpoints).map(([operation, endpoint]) => [endpoint.tag, entryOf(operation, endpoint)] as const)
  const byTag = Map.groupBy(entries, ([tag]) => tag)
  return new Map([...byTag].map(([tag, list]) => [tag, list.map(([, entry]) => entry)]))
}

function entryOf(operation: string, endpoint: Endpoint): OperationReference {
  const { method, path, summary, query, body } = endpoint
  return {
    operation,
    method,
    path,
    summary,
    query: Object.entries(query).map(([name, { schema, repeats, required }]) => ({
      name,
      type: repeats ? `${describeType(schema)}, may repeat` : describeType(schema),
      need: required ? "required" : "",
      description: descriptionOf(schema),
    })),
    headers: endpointHeaders(endpoint).map(({ name, description, schema }) => ({
      name,
      type: describeType(schema),
      need: "",
      description,
    })),
    body: body ? bodyEntries(body) : [],
    answer: answerOf(endpoint.answer),
    permission: permissionOf(endpoint),
  }
}

function bodyEntries({ fields, mode, either = [] }: NonNullable<Endpoint["body"]>): ReferenceRow[] {
  const id: ReferenceRow[] = mode === "update" ? [{ name: "ID", type: "integer", need: "required", description: "Names the object." }] : []
  const set = Object.entries(fields).filter(([, field]) => field.write !== "never")
  const rows = set.map(([name, { bodySchema, schema, write }]): ReferenceRow => {
    const others = either.find((group) => group.includes(name))?.filter((other) => other !== name)
    const isRequired = write === "required" && mode === "create"
    const need = others ? `required without ${others.map((other) => `\`${other}\``).join(" or ")}` : isRequired ? "required" : ""
    return { name, type: describeType(bodySchema ?? schema), need, description: descriptionOf(schema) }
  })
  return [...id, ...rows]
}

function answerOf(answer: Endpoint["answer"]): string {
  if ("one" in answer) return answer.one.name
  if ("list" in answer) return `list of ${answer.list.name}`
  if ("oneOrList" in answer) return `${answer.oneOrList.name} with ID alone, otherwise a list of them`
  if ("done" in answer) return '{"ok": true}'
  if ("text" in answer) return answer.text
  if ("lines" in answer) return `application/x-ndjson of ${answer.lines.name}`
  if ("events" in answer) return `text/event-stream of ${answer.events.name}`
  return "this description"
}

function permissionOf({ permission, fromLoopback }: Endpoint): string {
  if (permission === "none") return "no credential needed"
  return fromLoopback ? `${permission}; no credential needed from the same machine` : permission
}

const descriptionOf = (schema: JsonSchema) => String(schema.description ?? "")

/** A schema's type in few words. */
export function describeType(schema: JsonSchema): string {
  if (typeof schema.$ref === "string") return schema.$ref.slice(schema.$ref.lastIndexOf("/") + 1)
  if (Array.isArray(schema.enum)) return `one of ${schema.enum.join(", ")}`
  if (schema.type === undefined && Array.isArray(schema.anyOf)) return (schema.anyOf as JsonSchema[]).map(describeType).join(" or ")
  if (schema.type === "array") return `list of ${describeType((schema.items ?? {}) as JsonSchema)}`
  if (Array.isArray(schema.type)) return schema.type.join(" or ")
  const most = typeof schema.maxLength === "number" ? `, at most ${schema.maxLength.toLocaleString("en")} characters` : ""
  return schema.format === "date-time" ? "timestamp" : `${schema.type ?? "any"}${most}`
}
