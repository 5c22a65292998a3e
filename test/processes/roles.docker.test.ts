import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { after, before, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { WebSocket } from "ws"
import { basicAuth, type Client, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { type Installation, openInstallation, type RoleProcess } from "./installation.ts"

const docker = async (...words: string[]) => (await promisify(execFile)("docker", words)).stdout.trim()

let installation: Installation
let admin: Client
let api: RoleProcess
let gateway: RoleProcess
let files: RoleProcess
let supervisors: RoleProcess[]
let imageId: number
before(async () => {
  installation = await openInstallation()
  admin = installation.admin
  api = await installation.start("api")
  ;[gateway, files, ...supervisors] = await Promise.all([
    installation.start("gateway"),
    installation.start("files"),
    installation.start("supervisor"),
    installation.start("supervisor"),
  ])
  const body = { Name: "App", Image: "quayside/python-app", Port: "8000", IsPublished: true }
  imageId = (await admin.createImage({ body })).ID
})
after(async () => {
  await Promise.all((await runs()).map(({ ID }) => admin.stopRun({ query: { ID } }))).catch(() => {})
  await installation[Symbol.asyncDispose]()
})

const runs = async () => (await admin.listRuns({ query: { pageSize: 100 } })).data
const addProject = async (name: string) =>
  (await admin.createProject({ body: { ProjectName: name, ImageID: imageId, Type: "http", Datas: [] } })).ID
const start = (ProjectID: number) => admin.startRun({ body: { ProjectID, CPUs: 1, Memory: 128 } })
const containers = () => installation.containers()
const authorization = () => basicAuth("admin", installation.password)
const inCharge = async () => {
  const said = await Promise.all(supervisors.map(async (each) => (await each.checks()).supervision?.msg ?? ""))
  return said.findIndex((msg) => msg.startsWith("This process"))
}

/** A WebSocket to the run's program, which sends every message back. */
async function openSocket(id: number, proof: string) {
  const url = `${installation.appsUrl.replace("http", "ws")}/run/${id}/ws`
  const socket = new WebSocket(url, { headers: { authorization: proof } })
  await new Promise((resolve, reject) => {
    socket.once("open", resolve)
    socket.once("error", reject)
  })
  const closed = new Promise<number>((resolve) => socket.once("close", resolve))
  const echo = async (text: string) => {
    const answered = new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))))
    socket.send(text)
    return answered
  }
  return { echo, closed, close: () => socket.terminate() }
}

test("each role in processes of its own: a run starts, answers, reads a file, and stops", async () => {
  const project = await addProject("Roles")
  const put = await fetch(`${installation.filesUrl}/users/admin/hello.txt`, {
    method: "PUT",
    headers: { authorization: authorization() },
    body: "hello",
  })
  assert.equal(put.status, 201)
  const run = await start(project)
  assert.equal(run.State, "ready")
  const answer = await fetch(`${installation.appsUrl}/run/${run.ID}/echo?a=1`, { headers: { authorization: authorization() } })
  assert.deepEqual([answer.status, (await answer.json()).method], [200, "GET"])
  assert.equal(await docker("exec", (await containers())[0] ?? "", "cat", "/work/home/hello.txt").catch(() => "no home"), "hello")
  assert.equal((await admin.stopRun({ query: { ID: run.ID } })).ok, true)
  assert.deepEqual(await containers(), [])
  for (const each of [api, gateway, files, ...supervisors]) {
    const checks = await each.checks()
    assert.deepEqual(
      Object.entries(checks).filter(([, { ok }]) => !ok),
      [],
      JSON.stringify(checks),
    )
  }
})

