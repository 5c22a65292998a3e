import assert from "node:assert/strict"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import pg from "pg"
import { basicAuth } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { ids, isFailure, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl, filesUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const bob = await server.person("bob")
await server.admin.createGroup({ body: { GroupName: "lab", Members: ["ann"] } })
await server.admin.createGroup({ body: { GroupName: "others", Members: ["bob"] } })
const call = (method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: ann.authorization, ...options })
const image = (fields: object = {}) => ann.client.createImage({ body: { Name: "i", Image: "lab/i", ...fields } })

test("an image has every field of the document", async () => {
  const created = await image()
  const fields = "ID CreatedAt UpdatedAt DeletedAt Name Image Comment Command Env Port UserName IsPublished Doc".split(" ")
  assert.deepEqual(
    fields.filter((name) => !(name in created)),
    [],
  )
})

test("a dataset has every field of the document, and no Password", async () => {
  const created = await ann.client.createData({ body: { Name: "d", Password: "secret" } })
  const fields = "ID CreatedAt UpdatedAt DeletedAt Type Name Comment Doc UserName AccessInfo IsPublished".split(" ")
  assert.deepEqual(
    fields.filter((name) => !(name in created)),
    [],
  )
  assert.ok(!("Password" in created) && !JSON.stringify(created).includes("secret"))
})

test("a project has every field of the document", async () => {
  const created = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: (await image()).ID } })
  const fields =
    "ID CreatedAt UpdatedAt DeletedAt ProjectName UserName GroupName Type Comment Doc IsPublic Image ImageID TrainData UserPath CodePath ModelPath Running"
  assert.deepEqual(
    fields.split(" ").filter((name) => !(name in created)),
    [],
  )
})

test("a project's StartMinutes is 0 to 1,440, and is copied with the project", async () => {
  const body = { ProjectName: "patient", Type: "http" as const, ImageID: (await image()).ID }
  assert.equal((await ann.client.createProject({ body })).StartMinutes, 0)
  const { body: refusal } = await call("POST", "/project", { body: { ...body, StartMinutes: 1_441 } })
  assert.deepEqual([refusal.field, refusal.msg], ["StartMinutes", "StartMinutes must be a whole number from 0 to 1440; got 1441"])
  const { ID } = await ann.client.createProject({ body: { ...body, StartMinutes: 45 } })
  assert.equal((await ann.client.readProject({ query: { ID } })).StartMinutes, 45)
  assert.equal((await ann.client.copyProject({ query: { ID } })).StartMinutes, 45)
  await ann.client.updateProject({ body: { ID, StartMinutes: 0 } })
  assert.equal((await ann.client.readProject({ query: { ID } })).StartMinutes, 0)
})

test("a project's IdleMinutes is 0 to 525,600 and MaxRunHours 0 to 8,760, and they are copied with the project", async () => {
  const body = { ProjectName: "short", Type: "http" as const, ImageID: (await image()).ID }
  const limitsOf = ({ IdleMinutes, MaxRunHours }: { IdleMinutes: number; MaxRunHours: number }) => [IdleMinutes, MaxRunHours]
  assert.deepEqual(limitsOf(await ann.client.createProject({ body })), [0, 0])
  for (const [field, max] of Object.entries({ IdleMinutes: 525_600, MaxRunHours: 8_760 }))
    for (const value of [-1, max + 1]) {
      const { status, body: refusal } = await call("POST", "/project", { body: { ...body, [field]: value } })
      assert.deepEqual([status, refusal.field, refusal.msg], [400, field, `${field} must be a whole number from 0 to ${max}; got ${value}`])
    }
  const { ID } = await ann.client.createProject({ body: { ...body, IdleMinutes: 525_600, MaxRunHours: 8_760 } })
  assert.deepEqual(limitsOf(await ann.client.copyProject({ query: { ID } })), [525_600, 8_760])
  await ann.client.updateProject({ body: { ID, IdleMinutes: 30 } })
  assert.deepEqual(limitsOf(await ann.client.readProject({ query: { ID } })), [30, 8_760])
})

