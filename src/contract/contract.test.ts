import assert from "node:assert/strict"
import { test } from "node:test"
import { failureStatus } from "./codes.ts"
import type { Endpoint } from "./endpoint.ts"
import { Failure, type FailureBody } from "./failure.ts"
import { BodyChanges, parseBody, parseNew } from "./fields/body.ts"
import { boolean, integer, oneOf, timestamp } from "./fields/scalars.ts"
import type { StructureValue } from "./fields/structure.ts"
import { text } from "./fields/text.ts"
import { openApi } from "./openapi.ts"
import { nearestName, parseQuery } from "./query.ts"
import { reasonMessages, reasonStatus, reasonTexts, withHint } from "./reasons.ts"
import { operationsByTag } from "./reference.ts"
import type { failure } from "./resources/installation.ts"
import { canTransition, isLive, runStateNames, runStates } from "./states.ts"
import { endpoints } from "./table.ts"

const fields = {
  Name: text({ write: "required", max: 5 }),
  N: integer({ max: 9 }),
  On: boolean({}),
  Kind: oneOf({ values: ["a", "b"], initial: "a" }),
  At: timestamp({}),
}
const refusal = (work: () => unknown): Failure => {
  try {
    work()
  } catch (error) {
    assert.ok(error instanceof Failure)
    return error
  }
  throw new assert.AssertionError({ message: "A refusal was wanted" })
}

test("a body's fields are checked; unknown and service-set fields are ignored", () => {
  assert.deepEqual(parseBody(fields, { Name: "x", N: 3, On: true, Other: [], At: "no time" }), { Name: "x", N: 3, On: true })
  for (const [body, field] of [
    [{ Name: 5 }, "Name"],
    [{ Name: " " }, "Name"],
    [{ Name: "123456" }, "Name"],
    [{ N: 1.5 }, "N"],
    [{ N: 10 }, "N"],
    [{ N: -1 }, "N"],
    [{ N: "1" }, "N"],
    [{ On: 1 }, "On"],
    [{ Kind: "c" }, "Kind"],
    [{ N: Number.NaN }, "N"],
  ] as const)
    assert.equal(refusal(() => parseBody(fields, body)).field, field)
  for (const body of [null, [], "x", 5]) assert.equal(refusal(() => parseBody(fields, body)).status, 400)
  assert.ok(Object.is(parseBody(fields, { N: -0 }).N, 0))
})

test("the body of a POST gets defaults for absent fields, and is rejected without a required one", () => {
  assert.deepEqual(parseNew(fields, { Name: "x" }), { Name: "x", N: 0, On: false, Kind: "a" })
  const { field, message } = refusal(() => parseNew(fields, {}))
  assert.deepEqual([field, message], ["Name", "Name is needed"])
})

test("the body of a PUT is rejected without an ID at once, and for its other fields when they are read", () => {
  assert.equal(refusal(() => new BodyChanges(fields, { Name: "x" })).field, "ID")
  const changes = new BodyChanges(fields, { ID: 7, Name: "a long name", N: 3, On: 1 })
  assert.equal(changes.ID, 7)
  assert.deepEqual(changes.checkOnly("N"), { N: 3 })
  assert.equal(refusal(() => changes.check()).field, "Name")
  assert.equal(refusal(() => changes.check({ Name: "a long name" })).field, "On", "a stored text is accepted back")
})

test("inherited members of a body are ignored", () => {
  assert.deepEqual(parseBody(fields, Object.create({ Name: "inherited" })), {})
})

test("error texts hold at most 60 characters of the value", () => {
  const { message } = refusal(() => parseBody(fields, { Kind: "x".repeat(10_000) }))
  assert.match(message, /; got "x{40,58}…"$/)
})

test("parseQuery parses every parameter by its row of the table", () => {
  const { query } = endpoints.listImages
  assert.deepEqual(parseQuery(query, "UserName=a%20b&page=2&ID=1&ID=2&q=x+y&sort=-Name"), {
    UserName: "a b",
    page: 2,
    ID: [1, 2],
    q: "x y",
    sort: { by: "Name", descending: true },
  })
  assert.deepEqual(parseQuery(query, "&&"), {})
  for (const [queryText, field] of [
    ["Page=1", "Page"],
    ["page=0", "page"],
    ["page=1&page=1", "page"],
    ["__proto__=1", "__proto__"],
    ["constructor=1", "constructor"],
    ["", undefined],
    ["%50age=1", "Page"],
  ] as const) {
    if (field !== undefined) assert.equal(refusal(() => parseQuery(query, queryText)).field, field)
  }
  assert.equal(refusal(() => parseQuery(query, "q=%zz")).code, "invalid")
  assert.equal(refusal(() => parseQuery(query, Array.from({ length: 201 }, (_, i) => `ID=${i}`).join("&"))).field, "ID")
})

