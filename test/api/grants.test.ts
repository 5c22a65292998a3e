import assert from "node:assert/strict"
import { once } from "node:events"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, test } from "node:test"
import { WebSocket } from "ws"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { withSoonExpiring } from "../fixtures/expiry.ts"
import { adminPassword, type Person, startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { ids, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl, filesUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const [ann, bob, eve] = [await server.person("ann"), await server.person("bob"), await server.person("eve")]
const team = await server.admin.createGroup({ body: { GroupName: "team", Members: ["ann", "bob"] } })
await server.admin.createGroup({ body: { GroupName: "foreign", Members: ["eve"] } })
await server.acquaint(ann, bob, eve)
await server.person("dora")

const call = (who: Person | string, method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: typeof who === "string" ? who : who.authorization, ...options })
const grant = (who: Person | string, body: object) => call(who, "POST", "/grant", { body })
const status = async (who: Person | string, method: string, path: string, body?: object) =>
  (await call(who, method, path, body ? { body } : {})).status
const deleteGrant = (who: Person | string, query: string) => call(who, "DELETE", `/grant?${query}`)
const newImage = (fields: object = {}) => ann.client.createImage({ body: { Name: "web", Image: "fake/http", ...fields } })
const newProject = (imageId: number, fields: object = {}) =>
  ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: imageId, ...fields } })
const isListed = async (who: Person, path: string, id: number) => ids(await call(who, "GET", path)).includes(id)

test("a grant makes a resource visible to one person, in reads and lists, until it is revoked", async () => {
  const image = await newImage()
  assert.deepEqual([await status(bob, "GET", `/image?ID=${image.ID}`), await isListed(bob, "/images", image.ID)], [404, false])
  const { body, headers, status: code } = await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read" })
  assert.equal(code, 200)
  assert.ok(headers.etag)
  const { ID, CreatedAt, UpdatedAt, ...rest } = body
  assert.ok(Number(ID) > 0 && String(CreatedAt) === String(UpdatedAt))
  const nothing = { ImageID: 0, DataID: 0, ProjectID: 0, RunID: 0, UserName: "", GroupName: "", Until: null }
  assert.deepEqual(rest, { ...nothing, ImageID: image.ID, UserName: "bob", Access: "read" })
  assert.deepEqual([await status(bob, "GET", `/image?ID=${image.ID}`), await isListed(bob, "/images", image.ID)], [200, true])
  assert.deepEqual(
    [await status(bob, "GET", "/image?UserName=ann&IsPublished=0"), await isListed(bob, "/images?q=web", image.ID)],
    [200, true],
  )
  assert.deepEqual([await status(eve, "GET", `/image?ID=${image.ID}`), await isListed(eve, "/images", image.ID)], [404, false])
  const { body: page } = await call(bob, "GET", "/images?pageSize=1")
  assert.equal(page.pageCount, 1)
  assert.deepEqual((await deleteGrant(ann, `ID=${ID}`)).body, { ok: true })
  assert.deepEqual([await status(bob, "GET", `/image?ID=${image.ID}`), await isListed(bob, "/images", image.ID)], [404, false])
  assert.equal((await call(bob, "GET", "/images")).body.pageCount, 0)
})

