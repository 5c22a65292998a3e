import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { WebSocket } from "ws"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { type ReplicatedServer, replicatedServer } from "../fixtures/replicated-postgres.ts"
import { type Installation, openInstallation, type RoleProcess } from "./installation.ts"

let installation: Installation
let server: ReplicatedServer
let processes: RoleProcess[]
let imageId: number
before(async () => {
  server = await replicatedServer()
  installation = await openInstallation({}, server)
  const api = await installation.start("api")
  const roles = ["gateway", "files", "supervisor", "supervisor"]
  processes = [api, ...(await Promise.all(roles.map((role) => installation.start(role))))]
  imageId = (await installation.admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })).ID
})
after(async () => {
  await Promise.all((await runs()).map(({ ID }) => installation.admin.stopRun({ query: { ID } }))).catch(() => {})
  await installation[Symbol.asyncDispose]()
})

const runs = async () => (await installation.admin.listRuns({ query: { pageSize: 100 } })).data
const authorization = () => basicAuth("admin", installation.password)

/** Asks for one run under one key until the API knows its end, as a client does. */
async function startOnce(key: string): Promise<string> {
  const { admin } = installation
  const body = { ProjectName: key, ImageID: imageId, Type: "http", Datas: [] }
  let projectId: number | undefined
  let state = ""
  await eventually(
    `${key} is started`,
    async () => {
      try {
        projectId ??= (await admin.listProjects({ query: { q: key } })).data[0]?.ID ?? (await admin.createProject({ body })).ID
        const start = { ProjectID: projectId, CPUs: 1, Memory: 128 }
        state = (await admin.startRun({ body: start, headers: { "idempotency-key": key } })).State
        return true
      } catch {
        return false
      }
    },
    40_000,
  )
  return state
}

test("when PostgreSQL fails over to a standby in the middle of starts, nothing is lost, doubled or left over", async () => {
  assert.equal(await startOnce("before"), "ready")
  const [run] = await runs()
  const socket = new WebSocket(`${installation.appsUrl.replace("http", "ws")}/run/${run?.ID}/ws`, {
    headers: { authorization: authorization() },
  })
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject))
  const echo = async (text: string) => {
    const answered = new Promise<string>((resolve) => socket.once("message", (data) => resolve(String(data))))
    socket.send(text)
    return answered
  }
  const keys = Array.from({ length: 6 }, (_, n) => `during-${n}`)
  const starting = keys.map(startOnce)
  await eventually("some are under way", async () => (await runs()).some(({ State }) => State !== "ready"))
  await server.failOver()
  assert.equal(await echo("the socket stays"), "the socket stays")
  assert.deepEqual(new Set(await Promise.all(starting)), new Set(["ready"]))
  const all = await runs()
  const numbers = [all.length, new Set(all.map(({ ProjectID }) => ProjectID)).size, (await installation.containers()).length]
  assert.deepEqual(numbers, [7, 7, 7], "runs, projects and containers")

  const put = await fetch(`${installation.filesUrl}/users/admin/after.txt`, {
    method: "PUT",
    headers: { authorization: authorization() },
    body: "after",
  })
  assert.equal(put.status, 201)
  await eventually("every part of every process is well", async () => {
    const checks = await Promise.all(processes.map((each) => each.checks()))
    return checks.flatMap((each) => Object.values(each)).every(({ ok }) => ok)
  })
  const closed = new Promise((resolve) => socket.once("close", resolve))
  await Promise.all((await runs()).map(({ ID }) => installation.admin.stopRun({ query: { ID } })))
  await closed
  assert.deepEqual(await installation.containers(), [])
})
