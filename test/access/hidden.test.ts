import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type OperationId, operationIds } from "#contract"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { recordQueries } from "../fixtures/recorded-queries.ts"
import { expectations, type ResourceRef, type ResourceType, relationsByType } from "./expectations.ts"
import { scenarios, startPopulatedServer } from "./populated-server.ts"
import { missingResource, requestFor, summarize } from "./requests.ts"

/** One live resource of each type is hidden from bob: its owner and administrators see it. */
const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.server.quayside
const bob = server.people.bob.authorization

const hidden = new Map<ResourceType, ResourceRef>()
for (const scenario of scenarios) {
  if (scenario.relations.bob === "other" && !scenario.isDeleted && !hidden.has(scenario.type))
    hidden.set(scenario.type, await scenario.createResource(server))
}
hidden.set("user", { id: (await server.server.admin.readUser({ query: { UserName: "ann" } })).ID })

const cases = operationIds.flatMap((operation): { operation: OperationId; resource: ResourceRef }[] => {
  const expectation = expectations[operation]
  if (expectation?.is !== "on") return []
  const cell = expectation.live[(relationsByType[expectation.type] as readonly string[]).indexOf("other")]
  const resource = hidden.get(expectation.type)
  assert.ok(resource, `a hidden ${expectation.type} is needed`)
  assert.ok(cell === "--" || cell === "xx", operation)
  return [{ operation, resource }]
})

/** Parameters that might make the response differ between a hidden and a missing object. */
const attempts: Record<
  string,
  { headers?: (resource: ResourceRef) => Record<string, string>; body?: object; query?: string; method?: string }
> = {
  "nothing more": {},
  "the tag of its first version": { headers: ({ id }) => ({ "if-match": `"${id}-1"` }) },
  "any tag": { headers: () => ({ "if-match": "*" }) },
  "a stale tag": { headers: () => ({ "if-match": '"1-77"' }) },
  "no tag at all": { headers: () => ({ "if-match": "nonsense" }) },
  "If-None-Match": { headers: () => ({ "if-none-match": "*" }) },
  "a range": { headers: () => ({ range: "bytes=0-1" }) },
  "an Idempotency-Key": { headers: () => ({ "idempotency-key": "k" }) },
  "a wrong type in the body": { body: { Name: 5, ProjectName: 5, Nodes: "x", Limits: "x" } },
  "somebody else's name in the body": { body: { UserName: "ann" } },
  "an image that is hidden too": { body: { ImageID: 1, Image: { ID: 1 } } },
  "an unknown parameter": { query: "Nmae=x" },
  "a second ID": { query: "ID=1" },
  HEAD: { method: "HEAD" },
  OPTIONS: { method: "OPTIONS" },
}