test("`read`, `use` and `write` grant the rights of the policy's table on images and projects", async () => {
  const image = await newImage()
  const project = await newProject(image.ID)
  const change = { ID: project.ID, Comment: "x" }
  for (const [Access, wanted] of [
    ["read", [200, 403, 403, 403, 403, 403]],
    ["use", [200, 409, 403, 403, 403, 403]],
    ["write", [200, 409, 200, 403, 403, 403]],
  ] as const) {
    await grant(ann, { ProjectID: project.ID, UserName: "bob", Access })
    assert.deepEqual(
      [
        await status(bob, "GET", `/project?ID=${project.ID}`),
        await status(bob, "POST", "/running_project", { ProjectID: project.ID }),
        await status(bob, "PUT", "/project", change),
        await status(bob, "PUT", "/project", { ID: project.ID, IsPublic: true }),
        await status(bob, "DELETE", `/project?ID=${project.ID}`),
        (await grant(bob, { ProjectID: project.ID, UserName: "eve", Access: "read" })).status,
      ],
      wanted,
      Access,
    )
  }
  assert.deepEqual((await call(bob, "GET", `/project?ID=${project.ID}`)).body.Image, { ID: image.ID }, "the image was not granted")
  await grant(ann, { ImageID: image.ID, GroupName: "team", Access: "use" })
  assert.equal((await call(bob, "GET", `/project?ID=${project.ID}`)).body.Image?.Name, "web")
  assert.equal(await status(bob, "POST", "/running_project", { ProjectID: project.ID }), 200)
  assert.equal(await status(bob, "PUT", "/image", { ID: image.ID, Comment: "x" }), 403)
  assert.equal(await status(bob, "DELETE", `/running_project?ProjectID=${project.ID}`), 200)
})

test("a write grant does not allow taking ownership", async () => {
  const image = await newImage()
  const project = await newProject(image.ID)
  await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "write" })
  await grant(ann, { ProjectID: project.ID, UserName: "bob", Access: "write" })
  for (const UserName of ["bob", "eve", "nobody"]) {
    for (const [path, ID] of [["/image", image.ID] as const, ["/project", project.ID] as const]) {
      const { status: code, body } = await call(bob, "PUT", path, { body: { ID, UserName } })
      assert.deepEqual([code, body.field], [403, "UserName"], `${path} ${UserName}`)
    }
  }
  assert.equal((await call(bob, "PUT", "/image", { body: { ID: image.ID, UserName: "ann", Comment: "y" } })).body.Comment, "y")
})

test("a group's grant applies to its members, and ends with the membership or the group", async () => {
  const image = await newImage()
  const { body } = await grant(ann, { ImageID: image.ID, GroupName: "team", Access: "use" })
  assert.deepEqual([body.GroupName, body.UserName], ["team", ""])
  const seen = async () => [await status(bob, "GET", `/image?ID=${image.ID}`), await isListed(bob, "/images", image.ID)]
  assert.deepEqual(await seen(), [200, true])
  assert.equal(await isListed(bob, "/grants", Number(body.ID)), true)
  await server.admin.updateGroup({ body: { ID: team.ID, Members: ["ann"] } })
  assert.deepEqual(await seen(), [404, false])
  assert.equal(await isListed(bob, "/grants", Number(body.ID)), false)
  await server.admin.updateGroup({ body: { ID: team.ID, Members: ["ann", "bob"] } })
  assert.deepEqual(await seen(), [200, true])
  const short = await server.admin.createGroup({ body: { GroupName: "short", Members: ["bob"] } })
  await grant(admin, { ImageID: image.ID, GroupName: "short", Access: "write" })
  assert.equal(await status(bob, "PUT", "/image", { ID: image.ID, Comment: "x" }), 200)
  await server.admin.deleteGroup({ query: { ID: short.ID } })
  assert.equal(await status(bob, "PUT", "/image", { ID: image.ID, Comment: "x" }), 403)
  assert.deepEqual(ids(await call(ann, "GET", `/grants?ImageID=${image.ID}`)), [Number(body.ID)], "a deleted group's grants are deleted")
})

test("a second grant of the same object to the same grantee replaces the first", async () => {
  const image = await newImage()
  const first = (await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "write" })).body
  const Until = new Date(Date.now() + 3_600_000).toISOString()
  const second = (await grant(ann, { ...first, Access: "read", Until })).body
  assert.deepEqual([second.ID, second.Access, second.Until], [first.ID, "read", Until])
  assert.equal((await call(ann, "GET", `/grants?ImageID=${image.ID}`)).body.pageCount, 1)
  assert.equal(await status(bob, "PUT", "/image", { ID: image.ID, Comment: "x" }), 403)
})