test("sockets of a separate gateway and files process outlive a restart of the API, and lost rights cut them", async () => {
  const project = await addProject("Sockets")
  const { ID } = await start(project)
  const made = await admin.createToken({ body: { Name: "page" } })
  const sockets = await Promise.all(Array.from({ length: 50 }, () => openSocket(ID, authorization())))
  const byToken = await openSocket(ID, `Bearer ${made.Token}`)
  const pieces = new TransformStream<Uint8Array, Uint8Array>()
  const writer = pieces.writable.getWriter()
  const upload = fetch(`${installation.filesUrl}/users/admin/long.txt`, {
    method: "PUT",
    headers: { authorization: authorization() },
    body: pieces.readable,
    duplex: "half",
  } as RequestInit)
  await writer.write(Buffer.from("before, "))
  await api.kill()
  assert.equal(await sockets[0]?.echo("while the API is away"), "while the API is away")
  api = await installation.start("api")
  assert.deepEqual(new Set(await Promise.all(sockets.map((socket) => socket.echo("still here")))), new Set(["still here"]))
  assert.equal(await byToken.echo("with a token"), "with a token")
  await writer.write(Buffer.from("after"))
  await writer.close()
  assert.equal((await upload).status, 201)
  await admin.deleteToken({ query: { ID: made.ID } })
  await byToken.closed
  assert.equal(await sockets[0]?.echo("others stay"), "others stay")
  await admin.stopRun({ query: { ID } })
  await Promise.all(sockets.map((socket) => socket.closed))
})

test("a grant that is withdrawn cuts a socket in another process", async () => {
  await admin.createUser({ body: { UserName: "bob", Password: "a password for bob" } })
  const project = await addProject("Shared")
  const { ID } = await start(project)
  const grant = await admin.createGrant({ body: { RunID: ID, UserName: "bob", Access: "write" } })
  const bob = createClient({ baseUrl: installation.baseUrl, authorization: basicAuth("bob", "a password for bob") })
  assert.equal((await bob.listRuns({})).data.length, 1)
  const socket = await openSocket(ID, basicAuth("bob", "a password for bob"))
  assert.equal(await socket.echo("hello"), "hello")
  await admin.deleteGrant({ query: { ID: grant.ID } })
  await socket.closed
  await admin.stopRun({ query: { ID } })
})

test("when the supervisor is killed in the middle of starts, the other one completes all of them", async () => {
  await eventually("one supervises", async () => (await inCharge()) >= 0)
  const projects = await Promise.all(Array.from({ length: 6 }, (_, n) => addProject(`Killed ${n}`)))
  const starting = projects.map((project) => start(project))
  await eventually("some are under way", async () => (await runs()).some(({ State }) => State !== "ready"))
  const index = await inCharge()
  await supervisors[index]?.kill()
  const left = supervisors[1 - index] as RoleProcess
  await eventually("the other one supervises", async () => /^This process/.test((await left.checks()).supervision?.msg ?? ""), 15_000)
  assert.deepEqual(new Set((await Promise.all(starting)).map(({ State }) => State)), new Set(["ready"]))
  assert.equal((await containers()).length, 6)
  supervisors = [left, await installation.start("supervisor")]
  await Promise.all((await runs()).map(({ ID }) => admin.stopRun({ query: { ID } })))
  assert.deepEqual(await containers(), [])
})

test("a supervisor that was only slow changes nothing when it goes on", async () => {
  await eventually("one supervises", async () => (await inCharge()) >= 0)
  const index = await inCharge()
  const slow = supervisors[index] as RoleProcess
  const other = supervisors[1 - index] as RoleProcess
  const projects = await Promise.all([0, 1, 2].map((n) => addProject(`Slow ${n}`)))
  const starting = projects.map((project) => start(project))
  await eventually("some are under way", async () => (await runs()).some(({ State }) => State !== "ready"))
  slow.child.kill("SIGSTOP")
  await eventually("the other one supervises", async () => /^This process/.test((await other.checks()).supervision?.msg ?? ""), 15_000)
  assert.deepEqual(new Set((await Promise.all(starting)).map(({ State }) => State)), new Set(["ready"]))
  const before = await runs()
  slow.child.kill("SIGCONT")
  await eventually("it notices", async () => /^Another process/.test((await slow.checks()).supervision?.msg ?? ""), 15_000)
  await sleep(1_000)
  assert.deepEqual(await runs(), before)
  assert.equal((await containers()).length, 3)
  await Promise.all(before.map(({ ID }) => admin.stopRun({ query: { ID } })))
})

test("after a restart of PostgreSQL all processes go on", async () => {
  const project = await addProject("Restarted")
  const { ID } = await start(project)
  const socket = await openSocket(ID, authorization())
  await installation.postgres.crash?.()
  assert.equal(await socket.echo("without a database"), "without a database")
  await installation.postgres.start?.()
  await eventually("a process supervises", async () => (await inCharge().catch(() => -1)) >= 0, 20_000)
  await admin.stopRun({ query: { ID } })
  await socket.closed
  assert.equal((await start(project)).State, "ready")
})
