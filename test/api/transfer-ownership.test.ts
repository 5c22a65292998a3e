import assert from "node:assert/strict"
import { access, link, mkdir, readFile, rename, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { adminPassword, type Person, startTestServer } from "../test-server.ts"
import { ids, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const admin = basicAuth("admin", adminPassword)
const [ann, bob, eve] = [await server.person("ann"), await server.person("bob"), await server.person("eve")]
await server.acquaint(ann, bob, eve)
const call = (who: Person | string, method: string, path: string, options: SendOptions = {}) =>
  sendRequest(server.quayside.baseUrl, method, path, { as: typeof who === "string" ? who : who.authorization, ...options })
const put = (who: Person | string, path: string, body: object) => call(who, "PUT", path, { body })
const onDisk = (path: string) => join(server.dataDir, "files", path)
const exists = (path: string) =>
  access(onDisk(path)).then(
    () => true,
    () => false,
  )
const file = async (who: Person, path: string) =>
  (await sendRequest(server.quayside.filesUrl, "GET", path, { as: who.authorization })).status

async function newData(fields: object = {}) {
  const data = await ann.client.createData({ body: { Name: "table", ...fields } })
  await writeFile(onDisk(`${data.AccessInfo}/a.txt`), "hello")
  return data
}

test("only an administrator transfers an image, a project or a dataset", async () => {
  const image = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const data = await newData()
  for (const [path, list, ID] of [
    ["/image", "/images", image.ID] as const,
    ["/project", "/projects", project.ID] as const,
    ["/data", "/data", data.ID] as const,
  ]) {
    const refused = await put(ann, path, { ID, UserName: "bob" })
    assert.deepEqual([refused.status, refused.body.field], [403, "UserName"], path)
    assert.deepEqual([(await put(admin, path, { ID, UserName: "nobody" })).body.field], ["UserName"])
    const transferred = await put(admin, path, { ID, UserName: "bob" })
    assert.deepEqual([transferred.status, transferred.body.UserName], [200, "bob"], path)
    assert.deepEqual([(await call(ann, "GET", `${path}?ID=${ID}`)).status, (await call(bob, "GET", `${path}?ID=${ID}`)).status], [404, 200])
    assert.deepEqual([ids(await call(ann, "GET", `${list}?UserName=ann`)), ids(await call(bob, "GET", `${list}?UserName=bob`))], [[], [ID]])
  }
})

test("a transferred dataset's directory moves to its new owner's home, with a suffix if the name exists", async () => {
  await mkdir(onDisk("/users/bob/datasets/moving"), { recursive: true })
  const data = await newData({ Name: "moving" })
  const from = data.AccessInfo
  const { body: transferred } = await put(admin, "/data", { ID: data.ID, UserName: "bob", Comment: "moved" })
  const to = String(transferred.AccessInfo)
  assert.deepEqual([to, transferred.Comment], ["/users/bob/datasets/moving-2", "moved"])
  assert.deepEqual([await readFile(onDisk(`${to}/a.txt`), "utf8"), await exists(from)], ["hello", false])
  assert.deepEqual([await file(ann, `${to}/a.txt`), await file(bob, `${to}/a.txt`)], [404, 200])
})

test("a hard link in the former owner's home does not lead to the transferred file", async () => {
  const data = await newData({ Name: "linked" })
  const linkedPath = onDisk("/users/ann/kept.txt")
  await link(onDisk(`${data.AccessInfo}/a.txt`), linkedPath)
  const { body: transferred } = await put(admin, "/data", { ID: data.ID, UserName: "bob" })
  await writeFile(linkedPath, "planted")
  const file = onDisk(`${transferred.AccessInfo}/a.txt`)
  assert.deepEqual([await readFile(file, "utf8"), (await stat(file)).nlink], ["hello", 1])
})

test("a dataset that is nested too deeply to scan cannot be transferred", async () => {
  const data = await newData({ Name: "deep" })
  await mkdir(onDisk(`${data.AccessInfo}/${"d/".repeat(102)}`), { recursive: true })
  const refused = await put(admin, "/data", { ID: data.ID, UserName: "bob" })
  assert.deepEqual([refused.status, refused.body.code, await exists(`${data.AccessInfo}/a.txt`)], [409, "conflict", true])
})

test("a dataset that a run can write to cannot be transferred; one that runs only read can", async () => {
  const [data, bystander] = [await newData({ Name: "held" }), await newData({ Name: "beside" })]
  const image = await ann.client.createImage({ body: { Name: "i", Image: "fake/http", IsPublished: true } })
  const fields = { Type: "http", ImageID: image.ID, TrainData: [{ ID: data.ID }] } as const
  await ann.client.createGrant({ body: { DataID: data.ID, UserName: "eve", Access: "read" } })
  const reading = await eve.client.createProject({ body: { ProjectName: "reading", ...fields } })
  await eve.client.startRun({ body: { ProjectID: reading.ID } })
  // The image and the project are hers, so her home is mounted.
  for (const TrainData of [[{ ID: data.ID }], []]) {
    const project = await ann.client.createProject({ body: { ProjectName: "writing", ...fields, TrainData } })
    const run = await ann.client.startRun({ body: { ProjectID: project.ID } })
    for (const ID of [data.ID, bystander.ID]) {
      const refused = await put(admin, "/data", { ID, UserName: "bob" })
      assert.deepEqual([refused.status, refused.body.code, refused.body.field], [409, "conflict", "UserName"])
      assert.match(String(refused.body.msg), new RegExp(`^Run ${run.ID} of ann `))
    }
    await ann.client.stopRun({ query: { ID: run.ID } })
  }
  assert.ok(await exists(`${data.AccessInfo}/a.txt`))
  assert.equal((await put(admin, "/data", { ID: data.ID, UserName: "bob" })).status, 200)
})

test("a transfer that names a directory, even the same one, does not move the files", async () => {
  const data = await newData({ Name: "named" })
  const transferred = await put(admin, "/data", { ID: data.ID, UserName: "bob", AccessInfo: "/shared/named" })
  assert.deepEqual([transferred.status, transferred.body.AccessInfo], [200, "/shared/named"])
  assert.ok(await exists(`${data.AccessInfo}/a.txt`))
  assert.equal((await put(admin, "/data", { ID: data.ID, UserName: "eve", AccessInfo: "/shared/named" })).body.AccessInfo, "/shared/named")
  const moved = await put(admin, "/data", { ID: data.ID, UserName: "ann" })
  assert.equal(moved.body.AccessInfo, "/users/ann/datasets/named-2")
  assert.equal(await exists("/shared/named"), false)
})

test("a dataset that shares its directory cannot be transferred, and nothing moves", async () => {
  const data = await newData({ Name: "shared" })
  const inner = await ann.client.createData({ body: { Name: "inner", AccessInfo: `${data.AccessInfo}/inner` } })
  for (const ID of [data.ID, inner.ID]) {
    const refused = await put(admin, "/data", { ID, UserName: "bob" })
    assert.deepEqual([refused.status, refused.body.code], [409, "conflict"])
  }
  assert.ok((await exists(`${data.AccessInfo}/a.txt`)) && (await exists(inner.AccessInfo)))
  assert.deepEqual([await exists("/users/bob/datasets/shared"), await exists("/users/bob/datasets/inner")], [false, false])
  assert.equal((await call(admin, "GET", `/data?ID=${data.ID}`)).body.UserName, "ann")
})

test("a transfer that is refused or loses a race leaves the directory with its dataset", async () => {
  const data = await newData({ Name: "back" })
  const refused = await put(admin, "/data", { ID: data.ID, UserName: "bob", Type: "dir", IsPublished: "yes" })
  assert.equal(refused.status, 400)
  const stale = await call(admin, "PUT", "/data", { body: { ID: data.ID, UserName: "bob" }, headers: { "if-match": '"stale"' } })
  assert.equal(stale.status, 412)
  assert.deepEqual([await exists(`${data.AccessInfo}/a.txt`), await exists("/users/bob/datasets/back")], [true, false])
  const answers = await Promise.all(["bob", "eve"].map((UserName) => put(admin, "/data", { ID: data.ID, UserName })))
  const { body } = await call(admin, "GET", `/data?ID=${data.ID}`)
  assert.ok(answers.some((answer) => answer.status === 200) && answers.every((answer) => [200, 409].includes(answer.status)))
  assert.ok(await exists(`${body.AccessInfo}/a.txt`))
  assert.ok(String(body.AccessInfo).startsWith(`/users/${body.UserName}/`))
})

test("a transfer removes the new owner's earlier grant, which does not return when they transfer it on", async () => {
  const image = await ann.client.createImage({ body: { Name: "g", Image: "fake/http" } })
  await ann.client.createGrant({ body: { ImageID: image.ID, UserName: "bob", Access: "read" } })
  const linkedPath = await ann.client.createGrant({ body: { ImageID: image.ID, UserName: "eve", Access: "read" } })
  await put(admin, "/image", { ID: image.ID, UserName: "bob" })
  assert.deepEqual(ids(await call(bob, "GET", `/grants?ImageID=${image.ID}`)), [linkedPath.ID])
  assert.deepEqual(ids(await call(ann, "GET", `/grants?ImageID=${image.ID}`)), [])
  await put(admin, "/image", { ID: image.ID, UserName: "ann" })
  assert.deepEqual(
    [(await call(bob, "GET", `/image?ID=${image.ID}`)).status, (await call(eve, "GET", `/image?ID=${image.ID}`)).status],
    [404, 200],
  )
})

test("the next start undoes or completes a move that a crash interrupted", {
  skip: process.env.TEST_POSTGRES !== undefined,
}, async () => {
  const [moved, planned, arrived] = [await newData({ Name: "crash" }), await newData({ Name: "plan" }), await newData({ Name: "arrived" })]
  const to = { moved: "/users/bob/datasets/crash", planned: "/users/bob/datasets/plan" }
  using db = new DatabaseSync(join(server.dataDir, "quayside.db"))
  const insertMove = db.prepare("insert into moves values (?, ?, ?)")
  insertMove.run(moved.ID, moved.AccessInfo, to.moved)
  insertMove.run(planned.ID, planned.AccessInfo, to.planned)
  insertMove.run(arrived.ID, "/users/bob/datasets/arrived", arrived.AccessInfo)
  await link(onDisk(`${arrived.AccessInfo}/a.txt`), onDisk("/users/bob/kept.txt"))
  await rename(onDisk(moved.AccessInfo), onDisk(to.moved))
  await mkdir(onDisk(to.planned))
  await server.restart()
  for (const data of [moved, planned]) assert.equal(await readFile(onDisk(`${data.AccessInfo}/a.txt`), "utf8"), "hello")
  assert.deepEqual([await exists(to.moved), await exists(to.planned)], [false, false])
  assert.equal((await stat(onDisk(`${arrived.AccessInfo}/a.txt`))).nlink, 1)
  assert.equal(db.prepare("select count(*) as n from moves").get()?.n, 0)
  assert.equal((await put(admin, "/data", { ID: moved.ID, UserName: "bob" })).body.AccessInfo, to.moved)
})