test("the suggestion is the nearest known name, or none if nothing is similar", () => {
  const known = ["UserName", "IsPublish", "page", "pageSize"]
  for (const [word, near] of [
    ["username", "UserName"],
    ["UserNam", "UserName"],
    ["IsPublished", "IsPublish"],
    ["pagesize", "pageSize"],
    ["Pag", "page"],
    ["zzzzzz", undefined],
  ] as const)
    assert.equal(nearestName(word, known), near, word)
})

test("every code of a failure has its status, and every reason a sentence", () => {
  assert.deepEqual(
    Object.entries(failureStatus).map(([code, status]) => `${status} ${code}`),
    "400 invalid,401 unauthorized,403 forbidden,404 not_found,405 method_not_allowed,409 conflict,409 already_running,412 stale,413 too_large,415 unsupported_media_type,423 locked,429 too_many_requests,431 headers_too_large,500 internal,503 unavailable,503 engine_unreachable,507 storage_full".split(
      ",",
    ),
  )
  const codes =
    "image_not_found image_pull_denied image_pull_failed image_unavailable data_unavailable mount_missing insufficient_cpu insufficient_memory insufficient_gpu nodes_unsupported quota_exceeded command_not_found port_not_open not_answering exited oom_killed disk_full engine_unreachable engine_error lost idle max_time stopped_by_user stopped_by_admin access_withdrawn"
  for (const code of codes.split(" ")) assert.ok(code in reasonMessages, code)
  for (const state of runStateNames.filter(isLive).filter((name) => name !== "ready"))
    assert.ok(`timeout_${state}` in reasonMessages, state)
  const unavailable = Object.keys(reasonMessages).filter((code) => reasonStatus(code as keyof typeof reasonMessages) === 503)
  assert.deepEqual(unavailable.sort(), ["disk_full", "engine_error", "engine_unreachable"])
})

