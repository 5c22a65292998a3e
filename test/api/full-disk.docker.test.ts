import assert from "node:assert/strict"
import { statSync } from "node:fs"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { smallDisk } from "../fixtures/files/small-disk.ts"
import { startServerProcess } from "../server-process.ts"
import { sendRequest } from "./http-client.ts"

test("a server killed on a full disk restarts there, stops runs and deletes files", {
  skip: process.env.TEST_POSTGRES !== undefined && "the database is elsewhere",
}, async () => {
  await using disk = await smallDisk(96 * 1024, "ext4")
  await using server = await startServerProcess({
    QUAYSIDE_DATA_DIR: `${disk.path}/data`,
    QUAYSIDE_LOG_LEVEL: "error",
  })
  const as = basicAuth("admin", server.password)
  const admin = createClient({ baseUrl: server.baseUrl, authorization: as })
  const image = await admin.createImage({ body: { Name: "i", Image: "quayside/python-app" } })
  const project = await admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } as never })
  const { ID, State } = await admin.startRun({ body: { ProjectID: project.ID } })
  assert.equal(State, "ready")
  const state = async () => (await sendRequest(server.baseUrl, "GET", `/running_project?ID=${ID}`, { as })).body.State
  const file = (method: string, name: string, body?: string) => sendRequest(server.filesUrl, method, `/users/admin/${name}`, { as, body })
  assert.equal((await file("PUT", "kept", "kept")).status, 201)
  await eventually("room is kept back", () => statSync(`${disk.path}/data/quayside.db.ballast`).size > 2 ** 20)
  disk.fillUp()
  assert.equal((await file("PUT", "new", "new")).status, 507)
  await server.kill("SIGKILL")
  disk.fillUp()
  await server.start()
  assert.equal((await file("GET", "kept")).text, "kept")
  assert.equal(await state(), "ready")
  assert.deepEqual((await sendRequest(server.baseUrl, "DELETE", `/running_project?ID=${ID}`, { as })).body, { ok: true })
  assert.equal(await state(), "ended")
  assert.equal((await file("DELETE", "kept")).status, 204)
  await disk.makeRoom()
  assert.equal((await file("PUT", "new", "new")).status, 201)
})
