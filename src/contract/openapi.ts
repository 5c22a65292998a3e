import { failureStatus, reasonSentences } from "./codes.ts"
import { headersOf } from "./headers.ts"
import { dataFields } from "./resources/data.ts"
import { grantFields } from "./resources/grant.ts"
import { imageCheckFields, imageFields } from "./resources/image.ts"
import { groupFields, tokenFields, userFields } from "./resources/people.ts"
import { projectFields } from "./resources/project.ts"
import { runningProjectFields } from "./resources/running-project.ts"
import type { Fields, JsonSchema } from "./schema.ts"
import { type Endpoint, endpoints } from "./table.ts"

const part = (schema: string): JsonSchema => ({
  description: "Whole but for its `Doc`, or its ID alone where the caller may not see it.",
  anyOf: [
    { $ref: `#/components/schemas/${schema}` },
    { type: "object", properties: { ID: { type: "integer" } }, required: ["ID"], additionalProperties: false },
  ],
})

/** What a successful answer holds. */
function answerSchema(fields: Fields, without: readonly string[] = []): JsonSchema {
  const shown = Object.entries(fields).filter(([name, field]) => field.schema.writeOnly !== true && !without.includes(name))
  return {
    type: "object",
    properties: Object.fromEntries(shown.map(([name, field]) => [name, field.schema])),
    required: shown.map(([name]) => name),
  }
}

/** What a body may hold; unknown fields are passed over. */
function bodySchema({ fields, mode, either = [] }: NonNullable<Endpoint["body"]>): JsonSchema {
  const set = Object.entries(fields).filter(([, field]) => field.write !== "never")
  const properties = Object.fromEntries(set.map(([name, field]) => [name, field.bodySchema ?? field.schema]))
  if (mode === "update") return { type: "object", properties: { ID: idSchema, ...properties }, required: ["ID"] }
  const required = set.filter(([, field]) => field.write === "required").map(([name]) => name)
  const allOf = either.map((group) => ({ anyOf: group.map((name) => ({ required: [name] })) }))
  return { type: "object", properties, ...(required.length > 0 ? { required } : {}), ...(allOf.length > 0 ? { allOf } : {}) }
}

