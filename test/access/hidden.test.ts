import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type OperationId, operationIds } from "#contract"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { recordQueries } from "../fixtures/recorded-queries.ts"
import { expectations, type Named, standings, type ThingType } from "./expectations.ts"
import { scenarios, startPopulatedServer } from "./populated-server.ts"
import { missingResource, requestFor, summarize } from "./requests.ts"

/**
 * For bob these are hidden: one live thing of each type, that nobody but its owner and
 * administrators see.
 */
const server = await startPopulatedServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.server.quayside
const bob = server.people.bob.authorization

const hidden = new Map<ThingType, Named>()
for (const scenario of scenarios) {
  if (scenario.standing.bob === "other" && !scenario.isDeleted && !hidden.has(scenario.type))
    hidden.set(scenario.type, await scenario.make(server))
}
hidden.set("user", { id: (await server.server.admin.readUser({ query: { UserName: "ann" } })).ID })

const cases = operationIds.flatMap((operation): { operation: OperationId; thing: Named }[] => {
  const expectation = expectations[operation]
  if (expectation?.is !== "on") return []
  const cell = expectation.live[(standings[expectation.type] as readonly string[]).indexOf("other")]
  const thing = hidden.get(expectation.type)
  assert.ok(thing, `a hidden ${expectation.type} is needed`)
  assert.ok(cell === "--" || cell === "xx", operation)
  return [{ operation, thing }]
})

/** Parameters that might make the response differ between a hidden and a missing object. */
const attempts: Record<string, { headers?: (thing: Named) => Record<string, string>; body?: object; query?: string; method?: string }> = {
  "nothing more": {},
  "the tag of its first version": { headers: ({ id }) => ({ "if-match": `"${id}-1"` }) },
  "any tag": { headers: () => ({ "if-match": "*" }) },
  "a stale tag": { headers: () => ({ "if-match": '"1-77"' }) },
  "no tag at all": { headers: () => ({ "if-match": "nonsense" }) },
  "If-None-Match": { headers: () => ({ "if-none-match": "*" }) },
  "a range": { headers: () => ({ range: "bytes=0-1" }) },
  "an Idempotency-Key": { headers: () => ({ "idempotency-key": "k" }) },
  "a wrong type in the body": { body: { Name: 5, ProjectName: 5, Nodes: "x", Limits: 7 } },
  "somebody else's name in the body": { body: { UserName: "ann" } },
  "an image that is hidden too": { body: { ImageID: 1, Image: { ID: 1 } } },
  "an unknown parameter": { query: "Nmae=x" },
  "a second ID": { query: "ID=1" },
  HEAD: { method: "HEAD" },
  OPTIONS: { method: "OPTIONS" },
}