function attempt(operation: OperationId, resource: ResourceRef, what: string): Promise<HttpAnswer> {
  const { headers, body: extraBody, query, method: other } = attempts[what] as (typeof attempts)[string]
  const { method, path, body } = requestFor(operation, resource)
  const target = query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`
  const fullBody = body && extraBody ? { ...body, ...extraBody } : body
  return sendRequest(baseUrl, other ?? method, target, { as: bob, body: fullBody, headers: headers?.(resource) ?? {} })
}

for (const what of Object.keys(attempts)) {
  test(`every operation answers a hidden and a missing object alike, with ${what}`, async () => {
    for (const { operation, resource } of cases) {
      const [hiddenAnswer, missingAnswer] = [await attempt(operation, resource, what), await attempt(operation, missingResource, what)]
      assert.equal(summarize(hiddenAnswer, resource), summarize(missingAnswer, missingResource), operation)
      if (what === "nothing more") assert.notEqual(hiddenAnswer.status, 200, operation)
    }
  })
}

test("every operation runs the same queries for a hidden and for a missing object", async () => {
  const mismatches: string[] = []
  for (const { operation, resource } of cases) {
    const hiddenAnswer = await recordQueries(() => attempt(operation, resource, "nothing more"))
    const missingAnswer = await recordQueries(() => attempt(operation, missingResource, "nothing more"))
    if (hiddenAnswer.join("\n") !== missingAnswer.join("\n"))
      mismatches.push(
        `${operation}: ${hiddenAnswer.length} and ${missingAnswer.length}\n${hiddenAnswer.join("\n")}\n--\n${missingAnswer.join("\n")}`,
      )
  }
  assert.deepEqual(mismatches, [])
})

test("a body that names a hidden, missing or deleted object is refused in the same words and at the same cost", async () => {
  const { ann } = server.people
  const image = await ann.client.createImage({ body: { Name: "x", Image: "fake/http" } })
  const data = await ann.client.createData({ body: { Name: "x" } })
  const [deletedImage, deletedData] = [
    await ann.client.createImage({ body: { Name: "x", Image: "fake/http", IsPublished: true } }),
    await ann.client.createData({ body: { Name: "y", IsPublished: true } }),
  ]
  await ann.client.deleteImage({ query: { ID: deletedImage.ID } })
  await ann.client.deleteData({ query: { ID: deletedData.ID } })
  const own = await server.people.bob.client.createProject({ body: { ProjectName: "own", Type: "http", ImageID: server.imageId } })
  const project = { ProjectName: "p", Type: "http" }
  const bodies: Record<string, [ids: number[], (id: number) => [method: string, path: string, body: object]]> = {
    "a new project's image": [[image.ID, deletedImage.ID], (id) => ["POST", "/project", { ...project, ImageID: id }]],
    "a new project's dataset": [
      [data.ID, deletedData.ID],
      (id) => ["POST", "/project", { ...project, ImageID: server.imageId, TrainData: [{ ID: id }] }],
    ],
    "a project's new image": [[image.ID, deletedImage.ID], (id) => ["PUT", "/project", { ID: own.ID, Image: { ID: id } }]],
    "a project's new dataset": [[data.ID, deletedData.ID], (id) => ["PUT", "/project", { ID: own.ID, TrainData: [{ Data: { ID: id } }] }]],
  }
  for (const [what, [ids, request]] of Object.entries(bodies)) {
    const send = (id: number) => {
      const [method, path, body] = request(id)
      return sendRequest(baseUrl, method, path, { as: bob, body })
    }
    const missingAnswer = await send(missingResource.id)
    assert.equal(missingAnswer.status, 400, `${what}: ${missingAnswer.text}`)
    const queries = await recordQueries(() => send(missingResource.id))
    for (const id of ids) {
      assert.equal(summarize(await send(id), { id }), summarize(missingAnswer, missingResource), what)
      assert.deepEqual(await recordQueries(() => send(id)), queries, what)
    }
  }
})

test("publishing a hidden project costs the same as publishing a missing one", async () => {
  const { id } = hidden.get("project") as ResourceRef
  for (const extraBody of [{ IsPublic: true }, { GroupName: "nobodys" }]) {
    const send = (ID: number) => () => sendRequest(baseUrl, "PUT", "/project", { as: bob, body: { ID, ...extraBody } })
    assert.deepEqual(await recordQueries(send(id)), await recordQueries(send(missingResource.id)))
  }
})

test("hidden and missing objects get equal responses at equal cost in queries, filters and projects", async () => {
  const named: [method: string, path: string, type: ResourceType][] = [
    ["DELETE", "/running_project?ProjectID=", "project"],
    ["GET", "/running_projects?ProjectID=", "project"],
    ["GET", "/running_project?ProjectID=", "project"],
    ["GET", "/projects?ID=", "project"],
    ["GET", "/images?ID=", "image"],
    ["GET", "/data?pageSize=1&ID=", "data"],
    ["GET", "/running_projects?ID=", "run"],
    ["GET", "/running_projects?State=ended&ID=", "run"],
    ["GET", "/grants?ID=", "grant"],
    ["DELETE", "/grant?ImageID=", "image"],
    ["DELETE", "/grant?RunID=", "run"],
    ...(["image", "data", "project", "run"] as const).map((type): [string, string, ResourceType] => [
      "GET",
      `/grants?${{ image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" }[type]}=`,
      type,
    ]),
  ]
  for (const [method, path, type] of named) {
    const { id } = hidden.get(type) as ResourceRef
    const send = (ID: number) => sendRequest(baseUrl, method, `${path}${ID}`, { as: bob })
    assert.equal(summarize(await send(id), { id }), summarize(await send(missingResource.id), missingResource), `${method} ${path}`)
    assert.deepEqual(await recordQueries(() => send(id)), await recordQueries(() => send(missingResource.id)), `${method} ${path}`)
  }
})

test("the path of a hidden run is answered like that of a missing one, at the same cost", async () => {
  const { id } = hidden.get("run") as ResourceRef
  const { appsUrl } = server.server.quayside
  const send = (ID: number) => sendRequest(appsUrl, "GET", `/run/${ID}/echo`, { as: bob })
  const [hiddenAnswer, missingAnswer] = [await send(id), await send(missingResource.id)]
  assert.deepEqual([hiddenAnswer.status, hiddenAnswer.text], [404, missingAnswer.text])
  const queries = await recordQueries(() => send(id))
  assert.ok(queries.length > 0, "the grants are queried")
  assert.deepEqual(queries, await recordQueries(() => send(missingResource.id)))
  const redirectOf = async (ID: number) => {
    const { status, headers } = await sendRequest(appsUrl, "GET", `/run/${ID}/echo`, {
      headers: { accept: "text/html", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate" },
    })
    return [status, String(headers.location).replace(`ID=${ID}&`, "ID=N&")]
  }
  assert.deepEqual(await redirectOf(id), await redirectOf(missingResource.id), "a browser gets the same redirect")
})

test("opening a hidden run is answered like opening a missing one, at the same cost", async () => {
  const { id } = hidden.get("run") as ResourceRef
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "bob", Password: "bob-password" } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  const open = (ID: number) => sendRequest(baseUrl, "GET", `/open?ID=${ID}`, { headers: { cookie, accept: "text/html" } })
  const [hiddenAnswer, missingAnswer] = [await open(id), await open(missingResource.id)]
  assert.deepEqual([hiddenAnswer.status, hiddenAnswer.text], [404, missingAnswer.text])
  assert.deepEqual(await recordQueries(() => open(id)), await recordQueries(() => open(missingResource.id)))
})