test("an invalid grant returns 400 with its field, and a hidden or missing object returns the same 404", async () => {
  const image = await newImage()
  const good = { ImageID: image.ID, UserName: "bob", Access: "read" }
  for (const [change, field] of [
    [{ ImageID: 0 }, "ImageID"],
    [{ DataID: 1 }, "DataID"],
    [{ UserName: "" }, "UserName"],
    [{ GroupName: "team" }, "UserName"],
    [{ UserName: "nobody" }, "UserName"],
    [{ UserName: "ann" }, "UserName"],
    [{ UserName: "", GroupName: "foreign" }, "GroupName"],
    [{ UserName: "", GroupName: "none" }, "GroupName"],
    [{ Access: "own" }, "Access"],
    [{ Access: undefined }, "Access"],
    [{ Until: "2020-01-01T00:00:00Z" }, "Until"],
    [{ Until: "soon" }, "Until"],
    [{ ImageID: "1" }, "ImageID"],
  ] as const) {
    const { status: code, body } = await grant(ann, { ...good, ...change })
    assert.deepEqual([code, body.code, body.field], [400, "invalid", field], JSON.stringify(change))
  }
  const [foreign, none] = [
    await grant(ann, { ...good, UserName: "", GroupName: "foreign" }),
    await grant(ann, { ...good, UserName: "", GroupName: "none" }),
  ]
  assert.equal(String(foreign.body.msg).replace("foreign", "none"), String(none.body.msg))
  const outcomes = []
  for (const ID of [image.ID, 999_999]) {
    for (const UserName of ["ann", "nobody"]) {
      const { status: code, body } = await grant(eve, { ImageID: ID, UserName, Access: "read" })
      outcomes.push([code, body.code, body.msg])
    }
  }
  assert.deepEqual([outcomes[0]?.[0], new Set(outcomes.map(String)).size], [404, 1])
  await server.admin.deleteImage({ query: { ID: image.ID } })
  assert.equal((await grant(ann, good)).status, 404, "a deleted thing is granted to nobody")
})