test("publishing a project whose image or dataset others may not use warns with the names of visible parts", async () => {
  const own = await image()
  const rows = await ann.client.createData({ body: { Name: "rows" } })
  const parts = { Type: "http" as const, ImageID: own.ID, TrainData: [{ ID: rows.ID }] }
  const created = await ann.client.createProject({ body: { ProjectName: "p", ...parts } })
  assert.equal(created.Warnings, undefined)
  const published = await ann.client.updateProject({ body: { ID: created.ID, IsPublic: true } })
  assert.deepEqual(published.Warnings, [
    `The image, ${JSON.stringify(own.Name)}, is not shared with other people: their starts fail`,
    `The dataset ${rows.ID}, "rows", is not shared with other people: their starts fail`,
  ])
  assert.equal((await ann.client.readProject({ query: { ID: created.ID } })).Warnings, undefined, "they are never stored")
  const back = await call("PUT", "/project", { body: published })
  assert.deepEqual([back.status, back.body.Warnings], [200, published.Warnings])
  await server.acquaint(ann, bob)
  await ann.client.createGrant({ body: { ProjectID: created.ID, UserName: "bob", Access: "write" } })
  const { Warnings } = await bob.client.updateProject({ body: { ID: created.ID, Comment: "by bob" } })
  assert.deepEqual(Warnings, [
    "The image is not shared with other people: their starts fail",
    `The dataset ${rows.ID} is not shared with other people: their starts fail`,
  ])
  await ann.client.updateImage({ body: { ID: own.ID, IsPublished: true } })
  await ann.client.updateData({ body: { ID: rows.ID, IsPublished: true } })
  assert.equal((await ann.client.updateProject({ body: { ID: created.ID, Comment: "x" } })).Warnings, undefined)
})

test("a project that is published to a group warns unless the group has grants for its parts", async () => {
  const own = await image()
  const { GroupName: team } = await server.admin.createGroup({ body: { GroupName: "readers", Members: ["ann", "bob"] } })
  const parts = { Type: "http" as const, ImageID: own.ID, GroupName: team }
  const created = await ann.client.createProject({ body: { ProjectName: "p", ...parts } })
  assert.match(created.Warnings?.[0] ?? "", /not shared with members of readers/)
  await ann.client.createGrant({ body: { ImageID: own.ID, GroupName: team, Access: "read" } })
  assert.equal((await ann.client.updateProject({ body: { ID: created.ID, Comment: "a" } })).Warnings?.length, 1)
  await ann.client.createGrant({ body: { ImageID: own.ID, GroupName: team, Access: "use" } })
  assert.equal((await ann.client.updateProject({ body: { ID: created.ID, Comment: "b" } })).Warnings, undefined)
})

test("creation answers 200 with the whole object, and a new ID whatever the body says", async () => {
  const first = await call("POST", "/image", { body: { ID: 77_777, Name: "a", Image: "b" } })
  assert.equal(first.status, 200)
  assert.notEqual(first.body.ID, 77_777)
  const second = await call("POST", "/image", { body: { ID: first.body.ID, Name: "a", Image: "b" } })
  assert.equal(Number(second.body.ID), Number(first.body.ID) + 1)
  assert.equal((await call("POST", "/image", { body: { ID: "what", CreatedAt: 5, Name: "a", Image: "b" } })).status, 200)
})

test("POST and PUT ignore times and computed fields", async () => {
  const { body } = await call("POST", "/image", {
    body: { Name: "a", Image: "b", CreatedAt: "1999-01-01T00:00:00.000Z", DeletedAt: "1999-01-01T00:00:00.000Z" },
  })
  assert.notEqual(String(body.CreatedAt).slice(0, 4), "1999")
  assert.equal(body.DeletedAt, null)
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: body.ID, Running: true } })
  assert.equal(project.Running, false)
  const changed = await ann.client.updateProject({ body: { ID: project.ID, Running: true, UpdatedAt: null, DeletedAt: 1 } })
  assert.deepEqual([changed.Running, changed.DeletedAt], [false, null])
})

test("PUT names its object by ID and keeps absent fields", async () => {
  const created = await image({ Comment: "c", Doc: "# d", Env: "A=1" })
  const changed = await ann.client.updateImage({ body: { ID: created.ID, Name: "new" } })
  assert.deepEqual({ ...changed, UpdatedAt: created.UpdatedAt }, { ...created, Name: "new" })
  assert.equal((await call("PUT", "/image", { body: { Name: "x" } })).body.field, "ID")
  assert.equal((await call("PUT", "/image", { body: { ID: String(created.ID), Name: "x" } })).body.field, "ID")
  assert.equal((await call("PUT", "/image", { body: { ID: 99_999, Name: "x" } })).status, 404)
  assert.equal((await call("PUT", "/image", { as: bob.authorization, body: { ID: created.ID, Name: "x" } })).status, 404)
})

