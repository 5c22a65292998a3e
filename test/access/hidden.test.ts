import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type OperationId, operationIds } from "#contract"
import { type Answer, ask } from "../api/asking.ts"
import { queriesOf } from "../fixtures/queries.ts"
import { expectations, type Named, standings, type ThingType } from "./expectations.ts"
import { nobodys, requestFor, told } from "./requests.ts"
import { openStage, scenarios } from "./stage.ts"

/**
 * For bob these are hidden: one live thing of each type, that nobody but its owner and
 * administrators see.
 */
const stage = await openStage()
after(() => stage[Symbol.asyncDispose]())
const { baseUrl } = stage.world.quayside
const bob = stage.people.bob.authorization

const hidden = new Map<ThingType, Named>()
for (const scenario of scenarios) {
  if (scenario.standing.bob === "other" && !scenario.isDeleted && !hidden.has(scenario.type))
    hidden.set(scenario.type, await scenario.make(stage))
}
hidden.set("user", { id: (await stage.world.admin.readUser({ query: { UserName: "ann" } })).ID })

const cases = operationIds.flatMap((operation): { operation: OperationId; thing: Named }[] => {
  const expectation = expectations[operation]
  if (expectation?.is !== "on") return []
  const cell = expectation.live[(standings[expectation.type] as readonly string[]).indexOf("other")]
  const thing = hidden.get(expectation.type)
  assert.ok(thing, `a hidden ${expectation.type} is needed`)
  assert.ok(cell === "--" || cell === "xx", operation)
  return [{ operation, thing }]
})

/** What an asker could add, hoping that the answer tells a hidden thing from none. */
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

function attempt(operation: OperationId, thing: Named, what: string): Promise<Answer> {
  const { headers, body: more, query, method: other } = attempts[what] as (typeof attempts)[string]
  const { method, path, body } = requestFor(operation, thing)
  const target = query === undefined ? path : `${path}${path.includes("?") ? "&" : "?"}${query}`
  const whole = body && more ? { ...body, ...more } : body
  return ask(baseUrl, other ?? method, target, { as: bob, body: whole, headers: headers?.(thing) ?? {} })
}

for (const what of Object.keys(attempts)) {
  test(`a hidden thing and none are answered alike by every operation, with ${what}`, async () => {
    for (const { operation, thing } of cases) {
      const [there, never] = [await attempt(operation, thing, what), await attempt(operation, nobodys, what)]
      assert.equal(told(there, thing), told(never, nobodys), operation)
      if (what === "nothing more") assert.notEqual(there.status, 200, operation)
    }
  })
}

test("a hidden thing and none cost the same queries at every operation, so that time tells no more than words", async () => {
  const wrong: string[] = []
  for (const { operation, thing } of cases) {
    const there = await queriesOf(() => attempt(operation, thing, "nothing more"))
    const never = await queriesOf(() => attempt(operation, nobodys, "nothing more"))
    if (there.join("\n") !== never.join("\n"))
      wrong.push(`${operation}: ${there.length} and ${never.length}\n${there.join("\n")}\n--\n${never.join("\n")}`)
  }
  assert.deepEqual(wrong, [])
})

