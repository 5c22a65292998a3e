import type { Endpoint } from "./endpoint.ts"
import type { JsonSchema } from "./fields/field.ts"
import { refTo, type Structure } from "./fields/structure.ts"
import { endpointHeaders } from "./headers.ts"
import { done, failure } from "./resources/installation.ts"
import { projectFields } from "./resources/project.ts"
import { structures } from "./structures.ts"
import { endpoints } from "./table.ts"

/** The schema of a body. Unknown fields are ignored. */
function bodySchema({ fields, mode, either = [] }: NonNullable<Endpoint["body"]>): JsonSchema {
  const set = Object.entries(fields).filter(([, field]) => field.write !== "never")
  const properties = Object.fromEntries(set.map(([name, field]) => [name, field.bodySchema ?? field.schema]))
  if (mode === "update") return { type: "object", properties: { ID: idSchema, ...properties }, required: ["ID"] }
  const required = set.filter(([, field]) => field.write === "required").map(([name]) => name)
  const allOf = either.map((group) => ({ anyOf: group.map((name) => ({ required: [name] })) }))
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}), ...(allOf.length > 0 ? { allOf } : {}) }
}

const idSchema = projectFields.ID.schema
const schemas = Object.fromEntries(structures.map(({ name, schema }) => [name, schema]))

const proofs = [{ basic: [] }, { bearer: [] }, { session: [] }]
const json = (schema: JsonSchema) => ({ "application/json": { schema } })

function listSchema(of: Structure): JsonSchema {
  const count = { type: "integer", minimum: 0 }
  return {
    type: "object",
    properties: { data: { type: "array", items: refTo(of) }, page: count, pageCount: count, pageSize: count },
    required: ["data", "page", "pageCount", "pageSize"],
  }
}

function answerContent(answer: Endpoint["answer"]) {
  if ("one" in answer) return json(refTo(answer.one))
  if ("list" in answer) return json(listSchema(answer.list))
  if ("oneOrList" in answer) return json({ anyOf: [refTo(answer.oneOrList), listSchema(answer.oneOrList)] })
  if ("done" in answer) return json(refTo(done))
  if ("events" in answer) return { "text/event-stream": { schema: refTo(answer.events) } }
  if ("lines" in answer) return { "application/x-ndjson": { schema: { type: "string" } } }
  if ("text" in answer) return { [answer.text.split(";")[0] ?? ""]: { schema: { type: "string" } } }
  return json({ type: "object" })
}

/** The failures that a row can answer with, beyond those of every request. */
function failures(endpoint: Endpoint): number[] {
  const statuses = [400, 500, 503]
  if (endpoint.permission !== "none" || endpoint.path === "/session") statuses.push(401, 403, 429)
  if (endpoint.method !== "GET" || "ID" in endpoint.query) statuses.push(404, 409)
  if (endpointHeaders(endpoint).some(({ name }) => name === "If-Match")) statuses.push(412)
  if (endpoint.body) statuses.push(413, 415, 507)
  return [...new Set(statuses)].sort()
}

function operationOf(name: string, endpoint: Endpoint): JsonSchema {
  const fromQuery = Object.entries(endpoint.query).map(([parameter, { schema, repeats, required }]) => ({
    name: parameter,
    in: "query",
    required: required === true,
    description: schema.description,
    schema: repeats ? { type: "array", items: schema } : schema,
    ...(repeats ? { style: "form", explode: true } : {}),
  }))
  const parameters = [...fromQuery, ...endpointHeaders(endpoint).map((header) => ({ ...header, in: "header", required: false }))]
  const { body } = endpoint
  return {
    operationId: name,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    ...(endpoint.permission === "none" ? { security: [] } : {}),
    ...(endpoint.fromLoopback ? { security: [{}, ...proofs] } : {}),
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(body ? { requestBody: { required: true, content: json(bodySchema(body)) } } : {}),
    responses: {
      "200": { description: "The request reached its intended result.", content: answerContent(endpoint.answer) },
      ...Object.fromEntries(failures(endpoint).map((status) => [status, { $ref: "#/components/responses/Failure" }])),
      // Rejections by the HTTP layer itself: 405, 408, 414, 417, 431.
      default: { $ref: "#/components/responses/Failure" },
    },
  }
}

/**
 * The OpenAPI 3.1 description, made from the table. `memoryUnit` is the unit of `Memory` and
 * `GpuMemory` in force.
 */
export function openApi(options: { version: string; baseUrl: string; memoryUnit: string }): JsonSchema {
  const paths: Record<string, Record<string, JsonSchema>> = {}
  for (const [name, endpoint] of Object.entries(endpoints)) {
    const methods = paths[endpoint.path] ?? {}
    methods[endpoint.method.toLowerCase()] = operationOf(name, endpoint)
    paths[endpoint.path] = methods
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Quayside",
      version: options.version,
      description: `Runs containerized projects. Every path answers below \`/admin\` too. \`Memory\` and \`GpuMemory\` are in ${options.memoryUnit}.`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: [{ url: options.baseUrl }],
    security: proofs,
    paths,
    components: {
      schemas,
      responses: { Failure: { description: "A failure.", content: json(refTo(failure)) } },
      securitySchemes: {
        basic: { type: "http", scheme: "basic", description: "User name with password or token." },
        bearer: { type: "http", scheme: "bearer", description: "A token." },
        session: { type: "apiKey", in: "cookie", name: "quayside_session", description: "The browser's session." },
      },
    },
  }
}