test("every resource returns Comment and Doc unchanged", async () => {
  const texts = { Comment: "short ☃", Doc: "# Title\n\n| a | b |\n|---|---|\n\u{1F600}" }
  const created = await image(texts)
  const data = await ann.client.createData({ body: { Name: "d", ...texts } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: created.ID, ...texts } })
  for (const { Comment, Doc } of [created, data, project]) assert.deepEqual({ Comment, Doc }, texts)
})

test("a refusal names the missing field: Name and Image, Name, ProjectName, Type and image", async () => {
  const full = {
    image: { Name: "a", Image: "b" },
    data: { Name: "a" },
    project: { ProjectName: "a", Type: "http", ImageID: (await image()).ID },
  }
  for (const [path, body] of Object.entries(full)) {
    for (const name of Object.keys(body)) {
      const { [name as keyof typeof body]: _left, ...rest } = body
      const answer = await call("POST", `/${path}`, { body: rest })
      assert.deepEqual([answer.status, answer.body.field], [400, name === "ImageID" ? "Image" : name], path)
      if (!/Name|^Image$/.test(name)) continue
      const blank = await call("POST", `/${path}`, { body: { ...rest, [name]: " \t" } })
      assert.deepEqual([blank.status, blank.body.field], [400, name], `${path}: blank is nothing`)
    }
    assert.equal((await call("POST", `/${path}`, { body })).status, 200)
  }
  assert.equal((await ann.client.createData({ body: { Name: "a" } })).Type, "dir")
})

test("names need not be unique", async () => {
  assert.notEqual((await image({ Name: "same" })).ID, (await image({ Name: "same" })).ID)
})

test("UserName defaults to the caller, and naming somebody else is for administrators", async () => {
  assert.equal((await image()).UserName, "ann")
  const answer = await call("POST", "/image", { body: { Name: "a", Image: "b", UserName: "bob" } })
  assert.deepEqual([answer.status, answer.body.field], [403, "UserName"])
  const created = await server.admin.createImage({ body: { Name: "a", Image: "b", UserName: "bob" } })
  assert.equal(created.UserName, "bob")
  const transferred = await server.admin.updateImage({ body: { ID: created.ID, UserName: "ann" } })
  assert.equal(transferred.UserName, "ann")
  const own = await image()
  assert.equal((await call("PUT", "/image", { body: { ID: own.ID, UserName: "bob" } })).status, 403)
  assert.equal((await call("POST", "/image", { as: admin, body: { Name: "a", Image: "b", UserName: "nobody" } })).status, 400)
})

test("GroupName must be a group of the caller's, without telling which exist", async () => {
  const body = { ProjectName: "p", Type: "http", ImageID: (await image()).ID }
  assert.equal((await ann.client.createProject({ body: { ...body, GroupName: "lab" } })).GroupName, "lab")
  const [foreign, missing] = await Promise.all([
    call("POST", "/project", { body: { ...body, GroupName: "others" } }),
    call("POST", "/project", { body: { ...body, GroupName: "missin" } }),
  ])
  assert.deepEqual([foreign.status, foreign.body.field, missing.status], [400, "GroupName", 400])
  assert.equal(String(foreign.body.msg).replace("others", ""), String(missing.body.msg).replace("missin", ""))
  assert.equal((await server.admin.createProject({ body: { ...body, GroupName: "others" } })).GroupName, "others")
  const missed = await call("POST", "/project", { as: admin, body: { ...body, GroupName: "missing" } })
  assert.deepEqual([missed.status, missed.body.msg], [400, 'GroupName must be a group that exists; got "missing"'])
})