const text = { type: "string" }
const idSchema = projectFields.ID.schema
const check = { type: "object", properties: { ok: { type: "boolean" }, msg: text }, required: ["ok", "msg"] }
const share = { type: "object", properties: { total: { type: "number" }, free: { type: "number" } }, required: ["total", "free"] }
const amountOrNull = { type: ["number", "null"], description: "null: unlimited." }
const figure = (description: string, whole = false) => ({ type: [whole ? "integer" : "number", "null"], minimum: 0, description })
const statsSchema: JsonSchema = {
  type: "object",
  properties: {
    Time: { type: "string", format: "date-time" },
    Cpus: figure("How many CPUs were busy for it on average since the figures before."),
    Memory: figure("In the unit of the run's `Memory`, cached files not counted."),
    MemoryLimit: figure("What it may use."),
    GpuMemory: figure("On all of its GPUs together, in the unit of `Memory`."),
    GpuBusy: figure("From 0 to 1, the mean of its GPUs."),
    NetworkIn: figure("Bytes since the start.", true),
    NetworkOut: figure("Bytes since the start.", true),
    Disk: figure(
      "Written to its own file system, mounted directories not counted, in the unit of `Memory`; looked at once a minute, or sooner.",
    ),
  },
  required: ["Time", "Cpus", "Memory", "MemoryLimit", "GpuMemory", "GpuBusy", "NetworkIn", "NetworkOut", "Disk"],
}
const capacitySchema = {
  type: "object",
  properties: {
    nodes: {
      type: "array",
      items: {
        type: "object",
        properties: {
          Name: text,
          Cpus: share,
          Memory: share,
          Gpus: share,
          Devices: {
            type: "array",
            items: {
              type: "object",
              properties: {
                ID: text,
                Model: text,
                Memory: { type: "number" },
                RunID: { type: ["integer", "null"], description: "Who holds it; for administrators and the holder." },
              },
              required: ["ID", "Model", "Memory", "RunID"],
            },
          },
        },
        required: ["Name", "Cpus", "Memory", "Gpus", "Devices"],
      },
    },
    you: {
      type: "object",
      description: "What the caller may still take.",
      properties: { Cpus: amountOrNull, Memory: amountOrNull, Gpus: amountOrNull },
      required: ["Cpus", "Memory", "Gpus"],
    },
  },
  required: ["nodes", "you"],
}
const schemas: Record<string, JsonSchema> = {
  ImageModel: answerSchema(imageFields),
  ImagePart: part("ImageWithoutDoc"),
  ImageWithoutDoc: answerSchema(imageFields, ["Doc"]),
  ImageCheck: answerSchema(imageCheckFields),
  DataModel: answerSchema(dataFields),
  DataPart: part("DataWithoutDoc"),
  DataWithoutDoc: answerSchema(dataFields, ["Doc"]),
  ProjectModel: answerSchema(projectFields),
  ProjectTrainDataModel: {
    type: "object",
    properties: { ProjectID: { type: "integer" }, Data: { $ref: "#/components/schemas/DataPart" }, MountPath: text },
    required: ["ProjectID", "Data", "MountPath"],
  },
  RunningProject: {
    ...answerSchema(runningProjectFields),
    properties: {
      ...(answerSchema(runningProjectFields).properties as object),
      Project: {
        anyOf: [
          { $ref: "#/components/schemas/ProjectModel" },
          { type: "object", properties: { ID: { type: "integer" } }, required: ["ID"], additionalProperties: false },
        ],
      },
    },
  },
  User: answerSchema(userFields),
  Group: answerSchema(groupFields),
  Token: answerSchema(tokenFields),
  Grant: answerSchema(grantFields),
  NewToken: { allOf: [{ $ref: "#/components/schemas/Token" }, { type: "object", properties: { Token: text }, required: ["Token"] }] },
  Whoami: {
    type: "object",
    properties: { UserName: text, IsAdmin: { type: "boolean" }, Groups: { type: "array", items: text }, Limits: userFields.Limits.schema },
    required: ["UserName", "IsAdmin", "Groups", "Limits"],
  },
  Health: { type: "object", properties: { ok: { type: "boolean" } }, required: ["ok"] },
  Readiness: {
    type: "object",
    properties: {
      ok: { type: "boolean" },
      checks: { type: "object", properties: { store: check, engine: check, files: check }, required: ["store", "engine", "files"] },
    },
    required: ["ok", "checks"],
  },
  Capacity: capacitySchema,
  RunStats: {
    type: "object",
    properties: { now: statsSchema, series: { type: "array", items: statsSchema, description: "Oldest first." } },
    required: ["now", "series"],
  },
  Preview: {
    type: "object",
    properties: {
      Admitted: { type: "boolean", description: "It would start at once." },
      Queued: { type: "boolean", description: "It would wait for what others hold." },
      QueuePosition: { type: ["integer", "null"], description: "From 1, where it would wait." },
      Reason: { ...runningProjectFields.Reason.schema, description: "Why it would fail." },
    },
    required: ["Admitted", "Queued", "QueuePosition", "Reason"],
  },
  FilesToken: {
    type: "object",
    properties: { Token: text, ExpiresAt: { type: "string", format: "date-time" } },
    required: ["Token", "ExpiresAt"],
  },
  AuditEntry: {
    type: "object",
    properties: {
      ID: { type: "integer" },
      Time: { type: "string", format: "date-time" },
      Actor: { ...text, description: "The user name; `-` for who proved nothing, empty for the service itself." },
      Action: text,
      Thing: {
        type: ["object", "null"],
        properties: { Type: text, ID: { type: "integer" } },
        required: ["Type", "ID"],
      },
      Outcome: { type: "string", enum: ["done", "refused"] },
      Address: text,
      RequestID: text,
      Count: {
        type: "integer",
        minimum: 1,
        description:
          "Refusals of one actor, action and minute are one row, written when the minute is over: Time, Address and RequestID are those of the first.",
      },
    },
    required: ["ID", "Time", "Actor", "Action", "Thing", "Outcome", "Address", "RequestID", "Count"],
  },
  Event: {
    type: "object",
    description:
      "One server-sent event. `event` is `<resource>.<verb>`: created, updated, deleted, restored; for runs also state, progress, warning, for images progress. Who loses sight of a thing gets its `deleted`. `reset`: something was missed, everything is to be read again.",
    properties: {
      id: { ...text, description: "Grows in the order of commits; `Last-Event-ID` takes it." },
      event: text,
      data: {
        type: "string",
        contentMediaType: "application/json",
        contentSchema: {
          type: "object",
          properties: {
            ID: { type: "integer" },
            ProjectID: { type: "integer", description: "Of a run." },
            State: { ...text, description: "Of `run.state`; of `image.progress`: `pulling`, `present` or `failed`." },
            Reason: { type: ["object", "null"], description: "Of `run.state` and `image.progress`: code and msg." },
            Progress: { type: ["object", "null"], description: "Of `run.progress` and `image.progress`." },
            Warning: { ...text, description: "Of `run.warning`." },
          },
        },
      },
    },
    required: ["id", "event", "data"],
  },
  Done: { type: "object", properties: { ok: { type: "boolean", const: true } }, required: ["ok"] },
  Failure: {
    type: "object",
    description: "Any status other than 200.",
    properties: {
      ok: { type: "boolean", const: false },
      msg: { type: "string", description: "What was wanted and what came." },
      code: { type: "string", enum: [...new Set([...Object.keys(failureStatus), ...Object.keys(reasonSentences)])] },
      field: { type: "string", description: "The body field or query parameter at fault." },
      requestId: text,
      ID: { type: "integer", description: "Of a start: the run that failed, or that is there already." },
      State: { ...runningProjectFields.State.schema, description: "Of that run." },
      Reason: { ...runningProjectFields.Reason.schema, description: "Why that run failed." },
      URL: { type: "string", description: "Of the run that is there already, where the caller may open it." },
      checks: { type: "object", description: "Of /readyz: what each part says." },
      detail: { type: "string", description: "For administrators: what the engine or the registry said of an image that was not fetched." },
    },
    required: ["ok", "msg", "code"],
  },
}

