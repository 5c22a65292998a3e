import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { statSync } from "node:fs"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { smallDisk } from "../fixtures/files/small-disk.ts"
import { startServerProcess } from "../server-process.ts"
import { adminPassword, startTestServer, type TestServer } from "../test-server.ts"
import { type HttpAnswer, isFailure, sendRequest } from "./http-client.ts"

const as = basicAuth("admin", adminPassword)
const canMount = process.getuid?.() === 0
const skip = !canMount && "needs the right to mount"
const firstLine = (answer: HttpAnswer) => [answer.status, answer.body.code]

/** Makes images until the disk is full; returns the names of the acknowledged ones. */
async function createUntilFull(testServer: { quayside: { baseUrl: string } }): Promise<string[]> {
  const created: string[] = []
  for (;;) {
    const names = Array.from({ length: 16 }, () => `image ${randomUUID()}`)
    const answers = await Promise.all(
      names.map((Name) =>
        sendRequest(testServer.quayside.baseUrl, "POST", "/image", { as, body: { Name, Image: "a/b", Doc: "x".repeat(20_000) } }),
      ),
    )
    for (const [i, answer] of answers.entries()) {
      if (answer.status === 200) created.push(names[i] as string)
      else assert.ok(answer.status === 507 && answer.body.code === ("storage_full" as never) && isFailure(answer), answer.text)
    }
    if (answers.every(({ status }) => status === 507)) return created
  }
}

/** A project that runs, and its run. */
async function started({ quayside, admin }: Pick<TestServer, "admin"> & { quayside: { baseUrl: string } }, imageId: number) {
  const project = await admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: imageId } as never })
  const { ID } = (await sendRequest(quayside.baseUrl, "POST", "/running_project", { as, body: { ProjectID: project.ID } }))
    .body as never as {
    ID: number
  }
  return ID
}

const stateOf = async (baseUrl: string, id: number) => {
  const { State, Reason } = (await sendRequest(baseUrl, "GET", `/running_project?ID=${id}`, { as })).body as never as {
    State: string
    Reason: { code: string } | null
  }
  return [State, Reason?.code]
}

test("runs stop on a full disk, and their reported state survives kill -9", {
  skip: skip || (process.env.TEST_POSTGRES !== undefined && "the database is elsewhere"),
}, async () => {
  await using disk = await smallDisk(48 * 1024)
  await using server = await startServerProcess({
    QUAYSIDE_ENGINE: "fake",
    QUAYSIDE_DATA_DIR: `${disk.path}/data`,
    QUAYSIDE_ADMIN_PASSWORD: adminPassword,
    QUAYSIDE_LOG_LEVEL: "error",
  })
  const { baseUrl } = server
  const testServer = { quayside: server, admin: createClient({ baseUrl, authorization: as }) }
  const image = await testServer.admin.createImage({ body: { Name: "i", Image: "fake/http" } })
  const runs: number[] = []
  for (let n = 0; n < 6; n += 1) runs.push(await started(testServer, image.ID))
  await eventually("room is kept back", () => statSync(`${disk.path}/data/quayside.db.ballast`).size === 3 * 2 ** 20)
  const fill = async () => {
    disk.fillUp()
    await createUntilFull(testServer)
  }
  await fill()
  const stop = (id = 0) => sendRequest(baseUrl, "DELETE", `/running_project?ID=${id}`, { as })
  for (const id of runs.slice(0, 2)) {
    assert.deepEqual((await stop(id)).body, { ok: true })
    assert.deepEqual(await stateOf(baseUrl, id), ["ended", "stopped_by_user"])
  }
  assert.deepEqual(firstLine(await sendRequest(baseUrl, "POST", "/running_project", { as, body: { ProjectID: 1 } })), [507, "storage_full"])
  await server.kill("SIGKILL")
  await server.start()
  for (const id of runs.slice(0, 2)) assert.deepEqual(await stateOf(baseUrl, id), ["ended", "stopped_by_user"])
  for (const id of runs.slice(2)) assert.deepEqual(await stateOf(baseUrl, id), ["ready", undefined])
  for (const id of runs.slice(2, 4)) assert.deepEqual((await stop(id)).body, { ok: true })
  await disk.makeRoom()
  await eventually("runs can be stopped", async () => (await stop(runs[4])).status === 200)
  await eventually(
    "others may write",
    async () => (await sendRequest(baseUrl, "POST", "/image", { as, body: { Name: "after", Image: "a/b" } })).status === 200,
  )
  assert.deepEqual(await stateOf(baseUrl, runs[5] ?? 0), ["ready", undefined])
})