test("a wrong JSON type is refused with its field and nothing is converted", async () => {
  const { ID } = await image()
  const bodies = {
    image: {
      Name: "a",
      Image: "b",
      Comment: "",
      Command: "",
      Env: "",
      Port: "",
      UserName: "ann",
      IsPublished: false,
      IsTrusted: false,
      WritablePaths: [],
      KeepPresent: false,
      Doc: "",
    },
    data: { Name: "a", Type: "dir", Comment: "", Doc: "", UserName: "ann", AccessInfo: "", IsPublished: false },
    project: {
      ProjectName: "p",
      Type: "http",
      ImageID: ID,
      Image: { ID },
      TrainData: [],
      UserName: "ann",
      GroupName: "",
      Comment: "",
      Doc: "",
      IsPublic: false,
      IsTrusted: false,
      UserPath: "",
      CodePath: "",
      ModelPath: "",
      StartMinutes: 0,
    },
    running_project: { ProjectID: 1, Project: { ID: 1 }, UserName: "ann", Nodes: 1, Cpus: 1, Memory: 1, Gpus: 1, GpuMemory: 1 },
    user: { UserName: "x1", Password: "long enough", Email: "", Comment: "", IsAdmin: false, IsDisabled: false, Limits: {} },
    group: { GroupName: "x2", Comment: "", Members: [], Limits: {}, TotalLimits: {} },
    token: { Name: "a", ExpiresAt: null, Scopes: ["read"] },
    session: { UserName: "ann", Password: "x" },
  }
  const values = [null, 5, -1, 1.5, "5", "text", true, [], [5], {}, { ID: "5" }, [[]], [null]]
  const typeOf = (value: unknown) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value)
  for (const [path, body] of Object.entries(bodies)) {
    for (const [name, right] of Object.entries(body)) {
      for (const value of values) {
        if (typeOf(value) === typeOf(right)) continue
        const answer = await call("POST", `/${path}`, { as: admin, body: { ...body, [name]: value } })
        assert.deepEqual([path, name, value, answer.status, answer.body.field], [path, name, value, 400, name])
      }
    }
  }
})

test("lengths: names 200 characters, Comment 2,000, Doc 256 KiB", async () => {
  for (const [name, maxLength] of [
    ["Name", 200],
    ["Comment", 2_000],
    ["Doc", 256 * 1024],
  ] as const) {
    assert.equal((await call("POST", "/image", { body: { Name: "a", Image: "b", [name]: "x".repeat(maxLength) } })).status, 200)
    const answer = await call("POST", "/image", { body: { Name: "a", Image: "b", [name]: "x".repeat(maxLength + 1) } })
    assert.deepEqual([answer.status, answer.body.field], [400, name])
  }
  assert.equal((await image({ Name: "\u{1F600}".repeat(200) })).Name.length, 400, "characters are counted, not halves of them")
  assert.equal((await call("POST", "/token", { body: { Name: "\u{1F600}".repeat(200) } })).status, 200)
  const longer = await call("POST", "/image", { body: { Name: "\u{1F600}".repeat(201), Image: "b" } })
  assert.match(String(longer.body.msg), /got 201$/)
  const half = 128 * 1024
  assert.equal((await image({ Doc: "é".repeat(half) })).Doc.length, half)
  const wide = await call("POST", "/image", { body: { Name: "a", Image: "b", Doc: `${"é".repeat(half)}x` } })
  assert.deepEqual([wide.status, wide.body.field], [400, "Doc"])
  assert.match(String(wide.body.msg), /at most 262,144 bytes in UTF-8; got 262,145$/)
})

/** Every character that texts must not contain, as a JSON escape. */
const controls = [...Array(0x20).keys(), 0x7f, ...Array.from({ length: 0x20 }, (_, i) => 0x80 + i)]
  .filter((code) => ![0x09, 0x0a, 0x0d].includes(code))
  .map((code) => `\\u${code.toString(16).padStart(4, "0")}`)

test("texts reject control characters except tabs and line ends, and lone surrogates", async () => {
  for (const bad of ["\\ud800", "\\udfff", "a\\udc00\\ud800", ...controls]) {
    for (const name of ["Name", "Comment", "Doc", "Command", "Env"]) {
      const answer = await call("POST", "/image", { body: `{"Image":"b","Name":"a","${name}":"x${bad}y"}` })
      assert.deepEqual([bad, name, answer.status, answer.body.field], [bad, name, 400, name])
    }
  }
  assert.equal((await image({ Doc: "a\tb\nc\r\nd \u00a0\u{1F600}" })).Doc, "a\tb\nc\r\nd \u00a0\u{1F600}")
})

test("names reject characters that change the direction of text, which other texts may have", async () => {
  for (const bad of ["\u061c", "\u200e", "\u200f", "\u202a", "\u202e", "\u2066", "\u2069"]) {
    for (const [path, field] of Object.entries({ "/image": "Name", "/data": "Name", "/project": "ProjectName", "/token": "Name" })) {
      const others = { "/image": { Image: "b" }, "/project": { Type: "http" } }[path]
      const answer = await call("POST", path, { body: { [field]: `x${bad}y`, ...others } })
      assert.deepEqual([bad, path, answer.status, answer.body.field], [bad, path, 400, field])
    }
  }
  assert.equal((await image({ Name: "שלום", Comment: "a\u202eb" })).Comment, "a\u202eb")
})

