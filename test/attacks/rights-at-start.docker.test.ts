import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { basicAuth, type Client, createClient } from "#client"
import type { RunningProject } from "#contract"
import { EngineError } from "#engine"
import { sendRequest } from "../api/http-client.ts"
import { startDockerEngine } from "../fixtures/docker/docker-engine.ts"
import { eventually } from "../fixtures/eventually.ts"
import { specOf } from "../fixtures/run-spec.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"

/*
 * Containers mount what their starters may use at the start, not at the request. A right that ends
 * in the queue, or that a stranger's project would borrow, mounts nothing.
 */

const docker = async (...args: string[]) => (await promisify(execFile)("docker", args)).stdout.trim()
// Selects containers by name: other tests may use Docker at the same time.
const names = { ann: `ann-${process.pid}`, bob: `bob-${process.pid}` }
const password = "choose a better one"
let server: ServerProcess
let [admin, ann, bob] = [] as unknown as [Client, Client, Client]
let image = 0

before(async () => {
  server = await startServerProcess({ QUAYSIDE_ENGINE: "docker", QUAYSIDE_LOG_LEVEL: "error", QUAYSIDE_MOCK_GPUS: "1" })
  const { baseUrl } = server
  admin = createClient({ baseUrl, authorization: basicAuth("admin", server.password) })
  for (const UserName of Object.values(names)) await admin.createUser({ body: { UserName, Password: password } })
  await admin.createGroup({ body: { GroupName: `both-${process.pid}`, Members: Object.values(names) } })
  ;[ann, bob] = [names.ann, names.bob].map((name) => createClient({ baseUrl, authorization: basicAuth(name, password) })) as [
    Client,
    Client,
  ]
  image = (await admin.createImage({ body: { Name: "sample", Image: "quayside/python-app", IsPublished: true } })).ID
})
after(() => server?.[Symbol.asyncDispose]())

const containersOf = (name: string) => docker("ps", "--all", "--quiet", "--filter", `label=quayside.user=${name}`)
const newProject = async (who: Client, fields: object = {}) =>
  (await who.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image, ...fields } })).ID
const start = async (who: Client, ProjectID: number, fields: object = {}) =>
  (await who.startRun({ body: { ProjectID, ...fields }, headers: { prefer: "respond-async" } })) as RunningProject
async function until(ID: number, State: string): Promise<RunningProject> {
  let run = await admin.readRun({ query: { ID } })
  await eventually(
    `run ${ID} is ${State}`,
    async () => {
      run = await admin.readRun({ query: { ID } })
      return run.State === State
    },
    60_000,
  )
  return run
}

test("a run that waits for a dataset ends when its grant is withdrawn, and never mounts the directory", async () => {
  const data = await ann.createData({ body: { Name: "lent" } })
  const grant = await ann.createGrant({ body: { DataID: data.ID, UserName: names.bob, Access: "write" } })
  const holder = await start(ann, await newProject(ann), { Gpus: 1 })
  await until(holder.ID, "ready")
  const waiting = await start(bob, await newProject(bob, { TrainData: [{ ID: data.ID, MountPath: "/in" }] }), { Gpus: 1 })
  assert.equal(waiting.State, "queued")
  await ann.deleteGrant({ query: { ID: grant.ID } })
  const put = await sendRequest(server.filesUrl, "PUT", `${data.AccessInfo}/secret.txt`, {
    as: basicAuth(names.ann, password),
    body: "for nobody else",
  })
  assert.equal(put.status, 201)
  const { Reason } = await until(waiting.ID, "ended")
  assert.equal(Reason?.code, "access_withdrawn")
  assert.match(String(Reason?.msg), /^A dataset mounted at \/in .*no longer shared/)
  await ann.stopRun({ query: { ID: holder.ID } })
  assert.equal(await containersOf(names.bob), "")
})

test("a stranger's copy of a project gets no container with the first owner's dataset", async () => {
  const data = await ann.createData({ body: { Name: "private rows" } })
  const project = await newProject(ann, { IsPublic: true, TrainData: [{ ID: data.ID, MountPath: "/in" }] })
  const copy = await bob.copyProject({ query: { ID: project } })
  await bob.updateProject({ body: { ID: copy.ID, IsPublic: true } })
  const refused = { code: "data_unavailable", message: /"private rows" at \/in may not be read by bob/ }
  await assert.rejects(ann.startRun({ body: { ProjectID: copy.ID } }), refused)
  assert.equal(await containersOf(names.ann), "")
})

test("rights to mounts are checked right before mounting, not only when the start begins", async () => {
  await using rig = await startDockerEngine()
  const never = new AbortController().signal
  const directory = await rig.directory("shared")
  await writeFile(join(rig.filesRoot, directory, "rows"), "1")
  const mounts = [{ source: "/shared", target: "/in", readOnly: false }]
  const refused = specOf({ image: rig.image, command: ["sleep", "1000"], mounts })
  const withdrawn = async () => {
    throw new EngineError("access_withdrawn", "The right ended")
  }
  await assert.rejects(
    rig.engine.start(refused, () => {}, never, withdrawn),
    { code: "access_withdrawn" },
  )
  assert.deepEqual([await rig.engine.observe(), await docker("ps", "--all", "--quiet", "--filter", `name=${refused.key}`)], [[], ""])
  const lessened = specOf({ image: rig.image, command: ["sh", "-c", "touch /in/new; ls /in; sleep 1000"], mounts })
  await rig.engine.start(
    lessened,
    () => {},
    never,
    async () => ({ mounts: mounts.map((mount) => ({ ...mount, readOnly: true })) }),
  )
  const { key } = lessened
  const inside = async () => (await Array.fromAsync(rig.engine.logs(key))).map(({ text }) => text).join("\n")
  const hasTried = async () => /\brows\b/.test(await inside()) && /Read-only file system/.test(await inside())
  await eventually("the program has tried to write, and read", hasTried, 30_000)
  assert.doesNotMatch(await inside(), /^new$/m)
  await rig.engine.stop(key, { graceMs: 0 })
})
