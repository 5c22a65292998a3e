import assert from "node:assert/strict"
import { request } from "node:http"
import { after, before, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { WebSocket } from "ws"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { type Cable, type OtherMachine, otherMachine } from "../fixtures/other-machine.ts"
import { ownServer } from "../fixtures/postgres-server.ts"
import { type Installation, openInstallation, type RoleProcess } from "./installation.ts"

/** The database's machine, with a cable for the supervisor and one for the gateway. */
let machine: OtherMachine
let toSupervisor: Cable
let toGateway: Cable
let installation: Installation
let gateway: RoleProcess
let first: RoleProcess
let second: RoleProcess
let imageId: number
before(async () => {
  machine = await otherMachine(3)
  const [one, two, others] = machine.cables as [Cable, Cable, Cable]
  ;[toSupervisor, toGateway] = [one, two]
  installation = await openInstallation({}, await ownServer(machine))
  const by = (cable: Cable) => {
    const { pathname } = new URL(installation.databaseUrl)
    return { env: { QUAYSIDE_DATABASE_URL: `postgres://postgres@${cable.there}${pathname}` } }
  }
  await installation.startWith(by(others), "api")
  first = await installation.startWith(by(toSupervisor), "supervisor")
  await eventually("the first one supervises", async () => /^This process/.test(await says(first)))
  ;[gateway, second] = await Promise.all([
    installation.startWith(by(toGateway), "gateway"),
    installation.startWith(by(others), "supervisor"),
  ])
  imageId = (await installation.admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })).ID
})
after(async () => {
  await Promise.all([toSupervisor, toGateway].map((cable) => cable.mend().catch(() => {})))
  await Promise.all((await runs()).map(({ ID }) => installation.admin.stopRun({ query: { ID } }))).catch(() => {})
  await installation[Symbol.asyncDispose]()
  await machine[Symbol.asyncDispose]()
})

const says = async (process: RoleProcess) => (await process.checks()).supervision?.msg ?? ""
const runs = async () => (await installation.admin.listRuns({ query: { pageSize: 100 } })).data
const authorization = () => basicAuth("admin", installation.password)
async function start(name: string) {
  const { admin } = installation
  const { ID } = await admin.createProject({ body: { ProjectName: name, ImageID: imageId, Type: "http", Datas: [] } })
  return admin.startRun({ body: { ProjectID: ID, CPUs: 1, Memory: 128 } })
}

test("a gateway that is cut from the database serves open pages, and what ended meanwhile closes when it is back", async () => {
  const { admin } = installation
  const run = await start("Cut")
  const { ID, Token } = await admin.createToken({ body: { Name: "page" } })
  const open = async (proof: string) => {
    const url = `${installation.appsUrl.replace("http", "ws")}/run/${run.ID}/ws`
    const socket = new WebSocket(url, { headers: { authorization: proof } })
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
    const echo = async (text: string) => {
      const answered = new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))))
      socket.send(text)
      return answered
    }
    return { echo, closed: new Promise((resolve) => socket.once("close", resolve)) }
  }
  const [byToken, byPassword] = [await open(`Bearer ${Token}`), await open(authorization())]
  await toGateway.cut()
  await admin.deleteToken({ query: { ID } })
  await eventually("the gateway says that it has no database", async () => (await gateway.checks()).store?.ok === false)
  assert.equal(await byPassword.echo("without a database"), "without a database")
  await toGateway.mend()
  await byToken.closed
  assert.equal(await byPassword.echo("others stay"), "others stay")
  await admin.stopRun({ query: { ID: run.ID } })
  await byPassword.closed
})

test("a supervisor that is cut from the database in the middle of starts changes nothing, and another one completes them", async () => {
  const starting = Array.from({ length: 6 }, (_, n) => start(`Start ${n}`))
  await eventually("some are under way", async () => (await runs()).some(({ State }) => State !== "ready"))
  await toSupervisor.cut()
  await eventually("the second one supervises", async () => /^This process/.test(await says(second)), 20_000)
  assert.deepEqual(new Set((await Promise.all(starting)).map(({ State }) => State)), new Set(["ready"]))
  const before = await runs()
  await toSupervisor.mend()
  await eventually("the first one knows", async () => /^Another process/.test(await says(first)), 30_000)
  await sleep(1_000)
  assert.deepEqual([await runs(), (await installation.containers()).length], [before, 6])
  await Promise.all(before.map(({ ID }) => installation.admin.stopRun({ query: { ID } })))
  assert.deepEqual(await installation.containers(), [])
})

test("a files process that is cut from the one that serves refuses, and an upload through it goes on afterwards", async () => {
  await using elsewhere = await otherMachine(2)
  const [toClient, between] = elsewhere.cables as [Cable, Cable]
  const [port, otherPort] = await freePorts(2)
  await installation.startWith({ env: { QUAYSIDE_HOST: between.here, QUAYSIDE_FILES_PORT: String(port) } }, "files")
  const env = { QUAYSIDE_HOST: "0.0.0.0", QUAYSIDE_FILES_PORT: String(otherPort) }
  const relay = await installation.startWith({ machine: elsewhere, env }, "files")
  const send = (host: string, at: number | undefined, method: string, name: string) => {
    const headers = { authorization: authorization(), host: "localhost" }
    const sent = request({ host, port: at, method, path: `/users/admin/${name}`, headers })
    const answered = new Promise<number | undefined>((resolve, reject) => {
      sent.once("response", (answer) => resolve(answer.resume().statusCode)).once("error", reject)
    })
    return { sent, answered }
  }
  const put = (host: string, at: number | undefined, name: string, text: string) => {
    const { sent, answered } = send(host, at, "PUT", name)
    sent.end(text)
    return answered
  }
  assert.equal(await put(toClient.there, otherPort, "through.txt", "passed on"), 201)
  const slow = send(toClient.there, otherPort, "PUT", "slow.txt")
  slow.sent.write("before, ")
  assert.equal(await put(toClient.there, otherPort, "second.txt", "the upload arrived"), 201)
  await between.cut()
  assert.equal(await put(toClient.there, otherPort, "refused.txt", "not passed on"), 503)
  assert.equal(await put(between.here, port, "direct.txt", "served"), 201)
  await between.mend()
  slow.sent.end("after")
  assert.equal(await slow.answered, 201)
  assert.equal(await put(toClient.there, otherPort, "through.txt", "again"), 204)
  await relay.kill("SIGTERM")
})