test("control characters are refused in every text of every body, and in queries", async () => {
  const bad = "x\u0085y"
  const bodies: [method: string, path: string, field: string, body: object][] = [
    ["POST", "/data", "Name", { Name: bad }],
    ["POST", "/data", "AccessInfo", { Name: "a", AccessInfo: `/users/ann/${bad}` }],
    ["POST", "/token", "Name", { Name: bad }],
    ["POST", "/project", "UserPath", { ProjectName: "a", Type: "http", UserPath: `/${bad}` }],
    ["POST", "/grant", "GroupName", { ProjectID: 1, GroupName: bad, Access: "read" }],
  ]
  for (const [method, path, field, body] of bodies) {
    const answer = await call(method, path, { body })
    assert.deepEqual([path, answer.status, answer.body.field], [path, 400, field])
  }
  const { ID: imageId } = await image({})
  const { ID } = (await call("POST", "/data", { body: { Name: "a" } })).body
  const linked = { ProjectName: "a", Type: "http", ImageID: imageId, TrainData: [{ ID, MountPath: `/work/${bad}` }] }
  const nested = await call("POST", "/project", { body: linked })
  assert.deepEqual([nested.status, nested.body.field], [400, "TrainData"])
  for (const path of ["/images?Name=a%01", "/projects?q=%C2%85", "/image?Comment=%7F", "/images?UserName=%1B"])
    assert.deepEqual([path, (await call("GET", path)).status], [path, 400])
})

/** Writes a row to the database like an earlier version. */
async function storeAsBefore(table: string, id: number, column: string, value: string): Promise<void> {
  if (server.databaseUrl !== undefined) {
    const client = new pg.Client({ connectionString: server.databaseUrl })
    await client.connect()
    await client.query(`update ${table} set ${column} = $1 where ${table === "project_datasets" ? "project_id" : "id"} = $2`, [value, id])
    return client.end()
  }
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
  db.prepare(`update ${table} set ${column} = ? where ${table === "project_datasets" ? "project_id" : "id"} = ?`).run(value, id)
}

test("control characters that were stored before they were refused are read, and accepted back unchanged", async () => {
  const old = "old\u0007text"
  const { ID: id } = await image({})
  for (const column of ["name", "comment", "doc"]) await storeAsBefore("images", id, column, old)
  const read = (await call("GET", `/image?ID=${id}`)).body
  assert.deepEqual([read.Name, read.Comment, read.Doc], [old, old, old])
  assert.equal((await call("PUT", "/image", { body: read })).status, 200)
  const changed = await call("PUT", "/image", { body: { ...read, Doc: `${old}!` } })
  assert.deepEqual([changed.status, changed.body.field], [400, "Doc"])
  assert.equal((await call("PUT", "/image", { body: { ...read, Doc: "new" } })).body.Doc, "new")
})

test("a mount place with a control character that was stored before is accepted back unchanged", async () => {
  const { ID: ImageID } = await image({})
  const { ID } = (await call("POST", "/data", { body: { Name: "a" } })).body
  const created = (await call("POST", "/project", { body: { ProjectName: "a", Type: "http", ImageID, TrainData: [{ ID }] } })).body
  await storeAsBefore("project_datasets", Number(created.ID), "mount_path", "/work/\u0085x")
  const read = (await call("GET", `/project?ID=${created.ID}`)).body
  assert.equal((await call("PUT", "/project", { body: read })).status, 200)
  const other = await call("PUT", "/project", { body: { ID: created.ID, TrainData: [{ ID, MountPath: "/work/\u0085y" }] } })
  assert.deepEqual([other.status, other.body.field], [400, "TrainData"])
})

test("unknown body fields are ignored, __proto__ included", async () => {
  const answer = await call("POST", "/image", {
    body: '{"Name":"a","Image":"b","__proto__":{"IsTrusted":true,"Comment":"polluted"},"constructor":1,"toString":2,"What":[]}',
  })
  assert.deepEqual([answer.status, answer.body.Comment, answer.body.IsTrusted], [200, "", false])
  assert.equal(Object.keys(Object.prototype).length, 0)
})

test("of duplicate keys the last counts", async () => {
  assert.equal((await call("POST", "/image", { body: '{"Name":"first","Image":"b","Name":"last"}' })).body.Name, "last")
})