test("a full disk fails writes with 507 storage_full, loses nothing acknowledged and recovers once there is room", {
  skip: skip || (process.env.TEST_POSTGRES !== undefined && "the database is elsewhere"),
}, async () => {
  await using disk = await smallDisk(48 * 1024)
  await using testServer = await startTestServer({ "data-dir": `${disk.path}/data` })
  const { baseUrl, filesUrl } = testServer.quayside
  const put = (name: string, body: string | Buffer) =>
    sendRequest(filesUrl, "PUT", `/users/admin/${name}`, { as, body, headers: { "content-type": "text/plain" } })
  assert.equal((await put("kept.txt", "before")).status, 201)
  const image = await testServer.admin.createImage({ body: { Name: "kept", Image: "a/b" } })

  disk.fillUp(2048)
  const created = await createUntilFull(testServer)
  assert.ok(created.length > 10)
  disk.fillUp()
  created.push(...(await createUntilFull(testServer)))
  for (const [method, path, body] of [
    ["PUT", "/image", { ID: image.ID, Doc: "y".repeat(200_000) }],
    ["POST", "/data", { Name: "flowers" }],
    ["POST", "/project", { ProjectName: "p", Type: "http", ImageID: image.ID, Doc: "y".repeat(200_000) }],
  ] as const)
    assert.deepEqual(firstLine(await sendRequest(baseUrl, method, path, { as, body })), [507, "storage_full"], `${method} ${path}`)
  assert.deepEqual(firstLine(await put("new.txt", Buffer.alloc(100_000, "z"))), [507, "storage_full"])
  assert.deepEqual(firstLine(await put("kept.txt", Buffer.alloc(100_000, "z"))), [507, "storage_full"])
  assert.equal((await sendRequest(filesUrl, "GET", "/users/admin/new.txt", { as })).status, 404, "nothing half-written remains")
  assert.equal((await sendRequest(filesUrl, "GET", "/users/admin/kept.txt", { as })).text, "before")
  assert.equal((await sendRequest(baseUrl, "GET", `/image?ID=${image.ID}`, { as })).body.Doc, "")

  await disk.makeRoom()
  assert.equal((await put("new.txt", Buffer.alloc(100_000, "z"))).status, 201)
  await testServer.admin.createImage({ body: { Name: "after", Image: "a/b" } })
  assert.equal((await sendRequest(baseUrl, "GET", "/readyz")).status, 200)
  await testServer.restart()
  const names: string[] = []
  for (let page = 1; ; page += 1) {
    const { data } = await testServer.admin.listImages({ query: { page, pageSize: 200, sort: "ID" } as never })
    names.push(...data.map(({ Name }) => Name))
    if (data.length < 200) break
  }
  assert.deepEqual(new Set(names), new Set(["kept", ...created, "after"]))
})

test("on a full disk people sign in, and an administrator disables a person, changes limits and deletes", {
  skip: skip || (process.env.TEST_POSTGRES !== undefined && "the database is elsewhere"),
}, async () => {
  await using disk = await smallDisk(48 * 1024)
  await using testServer = await startTestServer({ "data-dir": `${disk.path}/data` })
  const { baseUrl } = testServer.quayside
  const person = (UserName: string) => testServer.admin.createUser({ body: { UserName, Password: "long enough" } })
  const [ann, bob] = [await person("ann"), await person("bob")]
  const image = await testServer.admin.createImage({ body: { Name: "i", Image: "a/b" } })
  const group = await testServer.admin.createGroup({ body: { GroupName: "lab", Members: ["ann"] } })
  const signIn = (UserName: string, Password = "long enough") => sendRequest(baseUrl, "POST", "/session", { body: { UserName, Password } })
  const ballast = () => statSync(`${disk.path}/data/quayside.db.ballast`).size
  await eventually("room is kept back", () => ballast() === 3 * 2 ** 20)
  disk.fillUp()
  await createUntilFull(testServer)

  const signedIn = await signIn("ann")
  assert.equal(signedIn.status, 200, signedIn.text)
  assert.equal((await signIn("admin", adminPassword)).status, 200)
  const put = (path: string, body: object) => sendRequest(baseUrl, "PUT", path, { as, body })
  assert.equal((await put("/user", { ID: ann.ID, IsDisabled: true })).status, 200)
  assert.equal((await signIn("ann")).status, 401)
  assert.equal((await put("/user", { ID: bob.ID, Limits: { MaxStorage: 0 } })).status, 200)
  assert.equal((await put("/group", { ID: group.ID, Members: [] })).status, 200)
  assert.equal((await sendRequest(baseUrl, "DELETE", `/image?ID=${image.ID}`, { as })).status, 200)
  assert.equal((await sendRequest(baseUrl, "DELETE", `/user?ID=${ann.ID}`, { as })).status, 200)
  assert.equal((await sendRequest(baseUrl, "POST", "/image", { as, body: { Name: "n", Image: "a/b" } })).status, 507)

  const repeated: number[] = []
  for (let i = 0; i < 12; i += 1) repeated.push((await signIn("bob")).status)
  assert.deepEqual(repeated, [...Array(10).fill(200), 507, 507])
  assert.ok(ballast() > 2 ** 20, "nobody uses up what is kept back")
  assert.equal((await put("/user", { ID: bob.ID, IsDisabled: true })).status, 200)
})

test("signing out with an unknown session leaves no trace", async () => {
  await using testServer = await startTestServer()
  const { baseUrl } = testServer.quayside
  const before = await testServer.admin.listAudit({ query: { pageSize: 1 } as never })
  for (let i = 0; i < 3; i += 1) {
    const headers = { cookie: `quayside_session=${randomUUID()}`, "sec-fetch-site": "same-origin" }
    assert.equal((await sendRequest(baseUrl, "DELETE", "/session", { headers })).status, 200)
  }
  assert.equal((await testServer.admin.listAudit({ query: { pageSize: 1 } as never })).data[0]?.ID, before.data[0]?.ID)
})
