import assert from "node:assert/strict"
import { type TestContext, test } from "node:test"
import { WebSocket } from "ws"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { nextVersion, type OtherVersion, previousVersion } from "../fixtures/versions.ts"
import { type Installation, openInstallation, type RoleProcess, type StartOptions } from "./installation.ts"

type Version = Pick<StartOptions, "checkout">

const authorization = (installation: Installation) => basicAuth("admin", installation.password)

async function put(installation: Installation, path: string, proof = authorization(installation)) {
  const url = `${installation.filesUrl}/users/${path}`
  return (await fetch(url, { method: "PUT", headers: { authorization: proof }, body: path })).status
}

async function startRun({ admin }: Installation, imageId: number, name: string) {
  const { ID } = await admin.createProject({ body: { ProjectName: name, ImageID: imageId, Type: "http", Datas: [] } })
  return admin.startRun({ body: { ProjectID: ID, CPUs: 1, Memory: 128 } })
}

async function openSocket(installation: Installation, id: number) {
  const url = `${installation.appsUrl.replace("http", "ws")}/run/${id}/ws`
  const socket = new WebSocket(url, { headers: { authorization: authorization(installation) } })
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
  return async (text: string) => {
    const answered = new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))))
    socket.send(text)
    return answered
  }
}

const supervises = async (process: RoleProcess) => /^This process/.test((await process.checks()).supervision?.msg ?? "")

/** Replaces one role after another, each time with something under way in the others. */
async function replaceEach(older: Version, newer: Version): Promise<void> {
  await using installation = await openInstallation()
  const { admin, startWith } = installation
  const start = (name: string) => startRun(installation, imageId, name)
  const oldApi = await startWith(older, "api")
  const [oldGateway, oldFiles, oldSupervisor] = (await Promise.all(
    ["gateway", "files", "supervisor"].map((role) => startWith(older, role)),
  )) as [RoleProcess, RoleProcess, RoleProcess]
  const { ID: imageId } = await admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })
  const first = await start("First")
  const echo = await openSocket(installation, first.ID)
  assert.equal(await put(installation, "admin/before.txt"), 201)

  const newSupervisor = await startWith(newer, "supervisor")
  assert.equal((await start("Beside a newer standby")).State, "ready")
  assert.equal(await put(installation, "admin/beside.txt"), 201)
  const underWay = start("Across the change")
  await oldSupervisor.kill("SIGTERM")
  await eventually("the newer one supervises", () => supervises(newSupervisor))
  assert.equal((await underWay).State, "ready")
  assert.equal((await start("By an older API")).State, "ready")

  await oldApi.kill("SIGTERM")
  assert.equal(await echo("without an API"), "without an API")
  await startWith(newer, "api")
  assert.equal(await echo("with a newer API"), "with a newer API")
  await admin.createUser({ body: { UserName: "bob", Password: "a password for bob" } })
  assert.equal(await put(installation, "bob/file.txt", basicAuth("bob", "a password for bob")), 201)
  const by = await fetch(`${installation.appsUrl}/run/${(await start("By a newer API")).ID}/echo`, {
    headers: { authorization: authorization(installation) },
  })
  assert.equal(by.status, 200, "the older gateway finds it")

  await oldFiles.kill("SIGTERM")
  await startWith(newer, "files")
  assert.equal(await put(installation, "admin/before.txt"), 204)
  await oldGateway.kill("SIGTERM")
  await startWith(newer, "gateway")
  const again = await openSocket(installation, first.ID)
  assert.equal(await again("with a newer gateway"), "with a newer gateway")

  const { data } = await admin.listRuns({ query: { pageSize: 100 } })
  assert.deepEqual([data.length, new Set(data.map(({ State }) => State))], [5, new Set(["ready"])])
  assert.equal((await installation.containers()).length, 5)
  await assert.rejects(startWith(older, "gateway"), /ended with 1/)
  await Promise.all(data.map(({ ID }) => admin.stopRun({ query: { ID } })))
  assert.deepEqual(await installation.containers(), [])
}

test("processes of this version and of a later one work side by side, until all are of the later one", async () => {
  await using next = await nextVersion()
  await replaceEach({}, next)
})

test("processes of the version before and of this one work side by side, until all are of this one", async (t: TestContext) => {
  const previous: OtherVersion | string = await previousVersion()
  if (typeof previous === "string") return t.skip(previous)
  await using version = previous
  await replaceEach(version, {})
})