test("single reads, POST and PUT return an ETag, which If-Match on PUT and DELETE must match", async () => {
  const response = await call("POST", "/image", { body: { Name: "a", Image: "b" } })
  const { etag } = response.headers as { etag: string }
  const read = await call("GET", `/image?ID=${response.body.ID}`)
  assert.equal(read.headers.etag, etag)
  const changed = await call("PUT", "/image", { body: { ID: response.body.ID, Name: "c" }, headers: { "if-match": etag } })
  assert.equal(changed.status, 200)
  assert.notEqual(changed.headers.etag, etag)
  for (const [method, path, body] of [
    ["PUT", "/image", { ID: response.body.ID }],
    ["DELETE", `/image?ID=${response.body.ID}`, undefined],
  ] as const) {
    const stale = await call(method, path, { ...(body ? { body } : {}), headers: { "if-match": etag } })
    assert.deepEqual([stale.status, stale.body.code, stale.headers.etag], [412, "stale", changed.headers.etag])
    assert.equal((await call(method, path, { ...(body ? { body } : {}), headers: { "if-match": "nonsense" } })).status, 400)
    const weak = await call(method, path, { ...(body ? { body } : {}), headers: { "if-match": `W/${changed.headers.etag}` } })
    assert.equal(weak.status, 412, "a weak tag never matches")
  }
  const put = async (ifMatch: string) =>
    (await call("PUT", "/image", { body: { ID: response.body.ID }, headers: { "if-match": ifMatch } })).status
  assert.deepEqual([await put('"a,b"'), await put('"x",, "y",'), await put('"x" "y"'), await put(",")], [412, 412, 400, 400])
  const { etag: last } = (await call("GET", `/image?ID=${response.body.ID}`)).headers
  assert.equal((await call("DELETE", `/image?ID=${response.body.ID}`, { headers: { "if-match": `"x",, "a,b", ${last}` } })).status, 200)
})

test("every response is `no-store`, and If-None-Match is ignored", async () => {
  const response = await call("POST", "/image", { body: { Name: "a", Image: "b" } })
  const repeated = await call("GET", `/image?ID=${response.body.ID}`, { headers: { "if-none-match": String(response.headers.etag) } })
  assert.deepEqual([repeated.status, repeated.headers["cache-control"]], [200, "no-store"])
  for (const path of ["/images", "/nothing", "/healthz", "/openapi.json"])
    assert.equal((await call("GET", path)).headers["cache-control"], "no-store", path)
})

test("deletion is soft: reads and lists no longer show it, owner and administrator restore it", async () => {
  const created = await image({ IsPublished: true })
  const path = `/image?ID=${created.ID}`
  assert.deepEqual((await call("DELETE", path)).body, { ok: true })
  assert.equal((await call("GET", path)).status, 404)
  assert.equal((await call("DELETE", path)).status, 404)
  assert.equal((await call("PUT", "/image", { body: { ID: created.ID, Name: "x" } })).status, 404)
  assert.ok(!ids(await call("GET", "/images")).includes(created.ID))
  const bin = await call("GET", "/images?Deleted=1")
  assert.deepEqual(ids(bin), [created.ID, ...ids(bin).slice(1)])
  assert.deepEqual(ids(await call("GET", "/images?Deleted=1", { as: bob.authorization })), [])
  assert.ok(ids(await call("GET", "/images?Deleted=1", { as: admin })).includes(created.ID))
  const restore = (as: string) => call("POST", `/image/restore?ID=${created.ID}`, { as })
  assert.equal((await restore(bob.authorization)).status, 404)
  const restored = await restore(ann.authorization)
  assert.deepEqual([restored.status, restored.body.DeletedAt, restored.body.IsPublished], [200, null, true])
  assert.equal((await restore(bob.authorization)).status, 403, "bob sees it again, and may not")
  await call("DELETE", path)
  assert.equal((await restore(admin)).status, 200)
  assert.equal((await call("DELETE", "/image")).body.field, "ID")
})

test("datasets and projects are deleted and restored the same way", async () => {
  const data = await ann.client.createData({ body: { Name: "bin" } })
  const project = await ann.client.createProject({ body: { ProjectName: "bin", Type: "http", ImageID: (await image()).ID } })
  for (const [kind, plural, made] of [
    ["data", "data", data],
    ["project", "projects", project],
  ] as const) {
    assert.deepEqual((await call("DELETE", `/${kind}?ID=${made.ID}`)).body, { ok: true })
    assert.equal((await call("GET", `/${kind}?ID=${made.ID}`)).status, 404)
    assert.deepEqual(ids(await call("GET", `/${plural}?Deleted=1`)), [made.ID])
    assert.equal((await call("POST", `/${kind}/restore?ID=${made.ID}`)).body.DeletedAt, null)
  }
})