test("a body that names what is hidden, missing or deleted is refused in the same words and at the same cost", async () => {
  const { ann } = stage.people
  const image = await ann.client.createImage({ body: { Name: "x", Image: "fake/http" } })
  const data = await ann.client.createData({ body: { Name: "x" } })
  const [goneImage, goneData] = [
    await ann.client.createImage({ body: { Name: "x", Image: "fake/http", IsPublished: true } }),
    await ann.client.createData({ body: { Name: "y", IsPublished: true } }),
  ]
  await ann.client.deleteImage({ query: { ID: goneImage.ID } })
  await ann.client.deleteData({ query: { ID: goneData.ID } })
  const own = await stage.people.bob.client.createProject({ body: { ProjectName: "own", Type: "http", ImageID: stage.imageId } })
  const project = { ProjectName: "p", Type: "http" }
  const bodies: Record<string, [ids: number[], (id: number) => [method: string, path: string, body: object]]> = {
    "a new project's image": [[image.ID, goneImage.ID], (id) => ["POST", "/project", { ...project, ImageID: id }]],
    "a new project's dataset": [
      [data.ID, goneData.ID],
      (id) => ["POST", "/project", { ...project, ImageID: stage.imageId, TrainData: [{ ID: id }] }],
    ],
    "a project's new image": [[image.ID, goneImage.ID], (id) => ["PUT", "/project", { ID: own.ID, Image: { ID: id } }]],
    "a project's new dataset": [[data.ID, goneData.ID], (id) => ["PUT", "/project", { ID: own.ID, TrainData: [{ Data: { ID: id } }] }]],
  }
  for (const [what, [ids, request]] of Object.entries(bodies)) {
    const asking = (id: number) => {
      const [method, path, body] = request(id)
      return ask(baseUrl, method, path, { as: bob, body })
    }
    const never = await asking(nobodys.id)
    assert.equal(never.status, 400, `${what}: ${never.text}`)
    const cost = await queriesOf(() => asking(nobodys.id))
    for (const id of ids) {
      assert.equal(told(await asking(id), { id }), told(never, nobodys), what)
      assert.deepEqual(await queriesOf(() => asking(id)), cost, what)
    }
  }
})

test("publishing a project that is hidden costs what publishing none does", async () => {
  const { id } = hidden.get("project") as Named
  for (const more of [{ IsPublic: true }, { GroupName: "nobodys" }]) {
    const asking = (ID: number) => () => ask(baseUrl, "PUT", "/project", { as: bob, body: { ID, ...more } })
    assert.deepEqual(await queriesOf(asking(id)), await queriesOf(asking(nobodys.id)))
  }
})

test("what is named in a query, a filter or by its project is answered alike, at the same cost, hidden or none", async () => {
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
    const asking = (ID: number) => ask(baseUrl, method, `${path}${ID}`, { as: bob })
    assert.equal(told(await asking(id), { id }), told(await asking(nobodys.id), nobodys), `${method} ${path}`)
    assert.deepEqual(await queriesOf(() => asking(id)), await queriesOf(() => asking(nobodys.id)), `${method} ${path}`)
  }
})

test("a run's path that is hidden is answered as none is, at the same cost", async () => {
  const { id } = hidden.get("run") as Named
  const { appsUrl } = stage.world.quayside
  const asking = (ID: number) => ask(appsUrl, "GET", `/run/${ID}/echo`, { as: bob })
  const [there, never] = [await asking(id), await asking(nobodys.id)]
  assert.deepEqual([there.status, there.text], [404, never.text])
  const cost = await queriesOf(() => asking(id))
  assert.ok(cost.length > 0, "grants are asked for")
  assert.deepEqual(cost, await queriesOf(() => asking(nobodys.id)))
  const lead = async (ID: number) => {
    const { status, headers } = await ask(appsUrl, "GET", `/run/${ID}/echo`, {
      headers: { accept: "text/html", "sec-fetch-dest": "document", "sec-fetch-mode": "navigate" },
    })
    return [status, String(headers.location).replace(`ID=${ID}&`, "ID=N&")]
  }
  assert.deepEqual(await lead(id), await lead(nobodys.id), "a browser is led on alike")
})

test("opening a run that is hidden costs what opening none does, and is answered alike", async () => {
  const { id } = hidden.get("run") as Named
  const signedIn = await ask(baseUrl, "POST", "/session", { body: { UserName: "bob", Password: "bob-password" } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  const opening = (ID: number) => ask(baseUrl, "GET", `/open?ID=${ID}`, { headers: { cookie, accept: "text/html" } })
  const [there, never] = [await opening(id), await opening(nobodys.id)]
  assert.deepEqual([there.status, there.text], [404, never.text])
  assert.deepEqual(await queriesOf(() => opening(id)), await queriesOf(() => opening(nobodys.id)))
})