test("owner, grantee and administrators list a grant; owner and administrators revoke it", async () => {
  const image = await newImage()
  const created = (await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read" })).body
  const shown = async (who: Person | string, query = "") => ids(await call(who, "GET", `/grants?ImageID=${image.ID}${query}`))
  assert.deepEqual(
    [await shown(ann), await shown(bob), await shown(eve), await shown(admin)],
    [[created.ID], [created.ID], [], [created.ID]],
  )
  assert.equal((await call(eve, "GET", "/grants")).body.pageCount, 0)
  assert.deepEqual([await shown(ann, "&Access=write"), await shown(ann, "&UserName=bob&Access=read")], [[], [created.ID]])
  assert.deepEqual([await shown(ann, "&UserName="), await shown(ann, "&GroupName=")], [[], [created.ID]])
  assert.deepEqual([await shown(ann, "&DataID=1"), await shown(ann, `&ID=${created.ID}`)], [[], [created.ID]])
  const refusals = [
    await deleteGrant(bob, `ID=${created.ID}`),
    await deleteGrant(eve, `ID=${created.ID}`),
    await deleteGrant(eve, "ID=999999"),
  ]
  assert.deepEqual(
    refusals.map((each) => each.status),
    [403, 404, 404],
  )
  assert.equal(refusals[1]?.body.msg?.toString(), refusals[2]?.body.msg?.toString())
  await grant(ann, { ImageID: image.ID, GroupName: "team", Access: "read" })
  assert.deepEqual([(await deleteGrant(ann, `ImageID=${image.ID}`)).status, (await deleteGrant(ann, "")).status], [409, 400])
  assert.equal((await call(ann, "DELETE", `/grant?ID=${created.ID}`, { headers: { "if-match": '"1-99"' } })).status, 412)
  assert.equal((await deleteGrant(ann, `ImageID=${image.ID}&UserName=bob`)).status, 200)
  assert.equal((await deleteGrant(admin, `ImageID=${image.ID}`)).status, 200)
  assert.deepEqual(await shown(admin), [])
})

test("a grant can be found and withdrawn by all the fields of its answer", async () => {
  const image = await newImage()
  const { body } = await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read" })
  const { ImageID, DataID, ProjectID, RunID, UserName, GroupName, Access } = body
  const query = new URLSearchParams(
    Object.entries({ ImageID, DataID, ProjectID, RunID, UserName, GroupName, Access }).map(([name, value]) => [name, String(value)]),
  ).toString()
  assert.deepEqual(ids(await call(ann, "GET", `/grants?${query}`)), [Number(body.ID)])
  assert.deepEqual(ids(await call(ann, "GET", `/grants?ImageID=${image.ID}&DataID=1`)), [])
  for (const method of ["GET /grants", "DELETE /grant"]) {
    const [verb = "", path] = method.split(" ")
    const { status: code, body: refusal } = await call(ann, verb, `${path}?RunID=0&UserName=bob`)
    assert.deepEqual([code, refusal.code, refusal.field], [400, "invalid", "RunID"])
  }
  assert.equal((await deleteGrant(ann, query)).status, 200)
  assert.deepEqual(ids(await call(ann, "GET", `/grants?ImageID=${image.ID}`)), [])
})

test("grants on a deleted object are suspended, and apply again once it is restored", async () => {
  const image = await newImage()
  const { body } = await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read" })
  await ann.client.deleteImage({ query: { ID: image.ID } })
  for (const who of [ann, bob, admin]) assert.deepEqual(ids(await call(who, "GET", `/grants?ImageID=${image.ID}`)), [])
  assert.deepEqual([await status(bob, "GET", `/image?ID=${image.ID}`), await isListed(bob, "/images", image.ID)], [404, false])
  assert.deepEqual(
    [(await deleteGrant(ann, `ID=${body.ID}`)).status, await status(bob, "POST", `/image/restore?ID=${image.ID}`)],
    [404, 404],
  )
  await ann.client.restoreImage({ query: { ID: image.ID } })
  assert.deepEqual([await status(bob, "GET", `/image?ID=${image.ID}`), await isListed(bob, "/grants", Number(body.ID))], [200, true])
})

test("an expired grant has no effect on reads, lists and the list of grants", async () => {
  const image = await newImage()
  const { body } = await withSoonExpiring(async (Until) => {
    const response = await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read", Until })
    assert.equal(await status(bob, "GET", `/image?ID=${image.ID}`), 200)
    return response
  })
  await eventually("it is hidden", async () => (await status(bob, "GET", `/image?ID=${image.ID}`)) === 404)
  assert.ok(Date.now() >= Date.parse(String(body.Until)))
  assert.deepEqual([await isListed(bob, "/images", image.ID), await isListed(ann, "/grants", Number(body.ID))], [false, false])
  assert.equal((await deleteGrant(ann, `ID=${body.ID}`)).status, 404)
})

test("a dataset's grants apply to files and mounts: `read` and `use` read, `write` writes; revocation ends them at once", async () => {
  const data = await ann.client.createData({ body: { Name: "table" } })
  await writeFile(join(server.dataDir, "files", data.AccessInfo, "a.txt"), "hello")
  const file = `${data.AccessInfo}/a.txt`
  const get = async (who: Person) => (await sendRequest(filesUrl, "GET", file, { as: who.authorization })).status
  const put = async (who: Person) =>
    (await sendRequest(filesUrl, "PUT", `${data.AccessInfo}/b.txt`, { as: who.authorization, body: "x" })).status
  const image = await newImage({ IsPublished: true })
  const project = await newProject(image.ID, { TrainData: [{ ID: data.ID }], IsPublic: true })
  const start = () => call(bob, "POST", "/running_project", { body: { ProjectID: project.ID } })
  assert.deepEqual([await get(bob), await put(bob), (await start()).body.code], [404, 404, "data_unavailable"])
  for (const Access of ["read", "use"]) {
    await grant(ann, { DataID: data.ID, UserName: "bob", Access })
    assert.deepEqual([await get(bob), await put(bob), await get(eve)], [200, 403, 404], Access)
    assert.equal(await status(bob, "PUT", "/data", { ID: data.ID, Comment: "x" }), 403)
  }
  assert.equal((await start()).status, 200)
  await status(bob, "DELETE", `/running_project?ProjectID=${project.ID}`)
  await grant(ann, { DataID: data.ID, UserName: "bob", Access: "write" })
  assert.deepEqual([await get(bob), await put(bob)], [200, 201])
  assert.equal(await status(bob, "PUT", "/data", { ID: data.ID, Comment: "x" }), 403, "write is about files")
  assert.equal((await call(bob, "GET", `/project?ID=${project.ID}`)).body.TrainData?.["0"]?.Data?.Name, "table")
  await deleteGrant(ann, `DataID=${data.ID}`)
  assert.deepEqual([await get(bob), await put(bob), (await start()).body.code], [404, 404, "data_unavailable"])
  assert.deepEqual((await call(bob, "GET", `/project?ID=${project.ID}`)).body.TrainData?.["0"]?.Data, { ID: data.ID })
})

test("a grant that affects other people's rights on a shared directory returns 409", async () => {
  const one = await ann.client.createData({ body: { Name: "one" } })
  const inside = await ann.client.createData({ body: { Name: "two", AccessInfo: `${one.AccessInfo}/inner` } })
  const refused = await grant(ann, { DataID: inside.ID, UserName: "bob", Access: "read" })
  assert.deepEqual([refused.status, refused.body.code], [409, "conflict"])
  assert.deepEqual(ids(await call(ann, "GET", `/grants?DataID=${inside.ID}`)), [])
  const alone = await ann.client.createData({ body: { Name: "alone" } })
  await grant(ann, { DataID: alone.ID, UserName: "bob", Access: "read" })
  assert.equal(await status(ann, "POST", "/data", { Name: "beside", AccessInfo: alone.AccessInfo }), 409)
  assert.equal(await status(ann, "PUT", "/data", { ID: one.ID, AccessInfo: alone.AccessInfo }), 409)
  await ann.client.deleteData({ query: { ID: inside.ID } })
  assert.equal((await grant(ann, { DataID: one.ID, UserName: "bob", Access: "read" })).status, 200)
  assert.equal(await status(ann, "POST", `/data/restore?ID=${inside.ID}`), 409)
})

test("on a run: read sees its state, use opens its URL, write reads logs and stops it; the project's grants do not count", async () => {
  const image = await newImage({ IsPublished: true })
  const project = await newProject(image.ID)
  await grant(ann, { ProjectID: project.ID, UserName: "eve", Access: "write" })
  const { body: run } = await call(ann, "POST", "/running_project", { body: { ProjectID: project.ID } })
  const url = String(run.URL)
  const path = `/running_project?ID=${run.ID}`
  const rights = async (who: Person | string) => {
    const { status: code, body } = await call(who, "GET", path)
    const as = typeof who === "string" ? who : who.authorization
    return [
      code,
      body.URL === undefined ? "none" : String(body.URL) !== "",
      await status(who, "GET", `/running_project/logs?ID=${run.ID}`),
      (await sendRequest(url, "GET", new URL(url).pathname, { as })).status === 200,
    ]
  }
  assert.deepEqual(await rights(bob), [404, "none", 404, false])
  assert.deepEqual(await rights(eve), [404, "none", 404, false], "a grant on the project is none on the run")
  assert.deepEqual(await rights(admin), [200, false, 403, false])
  for (const [Access, wanted] of [
    ["read", [200, false, 403, false]],
    ["use", [200, true, 403, true]],
    ["write", [200, true, 200, true]],
  ] as const) {
    assert.equal((await grant(ann, { RunID: run.ID, UserName: "bob", Access })).status, 200)
    assert.deepEqual(await rights(bob), wanted, Access)
    assert.equal(await isListed(bob, "/running_projects", Number(run.ID)), true)
    if (Access !== "write") assert.equal(await status(bob, "DELETE", path), 403)
  }
  assert.deepEqual((await call(bob, "GET", path)).body.Project, { ID: project.ID }, "the project itself was not granted")
  assert.equal((await grant(admin, { RunID: run.ID, UserName: "admin", Access: "use" })).status, 200)
  assert.deepEqual(await rights(admin), [200, true, 403, true])
  const audit = (await call(admin, "GET", "/audit?UserName=admin&Action=grant.created")).body.data
  assert.deepEqual(audit?.["0"]?.Thing, { Type: "run", ID: run.ID })
  assert.equal(await status(bob, "DELETE", path), 200)
  assert.deepEqual((await call(ann, "GET", path)).body.Reason, {
    code: "stopped_by_user",
    msg: "bob, who was given the right to, stopped the run",
    hint: "Start it again when you need it",
  })
  assert.equal(await isListed(bob, "/running_projects?State=ended", Number(run.ID)), true)
  assert.equal(await isListed(eve, "/running_projects?State=ended", Number(run.ID)), false)
})

test("read-only tokens change no grants, and tokens for a run's address open only granted runs", async () => {
  const image = await newImage({ IsPublished: true })
  const project = await newProject(image.ID)
  const { body: run } = await call(ann, "POST", "/running_project", { body: { ProjectID: project.ID } })
  const reader = `Bearer ${(await ann.client.createToken({ body: { Name: "r", Scopes: ["read"] } })).Token}`
  const narrow = `Bearer ${(await bob.client.createToken({ body: { Name: "n", Scopes: [`run:${run.ID}`] } })).Token}`
  // Open connections are closed when the right ends.
  const open = () =>
    sendRequest(String(run.URL), "GET", new URL(String(run.URL)).pathname, { as: narrow }).then(
      (answer) => answer.status,
      () => 0,
    )
  assert.notEqual(await open(), 200)
  const created = (await grant(ann, { RunID: run.ID, UserName: "bob", Access: "use" })).body
  assert.equal(await open(), 200)
  assert.deepEqual(
    [
      (await grant(reader, { RunID: run.ID, UserName: "eve", Access: "use" })).status,
      (await deleteGrant(reader, `ID=${created.ID}`)).status,
    ],
    [403, 403],
  )
  assert.deepEqual([await status(narrow, "GET", "/grants"), await status(reader, "GET", "/grants")], [403, 200])
  await deleteGrant(ann, `ID=${created.ID}`)
  await eventually("it is closed", async () => (await open()) !== 200)
  await status(ann, "DELETE", `/running_project?ID=${run.ID}`)
})

test("withdrawal or expiry of a run's grant closes sockets and followed logs", async () => {
  const image = await newImage({ IsPublished: true })
  const project = await newProject(image.ID)
  const run = await ann.client.startRun({ body: { ProjectID: project.ID } })
  const open = async (Until: string | null) => {
    const { body } = await grant(ann, { RunID: run.ID, UserName: "bob", Access: "write", Until })
    const headers = { authorization: bob.authorization }
    const socket = new WebSocket(run.URL.replace("http:", "ws:"), { headers })
    const closed = { socket: false, logs: false }
    socket.once("close", () => {
      closed.socket = true
    })
    await once(socket, "open")
    const logs = await fetch(`${baseUrl}/running_project/logs?ID=${run.ID}&follow=1`, { headers })
    assert.equal(logs.status, 200)
    const ended = () => {
      closed.logs = true
    }
    logs.text().then(ended, ended)
    return { id: body.ID, cut: () => closed.socket && closed.logs }
  }
  const occupied = await open(null)
  await deleteGrant(ann, `ID=${occupied.id}`)
  await eventually("all is cut", occupied.cut)
  const ending = await withSoonExpiring(open, 1_000)
  await eventually("all is cut", ending.cut, 20_000)
  assert.equal(await status(ann, "GET", `/running_project?ID=${run.ID}`), 200)
  await ann.client.stopRun({ query: { ID: run.ID } })
})

test("a grantee receives events when access begins and ends; owner and administrators receive the grant's", async () => {
  const image = await newImage()
  await using bobsEvents = await recordEvents(bob.client)
  await using evesEvents = await recordEvents(eve.client)
  await using annsEvents = await recordEvents(ann.client)
  const { body } = await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read" })
  await bobsEvents.until(`image.updated ${image.ID}`)
  await bobsEvents.until(`grant.created ${body.ID}`)
  await annsEvents.until(`grant.created ${body.ID}`)
  await ann.client.updateImage({ body: { ID: image.ID, Comment: "new" } })
  await ann.client.deleteImage({ query: { ID: image.ID } })
  await bobsEvents.until(`image.deleted ${image.ID}`)
  await ann.client.restoreImage({ query: { ID: image.ID } })
  await bobsEvents.through(`image.restored ${image.ID}`)
  await deleteGrant(ann, `ID=${body.ID}`)
  await bobsEvents.until(`grant.deleted ${body.ID}`)
  const deletedPerson = await bobsEvents.until(`image.deleted ${image.ID}`)
  assert.deepEqual(deletedPerson.data, { ID: image.ID })
  await withSoonExpiring(async (Until) => {
    await grant(ann, { ImageID: image.ID, GroupName: "team", Access: "read", Until })
    await bobsEvents.through(`image.updated ${image.ID}`)
  }, 1_000)
  await bobsEvents.until(`image.deleted ${image.ID}`)
  const mark = await newImage({ IsPublished: true })
  await evesEvents.until(`image.created ${mark.ID}`)
  assert.deepEqual(evesEvents.received, [`image.created ${mark.ID}`])
})

test("people without rights cannot learn that an object, a grant or a share exists", async () => {
  const image = await newImage({ Name: "needle" })
  const data = await ann.client.createData({ body: { Name: "needle" } })
  await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "write" })
  const created = (await grant(ann, { DataID: data.ID, GroupName: "team", Access: "read" })).body
  for (const query of [
    `ImageID=${image.ID}`,
    `DataID=${data.ID}`,
    `ID=${created.ID}`,
    "UserName=bob",
    "GroupName=team",
    "Access=write&UserName=ann",
  ]) {
    const { body } = await call(eve, "GET", `/grants?${query}`)
    assert.deepEqual([body.data, body.pageCount], [[], 0], query)
  }
  const [hidden, missing] = await Promise.all([image.ID, 999_999].map((ID) => deleteGrant(eve, `ImageID=${ID}`)))
  assert.deepEqual([hidden?.status, hidden?.body.msg], [404, missing?.body.msg])
  for (const path of [
    "/images?q=needle",
    "/data?q=needle",
    "/images?Name=needle",
    "/images?UserName=ann&IsPublish=0",
    "/images?sort=Name&IsPublish=0",
  ]) {
    const { body } = await call(eve, "GET", path)
    assert.deepEqual([body.data, body.pageCount], [[], 0], path)
  }
  assert.equal((await call(bob, "GET", "/images?Name=needle&pageSize=1")).body.pageCount, 1)
  const seen = await sendRequest(filesUrl, "PROPFIND", "/users/ann/datasets", { as: eve.authorization, headers: { depth: "1" } })
  assert.equal(seen.status, 404)
  const way = await sendRequest(filesUrl, "PROPFIND", "/users/ann/datasets", { as: bob.authorization, headers: { depth: "1" } })
  assert.ok(way.status === 207 && way.text.includes("needle"))
})