test("a change of a visible object without the right returns 403", async () => {
  const created = await image({ IsPublished: true })
  assert.equal((await call("PUT", "/image", { as: bob.authorization, body: { ID: created.ID, Name: "x" } })).status, 403)
  assert.equal((await call("DELETE", `/image?ID=${created.ID}`, { as: bob.authorization })).status, 403)
  assert.equal((await call("PUT", "/image", { as: admin, body: { ID: created.ID, Name: "x" } })).status, 200)
  const trusted = await call("PUT", "/image", { body: { ID: created.ID, IsTrusted: true } })
  assert.deepEqual([trusted.status, trusted.body.field], [403, "IsTrusted"])
})

test("only administrators set `WritablePaths`, and another reference from the owner removes them", async () => {
  const created = await image({ Image: "fake/http" })
  const paths = async () => (await call("GET", `/image?ID=${created.ID}`)).body.WritablePaths
  const put = (body: object, as?: string) => call("PUT", "/image", { body: { ID: created.ID, ...body }, ...(as ? { as } : {}) })
  const refused = await put({ WritablePaths: ["/run"] })
  assert.deepEqual([refused.status, refused.body.field], [403, "WritablePaths"])
  assert.equal((await call("POST", "/image", { body: { Name: "a", Image: "b", WritablePaths: ["/"] } })).status, 403)
  for (const wrong of ["/run", ["run"], ["/proc/x"], ["/etc"], ["/a/../b"], [1], Array(17).fill("/a"), [`/${"a".repeat(1_024)}`]]) {
    const answer = await put({ WritablePaths: wrong }, admin)
    assert.deepEqual([answer.status, answer.body.field], [400, "WritablePaths"], JSON.stringify(wrong))
  }
  assert.equal((await put({ WritablePaths: ["/run/", "/var/log/nginx", "/run", "/"] }, admin)).status, 200)
  assert.deepEqual(await paths(), ["/run", "/var/log/nginx", "/"])
  const { body: whole } = await call("GET", `/image?ID=${created.ID}`)
  assert.equal((await put({ ...whole, Comment: "sent back" })).status, 200)
  assert.equal((await put({ Image: "fake/http", Command: "x" })).status, 200)
  assert.deepEqual(await paths(), ["/run", "/var/log/nginx", "/"])
  assert.equal((await put({ Image: "fake/http:2" }, admin)).status, 200)
  assert.deepEqual(await paths(), ["/run", "/var/log/nginx", "/"])
  assert.equal((await put({ Image: "fake/http:3" })).status, 200)
  assert.deepEqual(await paths(), [])
})

test("only administrators set `KeepPresent`, and another reference from the owner ends it", async () => {
  const created = await image({ Image: "fake/http" })
  const put = (body: object, as?: string) => call("PUT", "/image", { body: { ID: created.ID, ...body }, ...(as ? { as } : {}) })
  const refused = await put({ KeepPresent: true })
  assert.deepEqual([refused.status, refused.body.field], [403, "KeepPresent"])
  assert.equal((await call("POST", "/image", { body: { Name: "a", Image: "b", KeepPresent: true } })).status, 403)
  assert.equal((await put({ KeepPresent: true }, admin)).body.KeepPresent, true)
  assert.equal((await put({ Comment: "x", KeepPresent: true })).body.KeepPresent, true)
  assert.equal((await put({ Image: "fake/http:2" }, admin)).body.KeepPresent, true)
  assert.equal((await put({ Image: "fake/http:3" })).body.KeepPresent, false)
})

test("a refused change leaves nothing behind", async () => {
  const before = (await ann.client.listImages({ query: { pageSize: 1 } })).pageCount
  await call("POST", "/image", { body: { Name: "a", Image: "NOT AN IMAGE" } })
  await call("POST", "/image", { body: { Name: "a", Image: "b", UserName: "bob" } })
  assert.equal((await ann.client.listImages({ query: { pageSize: 1 } })).pageCount, before)
  const data = await ann.client.createData({ body: { Name: "stays" } })
  const answer = await call("PUT", "/data", { body: { ID: data.ID, Name: "changed", AccessInfo: "/users/bob/x" } })
  assert.deepEqual([answer.status, answer.body.field], [400, "AccessInfo"])
  assert.deepEqual(await ann.client.listData({ query: { ID: data.ID } }), data)
})