const proofs = [{ basic: [] }, { bearer: [] }, { session: [] }]
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
const json = (schema: JsonSchema) => ({ "application/json": { schema } })

function listSchema(of: string): JsonSchema {
  const count = { type: "integer", minimum: 0 }
  return {
    type: "object",
    properties: { data: { type: "array", items: ref(of) }, page: count, pageCount: count, pageSize: count },
    required: ["data", "page", "pageCount", "pageSize"],
  }
}

function answerContent(answer: Endpoint["answer"]) {
  if ("one" in answer) return json(ref(answer.one))
  if ("list" in answer) return json(listSchema(answer.list))
  if ("oneOrList" in answer) return json({ anyOf: [ref(answer.oneOrList), listSchema(answer.oneOrList)] })
  if ("done" in answer) return json(ref("Done"))
  if ("stream" in answer) return { "text/event-stream": { schema: ref(answer.stream) } }
  if ("text" in answer) return { [answer.text.split(";")[0] ?? ""]: { schema: text } }
  return json({ type: "object" })
}

/** Which failures a row can answer with, beyond those of every request. */
function failures(endpoint: Endpoint): number[] {
  const statuses = [400, 500, 503]
  if (endpoint.permission !== "none" || endpoint.path === "/session") statuses.push(401, 403, 429)
  if (endpoint.method !== "GET" || "ID" in endpoint.query) statuses.push(404, 409)
  if (headersOf(endpoint).some(({ name }) => name === "If-Match")) statuses.push(412)
  if (endpoint.body) statuses.push(413, 415, 507)
  return [...new Set(statuses)].sort()
}

function operationOf(name: string, endpoint: Endpoint): JsonSchema {
  const fromQuery = Object.entries(endpoint.query).map(([parameter, { schema, repeats, needed }]) => ({
    name: parameter,
    in: "query",
    required: needed === true,
    description: schema.description,
    schema: repeats ? { type: "array", items: schema } : schema,
    ...(repeats ? { style: "form", explode: true } : {}),
  }))
  const parameters = [...fromQuery, ...headersOf(endpoint).map((header) => ({ ...header, in: "header", required: false }))]
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
      // What the HTTP layer itself refuses: 405, 408, 414, 417, 431.
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
      responses: { Failure: { description: "A failure.", content: json(ref("Failure")) } },
      securitySchemes: {
        basic: { type: "http", scheme: "basic", description: "User name with password or token." },
        bearer: { type: "http", scheme: "bearer", description: "A token." },
        session: { type: "apiKey", in: "cookie", name: "quayside_session", description: "The browser's session." },
      },
    },
  }
}