test("a reason without a hint gets that of its code, and every text is one plain sentence", () => {
  assert.equal(withHint({ code: "lost" }).hint, reasonTexts.lost.hint)
  assert.equal(withHint({ code: "lost", hint: "Look again" }).hint, "Look again")
  for (const { msg, cause, hint } of Object.values(reasonTexts))
    for (const sentence of [msg, cause, hint]) assert.match(sentence, /^[A-Z`].*[^.\s]$/)
})

test("a run's states follow each other in the documented order", () => {
  assert.deepEqual(runStateNames, ["queued", "pulling", "creating", "starting", "ready", "stopping", "ended", "failed"])
  for (const from of ["queued", "pulling", "creating", "starting"] as const) assert.ok(canTransition(from, "failed"))
  assert.ok(canTransition("ready", "ended") && !canTransition("ready", "failed") && runStates.ended.next.length === 0)
})

test("paths and methods of the table are unique, and a list is the plural or the same path", () => {
  const all = (Object.values(endpoints) as Endpoint[]).map(({ method, path }) => `${method} ${path}`)
  assert.equal(new Set(all).size, all.length)
  for (const name of ["image", "project", "running_project"]) {
    for (const method of ["POST", "DELETE", "GET"]) assert.ok(all.includes(`${method} /${name}`))
    assert.ok(all.includes(`GET /${name}s`))
  }
  for (const method of ["POST", "PUT", "DELETE", "GET"]) assert.ok(all.includes(`${method} /data`))
})

test("the description lists the headers that change an operation", () => {
  const { paths } = openApi({ version: "1", baseUrl: "http://localhost:8080", memoryUnit: "MiB" }) as {
    paths: Record<string, Record<string, { parameters?: { name: string; in: string }[] }>>
  }
  const parametersOf = (method: string, path: string) =>
    (paths[path]?.[method]?.parameters ?? []).filter((parameter) => parameter.in === "header").map(({ name }) => name)
  assert.deepEqual(parametersOf("post", "/running_project"), ["Prefer", "Idempotency-Key"])
  assert.deepEqual(parametersOf("post", "/running_project/repeat"), ["Prefer", "Idempotency-Key"])
  assert.deepEqual(parametersOf("post", "/image/pull"), ["Prefer"])
  assert.deepEqual(parametersOf("get", "/events"), ["Last-Event-ID"])
  for (const { method, path } of Object.values(endpoints) as Endpoint[]) {
    if (method === "POST" || path === "/events") continue
    const expected = method === "GET" || path === "/session" ? [] : ["If-Match"]
    assert.deepEqual(parametersOf(method.toLowerCase(), path), expected, `${method} ${path}`)
  }
})

test("the description and the reference list groups of required fields, and 412 only for operations that check If-Match", () => {
  const { paths } = openApi({ version: "1", baseUrl: "http://localhost:8080", memoryUnit: "MiB" }) as {
    paths: Record<
      string,
      Record<string, { requestBody?: { content: Record<string, { schema: { allOf?: object[] } }> }; responses: object }>
    >
  }
  const needed = (path: string) => paths[path]?.post?.requestBody?.content["application/json"]?.schema.allOf
  const either = (...names: string[]) => ({ anyOf: names.map((name) => ({ required: [name] })) })
  assert.deepEqual(needed("/project"), [either("Image", "ImageID")])
  assert.deepEqual(needed("/running_project"), [either("Project", "ProjectID")])
  assert.deepEqual(needed("/preview"), [either("Project", "ProjectID")])
  assert.deepEqual(needed("/grant"), [either("ImageID", "DataID", "ProjectID", "RunID"), either("UserName", "GroupName")])
  assert.equal(needed("/image"), undefined)
  assert.deepEqual(
    ["/image", "/session"].map((path) => "412" in (paths[path]?.delete?.responses ?? {})),
    [true, false],
  )
  const reported = [...operationsByTag().values()].flat().find(({ operation }) => operation === "createProject")
  const needs = reported?.body.flatMap(({ name, need }) => (need === "" ? [] : [[name, need]]))
  assert.deepEqual(needs, [
    ["ProjectName", "required"],
    ["Type", "required"],
    ["Image", "required without `ImageID`"],
    ["ImageID", "required without `Image`"],
  ])
  const deleted = [...operationsByTag().values()].flat().find(({ operation }) => operation === "deleteImage")
  assert.deepEqual(
    deleted?.query.map(({ name, need }) => [name, need]),
    [["ID", "required"]],
  )
})

test("a `Failure` has the described body", () => {
  const body: FailureBody = {} as StructureValue<typeof failure>
  assert.ok(body)
  assert.deepEqual(Object.keys(new Failure("invalid", "m", { field: "f" }).toBody("r")), ["ok", "msg", "code", "field", "requestId"])
})

test("the description lists the further members of a failure, those of a failed start included", () => {
  const { components } = openApi({ version: "1", baseUrl: "http://localhost:8080", memoryUnit: "MiB" }) as {
    components: { schemas: { Failure: { properties: object; required: string[] } } }
  }
  const { properties, required } = components.schemas.Failure
  assert.deepEqual(required, ["ok", "msg", "code"])
  assert.deepEqual(Object.keys(properties).slice(3), ["field", "requestId", "ID", "State", "Reason", "URL", "checks", "detail"])
})

test("the description names every operation once, and every reference in it has a target", () => {
  const description = openApi({ version: "1", baseUrl: "http://localhost:8080", memoryUnit: "GiB" }) as unknown as {
    paths: Record<string, Record<string, { operationId: string }>>
    components: Record<string, object>
    info: { description: string }
  }
  const named = Object.values(description.paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
  assert.deepEqual(named.sort(), Object.keys(endpoints).sort())
  assert.match(description.info.description, /in GiB/)
  for (const [, reference] of JSON.stringify(description).matchAll(/"\$ref":"#\/components\/([^"]+)"/g)) {
    const [kind = "", name = ""] = String(reference).split("/")
    assert.ok(name in (description.components[kind] ?? {}), String(reference))
  }
})

test("a text of more than four times its maximum length is refused before its characters are read", () => {
  const { parse } = text({ max: 10 })
  assert.throws(() => parse("\0".repeat(41), "Doc"), /^Failure: Doc must be at most 10 characters/)
  assert.throws(() => parse("\0".repeat(40), "Doc"), /control characters/)
})
