import assert from "node:assert/strict"
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { setTimeout } from "node:timers/promises"
import { basicAuth } from "#client"
import type { Progress } from "#contract"
import { FileTree } from "#files"
import { eventually } from "../fixtures/eventually.ts"
import { unfinishedIn } from "../fixtures/files/unfinished.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { ids, type SendOptions, sendRequest } from "./http-client.ts"
import { mountsOf } from "./run-mounts.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const [ann, bob] = [await server.person("ann"), await server.person("bob")]
const call = (method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: ann.authorization, ...options })
const web = await ann.client.createImage({ body: { Name: "web", Image: "fake/http", IsPublished: true } })
const onDisk = (path: string) => join(server.dataDir, "files", path)
const codeOf = (name: string, project: number) => `/users/${name}/projects/${project}/code`
const unfinished = () => unfinishedIn(join(server.dataDir, "files"))

/** Directories of the runs' user, like those that programs make. */
function makeDirectory(path: string): void {
  mkdirSync(onDisk(path), { recursive: true })
  if (process.getuid?.() !== 0) return
  for (const [i] of path.split("/").entries())
    chownSync(
      onDisk(
        path
          .split("/")
          .slice(0, i + 1)
          .join("/"),
      ),
      1000,
      1000,
    )
}

/** A published project of ann's with code of this size in MiB. */
async function released(mebibytes: number): Promise<number> {
  const { ID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: web.ID } })
  makeDirectory(codeOf("ann", ID))
  for (let i = 0; i < mebibytes; i += 1) writeFileSync(onDisk(`${codeOf("ann", ID)}/${i}`), Buffer.alloc(2 ** 20, "c"))
  await ann.client.updateProject({ body: { ID, IsPublic: true } })
  return ID
}

test("the run and its events show the progress of the code copy at a stranger's first start", async () => {
  const ProjectID = await released(48)
  await using recorder = await recordEvents(bob.client)
  const { ID } = await bob.client.startRun({ body: { ProjectID } })
  await recorder.until(`run.progress ${ID}`)
  const seen = recorder.events.filter(({ event }) => event === "run.progress").map(({ data }) => data.Progress as Progress)
  const total = 48 * 2 ** 20
  assert.deepEqual(seen[0], { step: "copying the code", current: 0, total, unit: "bytes" })
  assert.equal(readFileSync(onDisk(`${codeOf("bob", ProjectID)}/47`)).length, 2 ** 20)
  assert.equal((await bob.client.readRun({ query: { ID } })).Progress, null)
  await bob.client.stopRun({ query: { ID } })
})

test("once a stranger's project is trusted, a run with the home begins with the release, and code of earlier runs is moved away", async () => {
  const ProjectID = await released(1)
  const own = `/users/bob/projects/${ProjectID}`
  const run = async () => {
    await using recorder = await recordEvents(bob.client)
    const { ID } = await bob.client.startRun({ body: { ProjectID } })
    await bob.client.stopRun({ query: { ID } })
    await eventually("the end of the run is received", async () =>
      recorder.events.some(({ data }) => data.ID === ID && data.State === "ended"),
    )
    const hasHome = (await mountsOf(server, ID)).some(({ source }) => source === "/users/bob")
    return { hasHome, warnings: recorder.events.flatMap(({ data }) => (data.ID === ID && data.Warning ? [String(data.Warning)] : [])) }
  }
  const trust = async (IsTrusted: boolean) => {
    await server.admin.updateImage({ body: { ID: web.ID, IsTrusted } })
    await server.admin.updateProject({ body: { ID: ProjectID, IsTrusted } })
  }
  assert.deepEqual(await run(), { hasHome: false, warnings: [] })
  writeFileSync(onDisk(`${own}/code/planted`), "by a program that nobody looked at")
  writeFileSync(onDisk(`${own}/model/planted`), "by a program that nobody looked at")
  await trust(true)
  const { hasHome, warnings } = await run()
  assert.equal(hasHome, true)
  assert.deepEqual([readdirSync(onDisk(`${own}/code`)), readdirSync(onDisk(`${own}/model`))], [["0"], []])
  assert.deepEqual(readdirSync(onDisk(`${own}/earlier-1/code`)), ["0", "planted"])
  assert.deepEqual(readdirSync(onDisk(`${own}/earlier-1/model`)), ["planted"])
  assert.match(warnings.join(), /begins anew with what was released: .* in .*\/earlier-1$/)
  writeFileSync(onDisk(`${own}/code/work`), "of bob's")
  assert.deepEqual(await run(), { hasHome: true, warnings: [] })
  assert.deepEqual(readdirSync(onDisk(`${own}/code`)), ["0", "work"], "what begins trusted stays")
  await trust(false)
  assert.equal((await run()).hasHome, false)
  await trust(true)
  assert.equal((await run()).hasHome, true)
  assert.deepEqual(readdirSync(onDisk(`${own}/earlier-2/code`)), ["0", "work"])
  await trust(false)
})

test("a run that is stopped while its code is copied leaves nothing of the copy, and the next start copies it", async () => {
  const ProjectID = await released(64)
  const respond = { Prefer: "respond-async" }
  const started = await call("POST", "/running_project", { as: bob.authorization, headers: respond, body: { ProjectID } })
  const ID = Number(started.body.ID)
  await eventually("the copy has begun", async () => unfinished().length > 0)
  assert.equal((await call("DELETE", `/running_project?ID=${ID}`, { as: bob.authorization })).status, 200)
  assert.deepEqual([existsSync(onDisk(codeOf("bob", ProjectID))), unfinished()], [false, []])
  const run = await bob.client.startRun({ body: { ProjectID } })
  assert.equal(readdirSync(onDisk(codeOf("bob", ProjectID))).length, 64)
  await bob.client.stopRun({ query: { ID: run.ID } })
})