function attempt(operation: OperationId, thing: Named, what: string): Promise<HttpAnswer> {
  const { headers, body: more, query, method: other } = attempts[what] as (typeof attempts)[string]
  const { method, path, body } = requestFor(operation, thing)
  const target = query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`
  const whole = body && more ? { ...body, ...more } : body
  return sendRequest(baseUrl, other ?? method, target, { as: bob, body: whole, headers: headers?.(thing) ?? {} })
}

for (const what of Object.keys(attempts)) {
  test(`a hidden thing and none are answered alike by every operation, with ${what}`, async () => {
    for (const { operation, thing } of cases) {
      const [there, never] = [await attempt(operation, thing, what), await attempt(operation, missingResource, what)]
      assert.equal(summarize(there, thing), summarize(never, missingResource), operation)
      if (what === "nothing more") assert.notEqual(there.status, 200, operation)
    }
  })
}

test("every operation runs the same queries for a hidden and for a missing object", async () => {
  const wrong: string[] = []
  for (const { operation, thing } of cases) {
    const there = await recordQueries(() => attempt(operation, thing, "nothing more"))
    const never = await recordQueries(() => attempt(operation, missingResource, "nothing more"))
    if (there.join("\n") !== never.join("\n"))
      wrong.push(`${operation}: ${there.length} and ${never.length}\n${there.join("\n")}\n--\n${never.join("\n")}`)
  }
  assert.deepEqual(wrong, [])
})

test("a body that names a hidden, missing or deleted object is refused in the same words and at the same cost", async () => {
  const { ann } = server.people
  const image = await ann.client.createImage({ body: { Name: "x", Image: "fake/http" } })
  const data = await ann.client.createData({ body: { Name: "x" } })
  const [goneImage, goneData] = [
    await ann.client.createImage({ body: { Name: "x", Image: "fake/http", IsPublished: true } }),
    await ann.client.createData({ body: { Name: "y", IsPublished: true } }),
  ]
  await ann.client.deleteImage({ query: { ID: goneImage.ID } })
  await ann.client.deleteData({ query: { ID: goneData.ID } })
  const own = await server.people.bob.client.createProject({ body: { ProjectName: "own", Type: "http", ImageID: server.imageId } })
  const project = { ProjectName: "p", Type: "http" }
  const bodies: Record<string, [ids: number[], (id: number) => [method: string, path: string, body: object]]> = {
    "a new project's image": [[image.ID, goneImage.ID], (id) => ["POST", "/project", { ...project, ImageID: id }]],
    "a new project's dataset": [
      [data.ID, goneData.ID],
      (id) => ["POST", "/project", { ...project, ImageID: server.imageId, TrainData: [{ ID: id }] }],
    ],
    "a project's new image": [[image.ID, goneImage.ID], (id) => ["PUT", "/project", { ID: own.ID, Image: { ID: id } }]],
    "a project's new dataset": [[data.ID, goneData.ID], (id) => ["PUT", "/project", { ID: own.ID, TrainData: [{ Data: { ID: id } }] }]],
  }
  for (const [what, [ids, request]] of Object.entries(bodies)) {
    const asking = (id: number) => {
      const [method, path, body] = request(id)
      return sendRequest(baseUrl, method, path, { as: bob, body })
    }
    const never = await asking(missingResource.id)
    assert.equal(never.status, 400, `${what}: ${never.text}`)
    const cost = await recordQueries(() => asking(missingResource.id))
    for (const id of ids) {
      assert.equal(summarize(await asking(id), { id }), summarize(never, missingResource), what)
      assert.deepEqual(await recordQueries(() => asking(id)), cost, what)
    }
  }
})

test("publishing a hidden project costs the same as publishing a missing one", async () => {
  const { id } = hidden.get("project") as Named
  for (const more of [{ IsPublic: true }, { GroupName: "nobodys" }]) {
    const asking = (ID: number) => () => sendRequest(baseUrl, "PUT", "/project", { as: bob, body: { ID, ...more } })
    assert.deepEqual(await recordQueries(asking(id)), await recordQueries(asking(missingResource.id)))
  }
})

test("hidden and missing objects get equal responses at equal cost in queries, filters and projects", async () => {
  const named: [method: string, path: string, type: ThingType][] = [
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
    ...(["image", "data", "project", "run"] as const).map((type): [string, string, ThingType] => [
      "GET",
      `/grants?${{ image: "ImageID", data: "DataID", project: "ProjectID", run: "RunID" }[type]}=`,
      type,
    ]),
  ]
  for (const [method, path, type] of named) {
    const { id } = hidden.get(type) as Named
    const asking = (ID: number) => sendRequest(baseUrl, method, `${path}${ID}`, { as: bob })
    assert.equal(summarize(await asking(id), { id }), summarize(await asking(missingResource.id), missingResource), `${method} ${path}`)
    assert.deepEqual(await recordQueries(() => asking(id)), await recordQueries(() => asking(missingResource.id)), `${method} ${path}`)
  }
})

test("the path of a hidden run is answered like that of a missing one, at the same cost", async () => {
  const { id } = hidden.get("run") as Named
  const { appsUrl } = server.server.quayside
  const asking = (ID: number) => sendRequest(appsUrl, "GET", `/run/${ID}/echo`, { as: bob })
  const [there, never] = [await asking(id), await asking(missingResource.id)]
  assert.deepEqual([there.status, there.text], [404, never.text])
  const cost = await recordQueries(() => asking(id))
  assert.ok(cost.length > 0, "grants are asked for")
  assert.deepEqual(cost, await recordQueries(() => asking(missingResource.id)))
  const lead = async (ID: number) => {
    const { status, headers } = await sendRequest(appsUrl, "GET", `/run/${ID}/echo`, {
      headers: { accept: "text/html", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate" },
    })
    return [status, String(headers.location).replace(`ID=${ID}&`, "ID=N&")]
  }
  assert.deepEqual(await lead(id), await lead(missingResource.id), "a browser is led on alike")
})

test("opening a hidden run is answered like opening a missing one, at the same cost", async () => {
  const { id } = hidden.get("run") as Named
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "bob", Password: "bob-password" } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  const opening = (ID: number) => sendRequest(baseUrl, "GET", `/open?ID=${ID}`, { headers: { cookie, accept: "text/html" } })
  const [there, never] = [await opening(id), await opening(missingResource.id)]
  assert.deepEqual([there.status, there.text], [404, never.text])
  assert.deepEqual(await recordQueries(() => opening(id)), await recordQueries(() => opening(missingResource.id)))
})
