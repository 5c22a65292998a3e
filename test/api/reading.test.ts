import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { ids, isFailure, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const bob = await server.person("bob")
const get = (path: string, as: string = ann.authorization) => sendRequest(baseUrl, "GET", path, { as })

const torch = await ann.client.createImage({ body: { Name: "torch", Image: "lab/torch:2", Comment: "with Größe", IsPublished: true } })
const tensor = await ann.client.createImage({ body: { Name: "tensor", Image: "lab/tensor", Comment: "plain" } })
const bobs = await bob.client.createImage({ body: { Name: "torch", Image: "lab/torch:3" } })
const flowers = await ann.client.createData({ body: { Name: "flowers", IsPublished: true } })
const hidden = await bob.client.createData({ body: { Name: "hidden" } })
const project = await ann.client.createProject({
  body: { ProjectName: "p", Type: "http", ImageID: torch.ID, TrainData: [{ ID: flowers.ID }], IsPublic: true },
})

test("an image, a dataset and a project are read by ID", async () => {
  assert.deepEqual((await get(`/image?ID=${torch.ID}`)).body, torch)
  assert.deepEqual((await get(`/data?ID=${flowers.ID}`)).body, flowers)
  assert.deepEqual((await get(`/project?ID=${project.ID}`)).body, project)
})

test("a single read accepts every scalar field of the structure", async () => {
  const fieldsOf = (object: object) => Object.entries(object).filter(([, value]) => ["string", "number", "boolean"].includes(typeof value))
  for (const [path, object] of [
    ["/image", torch],
    ["/project", project],
  ] as const) {
    for (const [name, value] of fieldsOf(object)) {
      const answer = await get(`${path}?ID=${object.ID}&${name === "ID" ? "" : `${name}=${encodeURIComponent(String(value))}`}`)
      assert.deepEqual([name, answer.status], [name, 200])
      assert.deepEqual(answer.body, object)
    }
  }
})

test("fields that pick exactly one object read it, several are 409 and none is 404", async () => {
  assert.equal((await get("/image?UserName=ann&Name=torch")).body.ID, torch.ID)
  assert.equal((await get("/image?Name=torch")).body.ID, torch.ID, "bob's is hidden from ann")
  const several = await get("/image?Name=torch", admin)
  assert.equal(several.status, 409)
  assert.match(String(several.body.msg), /Several images/)
  assert.equal((await get("/image?Name=none")).status, 404)
  assert.equal((await get("/project?Running=false&ProjectName=p")).body.ID, project.ID)
  assert.equal((await get("/project?Running=true&ProjectName=p")).status, 404)
})

test("hidden and missing objects get the same answer", async () => {
  const [hiddenOne, missing] = await Promise.all([get(`/image?ID=${bobs.ID}`), get("/image?ID=99999")])
  assert.deepEqual([hiddenOne.status, missing.status], [404, 404])
  assert.equal(hiddenOne.body.msg, missing.body.msg)
  assert.equal((await get(`/data?ID=${hidden.ID}`)).status, 404)
})

test("GET /data with ID alone reads one, otherwise it lists", async () => {
  assert.equal((await get(`/data?ID=${flowers.ID}`)).body.ID, flowers.ID)
  assert.deepEqual(ids(await get(`/data?ID=${flowers.ID}&UserName=ann`)), [flowers.ID])
  assert.deepEqual(ids(await get(`/data?ID=${flowers.ID}&ID=${hidden.ID}`)), [flowers.ID])
  assert.deepEqual(ids(await get("/data")), [flowers.ID])
})

test("the client reads one dataset by its ID alone, and lists for a list of IDs, also of one", async () => {
  const one: string = (await ann.client.listData({ query: { ID: flowers.ID } })).Name
  const list = async (query: { ID: number[]; pageSize?: number }) => ids(await ann.client.listData({ query }))
  assert.deepEqual(
    [one, await list({ ID: [flowers.ID] }), await list({ ID: [flowers.ID, hidden.ID] }), await list({ ID: [flowers.ID], pageSize: 1 })],
    ["flowers", [flowers.ID], [flowers.ID], [flowers.ID]],
  )
  const digest: string = (await ann.client.checkImage({ query: { ID: torch.ID } })).Digest
  assert.equal(digest, "")
})

test("lists return data, page, pageCount and pageSize, newest first", async () => {
  const { body } = await get("/images")
  assert.deepEqual(Object.keys(body), ["data", "page", "pageCount", "pageSize"])
  assert.deepEqual(ids({ body }), [tensor.ID, torch.ID])
  assert.deepEqual([body.page, body.pageCount, body.pageSize], [1, 1, 20])
})

test("a list and its counts contain only objects that the caller may see", async () => {
  assert.deepEqual(ids(await get("/images?Name=torch")), [torch.ID])
  assert.equal((await get("/images?pageSize=1")).body.pageCount, 2)
  assert.equal((await get("/images?pageSize=1", admin)).body.pageCount, 3)
  assert.equal((await get("/data", bob.authorization)).body.pageCount, 1)
  assert.deepEqual(ids(await get("/images?q=lab/torch:3")), [])
})

test("pages past the end are empty with the true pageCount, and an empty list has none", async () => {
  const past = await get("/images?page=7&pageSize=1")
  assert.deepEqual([past.status, past.body.data, past.body.page, past.body.pageCount], [200, [], 7, 2])
  const empty = await get("/images?Name=nothing")
  assert.deepEqual([empty.body.data, empty.body.pageCount], [[], 0])
})

test("pageSize is capped at 200, and the answer names the size used", async () => {
  assert.equal((await get("/images?pageSize=200")).body.pageSize, 200)
  assert.equal((await get("/images?pageSize=100000")).body.pageSize, 200)
})

test("pages of zero, negative, fractional, repeated, enormous and wordy numbers are 400 with their field", async () => {
  for (const name of ["page", "pageSize"]) {
    for (const value of ["0", "-1", "1.5", "1e3", "abc", "", "2147483648", "99999999999999999999", "1&page=2&pageSize=3"]) {
      const query = value.includes("&") ? "page=1&page=2" : `${name}=${value}`
      const answer = await get(`/images?${query}`)
      assert.equal(answer.status, 400, query)
      assert.ok(isFailure(answer) && String(answer.body.field).startsWith("page"), query)
    }
  }
  assert.equal((await get("/images?page=2147483647")).status, 200)
})

test("IsPublish selects on IsPublished and IsPublic, 1 and 0 and nothing else", async () => {
  const visible: [string, number[]][] = [
    ["/images", [tensor.ID, torch.ID]],
    ["/data", [flowers.ID]],
    ["/projects", [project.ID]],
  ]
  for (const [path, all] of visible) {
    const published = ids(await get(`${path}?IsPublish=1`))
    const others = ids(await get(`${path}?IsPublish=0`))
    assert.deepEqual(new Set([...published, ...others]), new Set<number>(all))
    assert.equal(published.length, 1)
    for (const wrong of ["2", "true", "", "01"]) assert.equal((await get(`${path}?IsPublish=${wrong}`)).body.field, "IsPublish")
  }
})

test("lists filter by UserName, and filters combine with AND", async () => {
  assert.deepEqual(ids(await get("/images?UserName=ann", admin)), [tensor.ID, torch.ID])
  assert.deepEqual(ids(await get("/images?UserName=bob", admin)), [bobs.ID])
  assert.deepEqual(ids(await get("/images?UserName=bob")), [])
  assert.deepEqual(ids(await get("/data?UserName=ann")), [flowers.ID])
  assert.deepEqual(ids(await get("/projects?UserName=ann")), [project.ID])
  assert.deepEqual(ids(await get("/images?UserName=ann&IsPublish=1&Name=torch", admin)), [torch.ID])
  assert.deepEqual(ids(await get("/images?UserName=bob&IsPublish=1", admin)), [])
})

test("lists accept several IDs, names, Type, q and sort", async () => {
  assert.deepEqual(ids(await get(`/images?ID=${torch.ID}&ID=${bobs.ID}&ID=99999`, admin)), [bobs.ID, torch.ID])
  assert.deepEqual(ids(await get(`/images?q=${encodeURIComponent("gröSSe nothing")}`, admin)), [], "every word must match")
  assert.deepEqual(ids(await get(`/images?q=${encodeURIComponent("gRÖße")}+TORCH`, admin)), [torch.ID])
  assert.deepEqual(ids(await get("/images?sort=Name", admin)), [tensor.ID, torch.ID, bobs.ID])
  assert.deepEqual(ids(await get("/images?sort=-Name", admin)).at(-1), tensor.ID)
  assert.deepEqual(ids(await get("/images?sort=ID", admin)), [torch.ID, tensor.ID, bobs.ID])
  assert.deepEqual(ids(await get("/images?sort=-CreatedAt", admin)).at(0), bobs.ID)
  assert.deepEqual(ids(await get("/projects?Type=http&ProjectName=p")), [project.ID])
  assert.deepEqual(ids(await get("/projects?Type=novnc")), [])
  assert.deepEqual(ids(await get("/data?Type=dir&Name=flowers")), [flowers.ID])
  const wrong = await get("/images?sort=Doc")
  assert.match(String(wrong.body.msg), /ID, CreatedAt, UpdatedAt, Name/)
})

test("an unknown parameter is refused with the nearest known name", async () => {
  const answer = await get("/images?Username=ann")
  assert.deepEqual([answer.status, answer.body.code, answer.body.field], [400, "invalid", "Username"])
  assert.match(String(answer.body.msg), /did you mean UserName\?/)

  assert.match(String((await get("/images?user=x")).body.msg), /did you mean UserName\?/)
  assert.match(String((await get("/images?zzzzzzzzzz=1")).body.msg), /known: ID, UserName/)
  assert.equal((await get("/whoami?x=1")).status, 400)
  assert.equal((await sendRequest(baseUrl, "POST", "/image?x=1", { as: ann.authorization, body: {} })).status, 400)
})

test("a repeated single-value parameter is refused", async () => {
  const answer = await get("/images?UserName=ann&UserName=bob")
  assert.deepEqual([answer.status, answer.body.field], [400, "UserName"])
  assert.equal((await get(`/image?ID=1&ID=2`)).status, 400)
})

test("parameter names are case-sensitive", async () => {
  assert.equal((await get(`/image?id=${torch.ID}`)).body.field, "id")
  assert.equal((await get("/images?PageSize=3")).status, 400)
})

test("a closed list's refusal names the allowed values", async () => {
  const answer = await get("/projects?Type=spyder")
  for (const type of ["jupyter", "jupyterlab", "jupyternotebook", "novnc", "vscode", "http"])
    assert.ok(String(answer.body.msg).includes(type))
  assert.match(
    String((await get("/running_projects?State=gone")).body.msg),
    /queued, pulling, creating, starting, ready, stopping, ended, failed/,
  )
})

test("IDs that are not numbers return 400, and unused ones 404", async () => {
  for (const id of ["abc", "-1", "1.0", "0x10", "", "1e2", "9007199254740993", "99999999999999999999999", "%00", "%ff", "%EF%BC%91"]) {
    const answer = await get(`/image?ID=${id}`)
    assert.equal(answer.status, 400, id)
    assert.ok(isFailure(answer))
  }
  assert.equal((await get("/image?ID=9007199254740991")).status, 404)
  assert.equal((await get("/image?ID=0")).status, 404)
})

test("a read without any field names the fields that it accepts", async () => {
  for (const path of ["/image", "/project", "/running_project", "/user", "/group"]) {
    const answer = await get(path, admin)
    assert.deepEqual([answer.status, answer.body.field], [400, "ID"], path)
  }
})

test("timestamps are RFC 3339 in UTC with milliseconds, and DeletedAt is null while nothing is deleted", async () => {
  for (const name of ["CreatedAt", "UpdatedAt"] as const) assert.match(String(torch[name]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.equal(torch.DeletedAt, null)
})

test("every signed-in user reads published objects, and members of its group read a project", async () => {
  assert.equal((await get(`/image?ID=${torch.ID}`, bob.authorization)).status, 200)
  assert.equal((await get(`/data?ID=${flowers.ID}`, bob.authorization)).status, 200)
  await server.admin.createGroup({ body: { GroupName: "lab", Members: ["ann", "bob"] } })
  const shared = await ann.client.createProject({ body: { ProjectName: "ours", Type: "http", ImageID: torch.ID, GroupName: "lab" } })
  const carl = await server.person("carl")
  assert.equal((await get(`/project?ID=${shared.ID}`, bob.authorization)).body.GroupName, "lab")
  assert.equal((await get(`/project?ID=${shared.ID}`, carl.authorization)).status, 404)
  assert.deepEqual(ids(await get("/projects?GroupName=lab", bob.authorization)), [shared.ID])
})

test("`q` may contain at most 32 different words", async () => {
  const words = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join("+")
  assert.equal((await get(`/images?q=${words(32)}+w1`)).status, 200)
  const refused = await get(`/images?q=${words(33)}`)
  assert.deepEqual([refused.status, refused.body.code, refused.body.field], [400, "invalid", "q"])
})