test("a name outside the caller's groups is answered as an unknown one, except to administrators", async () => {
  const image = await newImage()
  const answerTo = async (who: Person | string, UserName: string) => {
    const { status: code, body } = await grant(who, { ImageID: image.ID, UserName, Access: "read" })
    return JSON.stringify([code, body.code, body.field, String(body.msg).replace(`"${UserName}"`, "X")])
  }
  const deletedPerson = await server.person("gone")
  const { ID } = await server.admin.readUser({ query: { UserName: "gone" } })
  await server.acquaint(ann, deletedPerson)
  await server.admin.deleteUser({ query: { ID } })
  const nobodys = await answerTo(ann, "nobody")
  assert.match(nobodys, /^\[400,"invalid","UserName"/)
  for (const name of ["dora", "admin", "gone"]) assert.equal(await answerTo(ann, name), nobodys, name)
  assert.equal((await grant(ann, { ImageID: image.ID, UserName: "bob", Access: "read" })).status, 200)
  assert.equal((await grant(admin, { ImageID: image.ID, UserName: "dora", Access: "read" })).status, 200)
  assert.match(await answerTo(admin, "nobody"), /^\[400,"invalid","UserName"/)
})

test("no answer reveals to an ordinary person whether a user name exists", async () => {
  const [image, dyra] = [await newImage(), await server.person("dyra")]
  const probes = (name: string): [method: string, url: string, body?: object | string][] => [
    ["GET", `${baseUrl}/user?UserName=${name}`],
    ["GET", `${baseUrl}/users?UserName=${name}`],
    ["GET", `${baseUrl}/images?UserName=${name}`],
    ["GET", `${baseUrl}/image?UserName=${name}`],
    ["GET", `${baseUrl}/grants?UserName=${name}`],
    ["GET", `${baseUrl}/running_projects?UserName=${name}`],
    ["POST", `${baseUrl}/group`, { GroupName: "q", Members: [name] }],
    ["PUT", `${baseUrl}/group`, { ID: team.ID, Members: [name] }],
    ["POST", `${baseUrl}/user`, { UserName: name }],
    ["POST", `${baseUrl}/image`, { Name: "i", Image: "fake/http", UserName: name }],
    ["PUT", `${baseUrl}/image`, { ID: image.ID, UserName: name }],
    ["POST", `${baseUrl}/data`, { Name: "d", AccessInfo: `/users/${name}/d` }],
    ["POST", `${baseUrl}/running_project`, { ProjectID: 999_999, UserName: name }],
    ["POST", `${baseUrl}/session`, { UserName: name, Password: "wrong" }],
    ...["GET", "HEAD", "OPTIONS", "PROPFIND", "PUT", "DELETE", "MKCOL"].map((method): [string, string] => [
      method,
      `${filesUrl}/users/${name}/a.txt`,
    ]),
    ["PROPFIND", `${filesUrl}/users/${name}`],
    ["MKCOL", `${filesUrl}/users/${name}`],
  ]
  const [known, unknown] = [probes(dyra.userName), probes("dira")]
  for (const [i, [method, url, body]] of known.entries()) {
    const answer = async (to: string, values: object | string | undefined) => {
      const outcomes = await sendRequest(url.startsWith(filesUrl) ? filesUrl : baseUrl, method, to, {
        as: ann.authorization,
        ...(values ? { body: values } : {}),
      })
      const { requestId: _, ...rest } = outcomes.body
      return JSON.stringify([outcomes.status, rest]).replaceAll(/d[yi]ra/g, "X")
    }
    const [, otherUrl = "", otherBody] = unknown[i] ?? []
    const path = (whole: string) => whole.slice((whole.startsWith(filesUrl) ? filesUrl : baseUrl).length)
    assert.equal(await answer(path(url), body), await answer(path(otherUrl), otherBody), `${method} ${url}`)
  }
})

test("deletion removes a person's grants, and a disabled person's apply again once they are enabled", async () => {
  const [ghost, image] = [await server.person("ghost"), await newImage()]
  const { ID } = await server.admin.readUser({ query: { UserName: "ghost" } })
  await server.acquaint(ann, ghost)
  await grant(ann, { ImageID: image.ID, UserName: "ghost", Access: "read" })
  await server.admin.updateUser({ body: { ID, IsDisabled: true } })
  assert.equal(await status(ghost, "GET", `/image?ID=${image.ID}`), 401)
  await server.admin.updateUser({ body: { ID, IsDisabled: false } })
  assert.equal(await status(basicAuth("ghost", "ghost-password"), "GET", `/image?ID=${image.ID}`), 200)
  await server.admin.deleteUser({ query: { ID } })
  assert.deepEqual(ids(await call(ann, "GET", `/grants?ImageID=${image.ID}`)), [])
  const repeated = await grant(ann, { ImageID: image.ID, UserName: "ghost", Access: "read" })
  assert.deepEqual([repeated.status, repeated.body.field], [400, "UserName"])
})