test("a mark as trusted that is made while code is released ends with the release", async () => {
  const ID = await released(64)
  const release = call("POST", `/project/release?ID=${ID}`)
  await eventually("the copy has begun", async () => unfinished().length > 0)
  const marked = await call("PUT", "/project", { as: admin, body: { ID, IsTrusted: true } })
  assert.deepEqual([marked.status, marked.body.IsTrusted, unfinished().length], [200, true, 1])
  assert.equal((await release).body.IsTrusted, false)
  assert.equal((await call("GET", `/project?ID=${ID}`)).body.IsTrusted, false)
})

test("code that is nested too deeply is not released, and starts use the previous release", async () => {
  const ID = await released(1)
  makeDirectory(`${codeOf("ann", ID)}/${Array.from({ length: 120 }, () => "d").join("/")}`)
  const refused = await call("POST", `/project/release?ID=${ID}`)
  assert.deepEqual([refused.status, refused.body.code], [409, "conflict"])
  assert.match(String(refused.body.msg), /nested deeper than 100/)
  const run = await bob.client.startRun({ body: { ProjectID: ID } })
  assert.deepEqual(readdirSync(onDisk(codeOf("bob", ID))), ["0"])
  await bob.client.stopRun({ query: { ID: run.ID } })
})

test("a start fails with the reason when its directories cannot be created", async () => {
  const ProjectID = await released(1)
  makeDirectory("/users/bob/projects")
  writeFileSync(onDisk(`/users/bob/projects/${ProjectID}`), "in the way")
  const failed = await call("POST", "/running_project", { as: bob.authorization, body: { ProjectID } })
  assert.deepEqual([failed.status, failed.body.code, failed.body.State], [409, "code_unavailable", "failed"])
  assert.match(String(failed.body.msg), /something in it is not a directory/)
})

test("a project's copy appears only after its code is copied, and not if that fails", async () => {
  const ID = await released(1)
  await using recorder = await recordEvents(bob.client)
  const copy = await bob.client.copyProject({ query: { ID } })
  await recorder.until(`project.created ${copy.ID}`)
  assert.deepEqual(readdirSync(onDisk(codeOf("bob", copy.ID))), ["0"])
  makeDirectory(`/projects/${ID}/release/${Array.from({ length: 120 }, () => "d").join("/")}`)
  const refused = await call("POST", `/project/copy?ID=${ID}`, { as: bob.authorization })
  assert.deepEqual([refused.status, refused.body.code], [409, "conflict"])
  assert.deepEqual(ids(await call("GET", "/projects?UserName=bob", { as: bob.authorization })), [copy.ID])
  assert.equal(recorder.received.filter((what) => what.startsWith("project.")).length, 1, "nobody else receives an event")
})

test("a copy of code ends within 5 s after its person lost the right to the project", async (t) => {
  for (const path of ["/running_project", "/project/copy"]) {
    const ProjectID = await released(1)
    const mocked = t.mock.method(
      FileTree.prototype,
      "copyTree",
      async (_from: string, _to: string, { signal }: { signal: AbortSignal }) => {
        await ann.client.updateProject({ body: { ID: ProjectID, IsPublic: false } })
        await setTimeout(5_000, undefined, { signal }).catch(() => signal.throwIfAborted())
      },
    )
    const options = path === "/project/copy" ? {} : { body: { ProjectID } }
    const answer = await call("POST", path === "/project/copy" ? `${path}?ID=${ProjectID}` : path, { as: bob.authorization, ...options })
    mocked.mock.restore()
    assert.equal(answer.body.code, path === "/project/copy" ? "not_found" : "access_withdrawn")
    assert.equal(existsSync(onDisk(codeOf("bob", ProjectID))), false)
  }
})

test("a release of code ends within 5 s after its project belongs to somebody else", async (t) => {
  for (const isChange of [false, true]) {
    const ID = isChange
      ? (await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: web.ID } })).ID
      : await released(1)
    const mocked = t.mock.method(
      FileTree.prototype,
      "copyTree",
      async (_from: string, _to: string, { signal }: { signal: AbortSignal }) => {
        await server.admin.updateProject({ body: { ID, UserName: "bob" } })
        await setTimeout(5_000, undefined, { signal }).catch(() => signal.throwIfAborted())
      },
    )
    const answer = await (isChange ? call("PUT", "/project", { body: { ID, IsPublic: true } }) : call("POST", `/project/release?ID=${ID}`))
    mocked.mock.restore()
    assert.deepEqual([answer.status, answer.body.code], [404, "not_found"])
    assert.equal((await bob.client.readProject({ query: { ID } })).IsPublic, !isChange)
  }
})

test("everything that Quayside creates in the files root belongs to the runs' user", {
  skip: process.getuid?.() !== 0 && "only root can be another user",
}, async () => {
  const ProjectID = await released(1)
  const run = await sendRequest(baseUrl, "POST", "/running_project", { as: admin, body: { ProjectID } })
  const base = `/users/admin/projects/${ProjectID}`
  for (const path of ["/users/bob", base, `${base}/code`, `${base}/code/0`, `${base}/model`, `/projects/${ProjectID}/release`])
    assert.equal(statSync(onDisk(path)).uid, 1000, path)
  await sendRequest(baseUrl, "DELETE", `/running_project?ID=${run.body.ID}`, { as: admin })
})