test("a new dataset's directory is named after it, with a suffix if the name exists, and is served at the files address", async () => {
  const [first, second] = [
    await ann.client.createData({ body: { Name: "Müll & Co" } }),
    await ann.client.createData({ body: { Name: "Müll & Co" } }),
  ]
  assert.match(String((first as unknown as { AccessInfo: string }).AccessInfo), /^\/users\/ann\/datasets\/mull-co$/)
  assert.match(String((second as unknown as { AccessInfo: string }).AccessInfo), /^\/users\/ann\/datasets\/mull-co-2$/)
  const put = await sendRequest(filesUrl, "PUT", "/users/ann/datasets/mull-co/a%20file.txt", { as: ann.authorization, body: "hello" })
  assert.equal(put.status, 201)
  assert.equal((await sendRequest(filesUrl, "GET", "/users/ann/datasets/mull-co/a%20file.txt", { as: ann.authorization })).text, "hello")
})

test("AccessInfo: people strictly below their home and not in its projects, administrators anywhere but / and /users", async () => {
  const post = (AccessInfo: string, as = ann.authorization) => call("POST", "/data", { as, body: { Name: "d", AccessInfo } })
  for (const bad of [
    "/users/ann",
    "/users/ann/",
    "/users/ann/projects",
    "/users/ann/projects/1/code",
    "/users/bob/x",
    "/users/annette/x",
    "/data",
    "/",
    "/users",
    "relative",
    "/users/ann/../bob/x",
    "/users/ann/./x",
    "/users/ann//x",
    "/users/ann/a\nb",
    `/users/ann/${"n".repeat(256)}`,
  ]) {
    const answer = await post(bad)
    assert.deepEqual([bad, answer.status, answer.body.field], [bad, 400, "AccessInfo"])
  }
  for (const bad of ["/", "/users", "/users/", "/a/../b"]) assert.equal((await post(bad, admin)).body.field, "AccessInfo")
  assert.equal((await post("/users/ann/work/deep/")).body.AccessInfo, "/users/ann/work/deep")
  assert.equal((await post("/shared/corpus", admin)).status, 200)
})

test("datasets share or contain each other's directories only while the same people have the same rights", async () => {
  const post = (body: object, as = ann.authorization) => call("POST", "/data", { as, body: { Name: "d", ...body } })
  const outer = (await post({ AccessInfo: "/users/ann/tree" })).body
  const inner = (await post({ AccessInfo: "/users/ann/tree/leaf" })).body
  assert.equal((await post({ AccessInfo: "/users/ann/tree", IsPublished: true })).status, 409)
  assert.equal((await post({ AccessInfo: "/users/ann/tree/leaf/deeper", UserName: "bob" }, admin)).status, 409)
  const publish = await call("PUT", "/data", { body: { ID: inner.ID, IsPublished: true } })
  assert.deepEqual([publish.status, publish.body.code, publish.body.field], [409, "conflict", "AccessInfo"])
  await call("DELETE", `/data?ID=${inner.ID}`)
  assert.equal((await call("PUT", "/data", { body: { ID: outer.ID, IsPublished: true } })).status, 200)
  assert.equal((await call("POST", `/data/restore?ID=${inner.ID}`)).status, 409)
  assert.equal((await call("PUT", "/data", { body: { ID: (await post({})).body.ID, AccessInfo: "/users/ann/tree/x" } })).status, 409)
})

test("a failure carries ok, msg, code, where it helps field, and the request's ID", async () => {
  const answer = await call("POST", "/image", { body: { Name: "a", Image: "B" }, headers: { "x-request-id": "my-own.id_1" } })
  assert.deepEqual(Object.keys(answer.body), ["ok", "msg", "code", "field", "requestId"])
  assert.deepEqual([answer.body.ok, answer.body.code, answer.body.field, answer.body.requestId], [false, "invalid", "Image", "my-own.id_1"])
  assert.equal(answer.headers["x-request-id"], "my-own.id_1")
  const other = await call("GET", "/nothing", { headers: { "x-request-id": "no spaces please" } })
  assert.ok(isFailure(other))
  assert.notEqual(other.body.requestId, "no spaces please")
})

test("homes are made with their people only, not by a directory of their name", async () => {
  const response = await fetch(`${server.quayside.filesUrl}/users/nobody-yet/`, { method: "MKCOL", headers: { authorization: admin } })
  assert.equal(response.status, 403)
  const own = await fetch(`${server.quayside.filesUrl}/users/admin/notes/`, { method: "MKCOL", headers: { authorization: admin } })
  assert.equal(own.status, 201)
})
