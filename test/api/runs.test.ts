import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { bounds } from "#contract"
import { signIn } from "../fixtures/browser-session.ts"
import { eventually } from "../fixtures/eventually.ts"
import { recordQueries } from "../fixtures/recorded-queries.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { type AnyObject, ids, isFailure, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer({ "mock-gpus": "2" })
after(() => server[Symbol.asyncDispose]())
const { baseUrl, filesUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const bob = await server.person("bob")
const call = (method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: ann.authorization, ...options })
const web = await ann.client.createImage({ body: { Name: "web", Image: "fake/http", IsPublished: true } })
const newProject = (fields: object = {}) =>
  ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: web.ID, IsPublic: true, ...fields } })
const start = (body: object, options: SendOptions = {}) => call("POST", "/running_project", { body, ...options })
const stop = (query: string, as = ann.authorization) => call("DELETE", `/running_project?${query}`, { as })
const history = async (project: number) => ids(await call("GET", `/running_projects?State=ended&ProjectID=${project}`))

test("a start returns when the run is ready, with a working URL", async () => {
  const project = await newProject()
  const { status, body: run } = await start({ Project: { ID: project.ID }, URL: "", Nodes: 0 })
  assert.deepEqual(
    [status, run.State, run.ProjectID, run.UserName, run.ControlURL],
    [200, "ready", project.ID, "ann", `${baseUrl.replace("http:", "ws:")}/control?ID=${run.ID}`],
  )
  const { Running: _, ...whole } = project
  assert.deepEqual({ ...run.Project, Running: undefined }, { ...whole, Running: undefined })
  const opened = await sendRequest(String(run.URL), "GET", new URL(String(run.URL)).pathname, { as: ann.authorization })
  assert.equal(opened.status, 200)
  assert.equal((await call("GET", `/project?ID=${project.ID}`)).body.Running, true)
  assert.equal((await call("GET", `/project?ID=${project.ID}`, { as: bob.authorization })).body.Running, false)
  assert.deepEqual((await stop(`ID=${run.ID}`)).body, { ok: true })
  assert.equal((await call("GET", `/project?ID=${project.ID}`)).body.Running, false)
})

test("a run has every documented field, Quayside's additions included", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  const fields =
    "ID Project StartTime UserName Nodes Cpus Memory Gpus GpuMemory URL ControlURL Home HomeReason ProjectID State Reason QueuePosition WaitsFor Progress ReadyTime EndTime LastActivity ExpiresAt IdleExpiresAt NodeNames GpuDevices ImageDigest RegistryDigest"
  assert.deepEqual(
    fields.split(" ").filter((name) => !(name in run)),
    [],
  )
  assert.deepEqual([run.Nodes, run.Cpus, run.Memory, run.Gpus], [1, 1, 2048, 0], "0 or absent means the default")
  await stop(`ProjectID=${project.ID}`)
})

test("Project and ProjectID are both accepted, and must agree", async () => {
  const [one, other] = [await newProject(), await newProject()]
  const both = await start({ Project: { ID: one.ID }, ProjectID: other.ID })
  assert.deepEqual([both.status, both.body.field], [400, "ProjectID"])
  assert.equal((await start({})).body.field, "Project")
  for (const body of [{ Project: one }, { ProjectID: one.ID }, { Project: { ID: one.ID }, ProjectID: one.ID }]) {
    assert.equal((await start(body)).status, 200)
    await stop(`ProjectID=${one.ID}`)
  }
})

test("the start of a hidden or missing project is 404, and creates no run", async () => {
  const own = await newProject({ IsPublic: false })
  for (const ID of [own.ID, 99_999]) assert.equal((await start({ ProjectID: ID }, { as: bob.authorization })).status, 404)
  assert.deepEqual(await history(own.ID), [])
})

test("stopping a run that has ended or never ran succeeds", async () => {
  const project = await newProject()
  assert.deepEqual((await stop(`ProjectID=${project.ID}`)).body, { ok: true })
  const { body: run } = await start({ ProjectID: project.ID })
  for (let i = 0; i < 2; i += 1) assert.deepEqual((await stop(`ID=${run.ID}`)).body, { ok: true })
  assert.deepEqual((await stop(`ProjectID=${project.ID}`)).body, { ok: true })
  assert.equal((await stop("ID=99999")).status, 404)
  for (const [query, came] of [
    ["", "neither"],
    ["ID=1&ProjectID=1", "both"],
  ] as const) {
    const { status, body } = await stop(query)
    assert.deepEqual([status, body.msg], [400, `Either ID or ProjectID is needed; got ${came}`])
  }
})

test("a second start is 409 already_running with the run's ID, State and URL", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  const repeated = await start({ ProjectID: project.ID })
  assert.deepEqual(
    [repeated.status, repeated.body.code, repeated.body.ID, repeated.body.State, repeated.body.URL],
    [409, "already_running", run.ID, "ready", run.URL],
  )
  assert.ok(isFailure(repeated))
  const bobs = await start({ ProjectID: project.ID }, { as: bob.authorization })
  assert.equal(bobs.status, 200, "one live run for each person and project")
  await Promise.all([stop(`ID=${run.ID}`), stop(`ID=${bobs.body.ID}`, bob.authorization)])
})

test("a start that fails is a failure with ID, State and Reason, and the run is in the history", async () => {
  for (const [image, code] of [
    ["fake/missing", "image_not_found"],
    ["fake/exits:7", "exited"],
    ["fake/no-command", "command_not_found"],
  ] as const) {
    const created = await ann.client.createImage({ body: { Name: code, Image: image } })
    const project = await newProject({ ImageID: created.ID })
    const answer = await start({ ProjectID: project.ID })
    assert.deepEqual([answer.status, answer.body.code, answer.body.State, answer.body.Reason?.code], [409, code, "failed", code])
    assert.ok(isFailure(answer))
    assert.deepEqual(await history(project.ID), [Number(answer.body.ID)])
    const run = (await call("GET", `/running_project?ID=${answer.body.ID}`)).body
    assert.deepEqual([run.State, run.Reason?.msg, run.URL], ["failed", answer.body.Reason?.msg, ""])
  }
})

test("a start returns 503 when the engine refuses it", async () => {
  const created = await ann.client.createImage({ body: { Name: "e", Image: "fake/engine-error" } })
  const answer = await start({ ProjectID: (await newProject({ ImageID: created.ID })).ID })
  assert.deepEqual([answer.status, answer.body.code], [503, "engine_error"])
})

test("a project whose part was deleted or is hidden from the starter stays readable and fails to start, naming the part", async () => {
  const image = await ann.client.createImage({ body: { Name: "gone image", Image: "fake/http" } })
  const data = await ann.client.createData({ body: { Name: "hidden data" } })
  const deleted = await newProject({ ImageID: image.ID })
  await ann.client.deleteImage({ query: { ID: image.ID } })
  const first = await start({ ProjectID: deleted.ID })
  assert.deepEqual([first.status, first.body.code, first.body.State], [409, "image_unavailable", "failed"])
  assert.match(String(first.body.msg), /gone image/)
  assert.equal((await call("GET", `/project?ID=${deleted.ID}`)).status, 200)
  const hiding = await newProject({ TrainData: [{ ID: data.ID, MountPath: "/in" }] })
  const second = await start({ ProjectID: hiding.ID }, { as: bob.authorization })
  assert.deepEqual([second.status, second.body.code], [409, "data_unavailable"])
  assert.equal(second.body.msg, "A dataset mounted at /in is not shared with bob, or was deleted or moved: ask ann, the project's owner")
  const secret = await ann.client.createImage({ body: { Name: "secret image", Image: "fake/http" } })
  const third = await start({ ProjectID: (await newProject({ ImageID: secret.ID })).ID }, { as: bob.authorization })
  assert.equal(third.body.code, "image_unavailable")
  assert.equal(third.body.msg, "The project's image is not shared with bob, or was deleted: ask ann, the project's owner")
  await server.admin.createGrant({ body: { DataID: data.ID, UserName: "bob", Access: "read" } })
  await ann.client.deleteData({ query: { ID: data.ID } })
  const fourth = await start({ ProjectID: hiding.ID }, { as: bob.authorization })
  assert.match(String(fourth.body.msg), /"hidden data" at \/in was deleted or moved, or bob may not read it$/)
})

test("a run over the lowest of its person's and their groups' limits fails with `quota_exceeded`", async () => {
  await server.person("carl", { Limits: { MaxCpus: 4 } })
  const carl = basicAuth("carl", "carl-password")
  const project = await newProject()
  const rejected = await start({ ProjectID: project.ID, Cpus: 5 }, { as: carl })
  assert.deepEqual([rejected.status, rejected.body.code, rejected.body.State], [409, "quota_exceeded", "failed"])
  await server.admin.createGroup({ body: { GroupName: "small", Members: ["carl"], Limits: { MaxCpus: 2, MaxRuns: 1 } } })
  assert.equal((await start({ ProjectID: project.ID, Cpus: 3 }, { as: carl })).body.code, "quota_exceeded")
  assert.deepEqual((await call("GET", "/whoami", { as: carl })).body.Limits?.MaxCpus, 2)
  assert.equal((await start({ ProjectID: project.ID, Cpus: 2 }, { as: carl })).status, 200)
  assert.equal((await start({ ProjectID: (await newProject()).ID }, { as: carl })).body.code, "quota_exceeded")
  const { you, defaults } = (await call("GET", "/capacity", { as: carl })).body
  assert.deepEqual([defaults?.Cpus, defaults?.Memory, defaults?.StartMinutes, defaults?.Limits?.MaxRuns], [1, 2_048, 30, 50])
  assert.deepEqual(you, { Cpus: 0, Memory: null, Gpus: null })
  await stop(`ProjectID=${project.ID}`, carl)
})

test("a group's total limit queues a run behind other members' runs, and rejects a run beyond the limit", async () => {
  const [fay, gus] = [await server.person("fay"), await server.person("gus")]
  await server.admin.createGroup({ body: { GroupName: "pair", Members: ["fay", "gus"], TotalLimits: { MaxCpus: 3 } } })
  const project = await newProject()
  const rejected = await start({ ProjectID: project.ID, Cpus: 4 }, { as: fay.authorization })
  assert.deepEqual([rejected.status, rejected.body.code, rejected.body.State], [409, "quota_exceeded", "failed"])
  assert.match(String(rejected.body.msg), /all members of pair together is 3 CPUs/)
  assert.equal((await start({ ProjectID: project.ID, Cpus: 2 }, { as: fay.authorization })).status, 200)
  const cpusLeftFor = async (as: string) => (await call("GET", "/capacity", { as })).body.you?.Cpus
  assert.deepEqual(
    [await cpusLeftFor(fay.authorization), await cpusLeftFor(gus.authorization)],
    [1, 3],
    "other members' runs delay a start but do not reduce a limit",
  )
  const body = { ProjectID: project.ID, Cpus: 2 }
  const previewed = (await call("POST", "/preview", { body, as: gus.authorization })).body
  const WaitsFor = "waits until the members of pair hold less: the limit of the whole group is reached"
  assert.deepEqual(previewed, { Admitted: false, Queued: true, QueuePosition: 1, WaitsFor, Reason: null })
  const waiting = await start(body, { as: gus.authorization, headers: { prefer: "respond-async" } })
  assert.deepEqual([waiting.status, waiting.body.State, waiting.body.QueuePosition], [200, "queued", 1])
  await eventually("the queued run names the group", async () => {
    const { body } = await call("GET", `/running_project?ID=${waiting.body.ID}`, { as: gus.authorization })
    return String(body.WaitsFor) === WaitsFor
  })
  assert.equal((await start({ ProjectID: project.ID, Cpus: 9 })).status, 200, "others are not kept waiting by it")
  await Promise.all([stop(`ProjectID=${project.ID}`), stop(`ProjectID=${project.ID}`, fay.authorization)])
  await eventually("it goes when there is room", async () => {
    return String((await call("GET", `/running_project?ID=${waiting.body.ID}`, { as: gus.authorization })).body.State) === "ready"
  })
  await stop(`ProjectID=${project.ID}`, gus.authorization)
})

test("a preview shows the outcome of a start, refuses like a start, and starts nothing", async () => {
  const project = await newProject()
  const preview = (body: object, as = ann.authorization) => call("POST", "/preview", { body, as })
  const admitted = { Admitted: true, Queued: false, QueuePosition: null, WaitsFor: null, Reason: null }
  assert.deepEqual((await preview({ ProjectID: project.ID })).body, admitted)
  const { Token } = await ann.client.createToken({ body: { Name: "r", Scopes: ["read"] } })
  assert.deepEqual(
    (await preview({ ProjectID: project.ID }, bearerAuth(Token))).body,
    admitted,
    "it changes nothing: a token that reads will do",
  )
  const large = (await preview({ ProjectID: project.ID, Gpus: 3 })).body
  assert.deepEqual([large.Admitted, large.Queued, large.QueuePosition, large.Reason?.code], [false, false, null, "insufficient_gpu"])
  assert.equal((await preview({ ProjectID: project.ID, Cpus: -1 })).body.field, "Cpus")
  assert.equal((await preview({ ProjectID: (await newProject({ IsPublic: false })).ID }, bob.authorization)).status, 404)
  assert.deepEqual(await history(project.ID), [])
  const { body: run } = await start({ ProjectID: project.ID, Gpus: 2 })
  const repeated = await preview({ ProjectID: project.ID })
  assert.deepEqual([repeated.status, repeated.body.code, repeated.body.ID], [409, "already_running", run.ID])
  const waits = { Admitted: false, Queued: true, QueuePosition: 1, WaitsFor: "waits for 1 GPU", Reason: null }
  assert.deepEqual((await preview({ ProjectID: project.ID, Gpus: 1 }, bob.authorization)).body, waits)
  await stop(`ProjectID=${project.ID}`)
})

test("a run larger than every node fails, and one that waits for others is queued with the reason", async () => {
  const project = await newProject()
  const large = await start({ ProjectID: project.ID, Gpus: 3 })
  assert.deepEqual([large.body.code, large.body.State], ["insufficient_gpu", "failed"])
  assert.equal((await start({ ProjectID: project.ID, Nodes: 2 })).body.code, "nodes_unsupported")
  const { body: many } = await start({ ProjectID: project.ID, Nodes: bounds.runs.nodes.value + 1 })
  assert.deepEqual([many.code, many.field], ["invalid", "Nodes"])
  assert.equal((await start({ ProjectID: project.ID, Gpus: 2 })).status, 200)
  const waiting = await start({ ProjectID: project.ID, Gpus: 1 }, { as: bob.authorization, headers: { prefer: "respond-async" } })
  assert.deepEqual([waiting.status, waiting.body.State, waiting.body.QueuePosition, waiting.body.StartTime], [200, "queued", 1, null])
  await eventually("the queued run says what it waits for", async () => {
    const { body } = await call("GET", `/running_project?ID=${waiting.body.ID}`, { as: bob.authorization })
    return String(body.WaitsFor) === "waits for 1 GPU"
  })
  const { nodes } = (await call("GET", "/capacity")).body as unknown as {
    nodes: { Devices: { RunID: number | null }[]; Gpus: { free: number } }[]
  }
  assert.equal(nodes[0]?.Gpus.free, 0)
  assert.ok(nodes[0]?.Devices.every(({ RunID }) => RunID !== null))
  const hidden = (await call("GET", "/capacity", { as: bob.authorization })).text
  assert.ok(!/"RunID":\d/.test(hidden), "who holds a device is for administrators and the holder")
  await stop(`ProjectID=${project.ID}`)
  await eventually("the next run has a device that its owner sees as theirs", async () => {
    const [node] = (await call("GET", "/capacity", { as: bob.authorization })).body.nodes as unknown as typeof nodes
    return node?.Devices.filter(({ RunID }) => RunID === Number(waiting.body.ID)).length === 1 && node.Gpus.free === 1
  })
  await stop(`ProjectID=${project.ID}`, bob.authorization)
})

test("`respond-async` returns the run as it is at once", async () => {
  const slow = await ann.client.createImage({ body: { Name: "slow", Image: "fake/slow:60000" } })
  const project = await newProject({ ImageID: slow.ID })
  const answer = await start({ ProjectID: project.ID }, { headers: { prefer: "wait=5, respond-async" } })
  assert.equal(answer.status, 200)
  assert.notEqual(answer.body.State, "ready")
  assert.deepEqual(ids(await call("GET", `/running_projects?ProjectID=${project.ID}`)), [Number(answer.body.ID)])
  await stop(`ID=${answer.body.ID}`)
})

test("an Idempotency-Key makes a repeat return the same run, and another body with it is 409", async () => {
  const project = await newProject()
  const headers = { "idempotency-key": "once-only" }
  const [first, repeat] = [await start({ ProjectID: project.ID }, { headers }), await start({ ProjectID: project.ID }, { headers })]
  assert.deepEqual([repeat.status, repeat.body.ID], [200, first.body.ID])
  assert.equal((await start({ ProjectID: project.ID, Cpus: 2 }, { headers })).body.code, "conflict")
  assert.equal((await start({ ProjectID: project.ID, Cpus: "many" }, { headers })).body.code, "conflict")
  const { field, msg } = (await start({ ProjectID: project.ID }, { headers: { "idempotency-key": "two words" } })).body
  assert.deepEqual(
    [field, msg],
    ["Idempotency-Key", 'Idempotency-Key must be 1 to 200 printable ASCII characters, without spaces; got "two words"'],
  )
  await stop(`ID=${first.body.ID}`)
  const failing = await ann.client.createImage({ body: { Name: "f", Image: "fake/missing" } })
  const bad = await newProject({ ImageID: failing.ID })
  const key = { "idempotency-key": "fails" }
  const [one, again] = [await start({ ProjectID: bad.ID }, { headers: key }), await start({ ProjectID: bad.ID }, { headers: key })]
  assert.deepEqual([again.status, again.body.code, again.body.ID], [one.status, "image_not_found", one.body.ID])
})

test("a repeated Idempotency-Key returns its run even if the project was deleted or hidden meanwhile", async () => {
  const headers = { "idempotency-key": "outlives" }
  const project = await newProject()
  const first = await start({ ProjectID: project.ID }, { headers })
  await stop(`ID=${first.body.ID}`)
  const otherKey = { "idempotency-key": "outlives-again" }
  const repeat = () => call("POST", `/running_project/repeat?ID=${first.body.ID}`, { headers: otherKey })
  const second = await repeat()
  assert.equal(second.status, 200)
  await stop(`ID=${second.body.ID}`)
  await ann.client.deleteProject({ query: { ID: project.ID } })
  const repeated = await start({ ProjectID: project.ID }, { headers })
  assert.deepEqual([repeated.status, repeated.body.ID, repeated.body.State], [200, first.body.ID, "ended"])
  const repeatedAgain = await repeat()
  assert.deepEqual([repeatedAgain.status, repeatedAgain.body.ID], [200, second.body.ID])
  assert.equal((await start({ ProjectID: project.ID, Cpus: 2 }, { headers })).body.code, "conflict")
  assert.equal((await start({ ProjectID: project.ID })).status, 404)
})

test("lists of runs contain live runs, runs of one state, or the history with `State=ended`", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  const list = async (query: string, as = ann.authorization) =>
    ids(await call("GET", `/running_projects?ProjectID=${project.ID}${query}`, { as }))
  assert.deepEqual(await list(""), [run.ID])
  assert.deepEqual(await list("&State=ready"), [run.ID])
  assert.deepEqual(await list("&State=queued"), [])
  assert.deepEqual(await list("&State=ended"), [])
  assert.deepEqual(await list("&UserName=ann"), [run.ID])
  assert.deepEqual(await list("&UserName=bob"), [])
  await stop(`ID=${run.ID}`)
  assert.deepEqual(await list(""), [])
  assert.deepEqual(await list("&State=ended"), [run.ID])
  const read = (await call("GET", `/running_project?ProjectID=${project.ID}&UserName=ann`)).body
  assert.deepEqual([read.ID, read.State, read.Reason?.code], [run.ID, "ended", "stopped_by_user"])
})

test("a project's owner sees only that others run it", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID, Cpus: 2 }, { as: bob.authorization })
  const seen = (await call("GET", `/running_project?ID=${run.ID}`)).body
  const filled = Object.entries(seen).filter(
    ([, value]) => ![null, "", 0].includes(value as never) && !(Array.isArray(value) && value.length === 0),
  )
  assert.deepEqual(filled.map(([name]) => name).sort(), ["ID", "Project", "ProjectID", "StartTime", "State", "UserName"])
  assert.equal((await stop(`ID=${run.ID}`)).status, 403)
  const carla = await server.person("carla")
  assert.equal((await call("GET", `/running_project?ID=${run.ID}`, { as: carla.authorization })).status, 404)
  assert.equal(
    (await call("GET", `/running_project?ID=${run.ID}`, { as: admin })).body.URL,
    "",
    "administrators see the state and open nothing",
  )
  assert.deepEqual((await stop(`ID=${run.ID}`, admin)).body, { ok: true })
  assert.equal((await call("GET", `/running_project?ID=${run.ID}`, { as: bob.authorization })).body.Reason?.code, "stopped_by_admin")
})

test("deleting or withdrawing a project stops no run; the starter still stops it by ID and by ProjectID", async () => {
  const [deleted, withdrawn] = [await newProject(), await newProject()]
  for (const { ID } of [deleted, withdrawn]) assert.equal((await start({ ProjectID: ID }, { as: bob.authorization })).status, 200)
  await ann.client.deleteProject({ query: { ID: deleted.ID } })
  await ann.client.updateProject({ body: { ID: withdrawn.ID, IsPublic: false } })
  const live = (await call("GET", "/running_projects", { as: bob.authorization })).body.data as unknown as AnyObject[]
  assert.deepEqual(
    live.map(({ State }) => State),
    ["ready", "ready"],
  )
  assert.equal((await start({ ProjectID: withdrawn.ID }, { as: bob.authorization })).status, 404)
  assert.deepEqual((await stop(`ProjectID=${withdrawn.ID}`, bob.authorization)).body, { ok: true })
  assert.deepEqual((await stop(`ID=${live.find((run) => Number(run.ProjectID) === deleted.ID)?.ID}`, bob.authorization)).body, { ok: true })
  assert.deepEqual(ids(await call("GET", "/running_projects", { as: bob.authorization })), [])
})

test("disabling a person stops their runs with access_withdrawn", async () => {
  const dora = await server.person("dora")
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID }, { as: dora.authorization })
  const { ID } = await server.admin.readUser({ query: { UserName: "dora" } })
  await server.admin.updateUser({ body: { ID, IsDisabled: true } })
  const seen = await server.admin.readRun({ query: { ID: Number(run.ID) } })
  assert.deepEqual([seen.State, seen.Reason?.code], ["ended", "access_withdrawn"])
})

test("a run's usage is returned to people who may see it, with null for unknown figures, and stays after the end", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID, Memory: 512 })
  const stats = async (as = ann.authorization) => (await call("GET", `/running_project/stats?ID=${run.ID}`, { as })).body
  const { now, series } = await stats()
  const { Time, Disk: _, ...figures } = now as unknown as Record<string, unknown>
  const nothing = { Cpus: null, GpuMemory: null, GpuBusy: null }
  assert.deepEqual(figures, { ...nothing, Memory: 32, MemoryPeak: 32, MemoryLimit: 512, NetworkIn: 0, NetworkOut: 0 })
  const { Time: begin, ...point } = (series as unknown as Record<string, unknown>[]).at(-1) ?? {}
  assert.deepEqual({ ...point, Disk: null }, { ...figures, Disk: null })
  assert.match(String(begin), /^\d{4}-.*0\.000Z$/)
  assert.ok(String(begin) <= String(Time))
  assert.match(String(Time), /^\d{4}-.*Z$/)
  assert.equal((await stats(admin)).now?.Memory, 32)
  assert.equal(String((await stats(bob.authorization)).code), "not_found")
  await stop(`ID=${run.ID}`)
  const after = await stats()
  const [mark] = after.marks as unknown as AnyObject[]
  assert.deepEqual(
    [(after.series as unknown as AnyObject[])[0]?.Memory, after.now?.Memory, mark?.Kind, mark?.Text],
    [32, null, "exit", "The person who started the run stopped it"],
  )
  assert.equal(String((await stats(bob.authorization)).code), "not_found")
})

test("`From`, `To` and `Step` select the series of a run's usage, and wrong ones are rejected", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  const stats = (query: string) => call("GET", `/running_project/stats?ID=${run.ID}${query}`, { as: ann.authorization })
  const isEmpty = async (query: string) => ((await stats(query)).body.series as unknown as unknown[]).length === 0
  await stats("")
  const [before, later] = [new Date(Date.now() - 60_000).toISOString(), new Date(Date.now() + 3_600_000).toISOString()]
  assert.equal(await isEmpty(`&From=${before}`), false)
  assert.equal(await isEmpty("&From=2020-01-01T00:00:00Z&Step=86400"), false)
  assert.equal(await isEmpty("&From=2020-01-01T00:00:00Z"), false)
  assert.equal(await isEmpty(`&From=${later}`), true)
  assert.equal(await isEmpty(`&To=${before}`), true)
  const rejected = async (query: string) => {
    const { status, body } = await stats(query)
    return [status, body.code, body.field, body.msg]
  }
  const step = 'Step must be seconds from 10 to 604800, a multiple of 10; got "'
  assert.deepEqual(await rejected("&Step=15"), [400, "invalid", "Step", `${step}15"`])
  assert.deepEqual(await rejected("&Step=0"), [400, "invalid", "Step", `${step}0"`])
  const order = "From must be before To; got 2026-01-02T00:00:00.000Z and 2026-01-01T00:00:00.000Z"
  assert.deepEqual(await rejected("&From=2026-01-02T00:00:00Z&To=2026-01-01T00:00:00Z"), [400, "invalid", "From", order])
  const many = "Step must be at least 420 s for this time, as an answer has at most 1500 points; got 60"
  assert.deepEqual(await rejected("&From=2020-01-01T00:00:00Z&Step=60"), [400, "invalid", "Step", many])
  assert.equal((await rejected("&From=yesterday"))[2], "From")
  await stop(`ID=${run.ID}`)
})

test("a keep request counts as activity, for people who may send it, until the run ends", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  const keep = (as = ann.authorization) => call("POST", `/running_project/keep?ID=${run.ID}`, { as })
  const response = await keep()
  assert.deepEqual([response.status, response.body.State], [200, "ready"])
  assert.ok(String(response.body.LastActivity) > String(run.LastActivity))
  const audited = (await call("GET", "/audit?Action=run.keep", { as: admin })).body.data as unknown as AnyObject[]
  assert.deepEqual([audited[0]?.Actor, audited[0]?.Thing?.ID], ["ann", run.ID])
  assert.deepEqual([(await keep(bob.authorization)).status, (await keep(admin)).status], [404, 403])
  await stop(`ID=${run.ID}`)
  const late = await keep()
  assert.deepEqual([late.status, late.body.code], [409, "conflict"])
})

test("a repeat starts the earlier image and mounts despite later changes, and fails when a right was lost", async () => {
  const image = await ann.client.createImage({ body: { Name: "first", Image: "fake/http:1", Env: "WORD=old", IsPublished: true } })
  const data = await ann.client.createData({ body: { Name: "shared", IsPublished: true } })
  const project = await newProject({ ImageID: image.ID, TrainData: [{ ID: data.ID, MountPath: "/in" }] })
  const as = bob.authorization
  const first = (await start({ ProjectID: project.ID, Cpus: 2, Memory: 300 }, { as })).body
  const repeat = (headers: Record<string, string> = {}, who = as) =>
    call("POST", `/running_project/repeat?ID=${first.ID}`, { as: who, headers })
  assert.deepEqual([(await repeat()).body.code, (await repeat()).body.ID], ["already_running", first.ID])
  assert.deepEqual([(await repeat({}, ann.authorization)).status, (await repeat({}, admin)).status], [403, 403], "it is its person's")
  await stop(`ID=${first.ID}`, as)
  await ann.client.updateImage({ body: { ID: image.ID, Image: "fake/http:2", Env: "WORD=new" } })
  await ann.client.updateProject({ body: { ID: project.ID, Type: "jupyter", CodePath: "/elsewhere" } })
  const [again, same] = [await repeat({ "idempotency-key": "again" }), await repeat({ "idempotency-key": "again" })]
  assert.equal(again.status, 200)
  assert.equal(same.body.ID, again.body.ID)
  assert.notEqual(again.body.ID, first.ID)
  for (const field of ["Cpus", "Memory", "Nodes", "Gpus", "ImageDigest", "RegistryDigest", "UserName"])
    assert.deepEqual(again.body[field], first[field], field)
  const env = (await sendRequest(String(again.body.URL), "GET", `${new URL(String(again.body.URL)).pathname}env`, { as })).body
  assert.deepEqual([env.WORD, env.PORT], ["old", "8000"])
  await stop(`ID=${again.body.ID}`, as)
  await ann.client.deleteData({ query: { ID: data.ID } })
  const without = await repeat()
  assert.deepEqual([without.status, without.body.code, without.body.State], [409, "data_unavailable", "failed"])
  await ann.client.updateImage({ body: { ID: image.ID, IsPublished: false } })
  assert.equal((await repeat()).body.code, "image_unavailable")
  await ann.client.updateProject({ body: { ID: project.ID, IsPublic: false } })
  assert.equal((await repeat()).status, 404)
})

test("an administrator starts a run for another person with that person's rights", async () => {
  const project = await newProject()
  const run = await start({ ProjectID: project.ID, UserName: "bob" }, { as: admin })
  assert.deepEqual([run.status, run.body.UserName], [200, "bob"])
  assert.equal((await start({ ProjectID: project.ID, UserName: "bob" })).status, 403)
  const hidden = await newProject({ IsPublic: false })
  assert.equal((await start({ ProjectID: hidden.ID, UserName: "bob" }, { as: admin })).body.field, "UserName")
  await stop(`ID=${run.body.ID}`, admin)
})

test("other people's code begins as a copy of the owner's latest release", async () => {
  const project = await newProject({ IsPublic: false })
  const code = `/users/ann/projects/${project.ID}/code`
  assert.equal((await start({ ProjectID: project.ID })).status, 200)
  const put = (text: string) => sendRequest(filesUrl, "PUT", `${code}/main.py`, { as: ann.authorization, body: text })
  const codeOf = async (name: string) =>
    (await sendRequest(filesUrl, "GET", `/users/${name}/projects/${project.ID}/code/main.py`, { as: admin })).text
  await put("first")
  await ann.client.updateProject({ body: { ID: project.ID, IsPublic: true } })
  await put("second")
  await start({ ProjectID: project.ID }, { as: bob.authorization })
  assert.equal(await codeOf("bob"), "first")
  assert.equal((await call("POST", `/project/release?ID=${project.ID}`, { as: bob.authorization })).status, 403)
  assert.equal((await call("POST", `/project/release?ID=${project.ID}`)).body.ID, project.ID)
  await start({ ProjectID: project.ID }, { as: admin })
  assert.equal(await codeOf("admin"), "second")
  assert.equal(await codeOf("bob"), "first", "what somebody has stays theirs")
  const copy = await bob.client.copyProject({ query: { ID: project.ID } })
  assert.equal(
    (await sendRequest(filesUrl, "GET", `/users/bob/projects/${copy.ID}/code/main.py`, { as: bob.authorization })).text,
    "second",
  )
  for (const as of [ann.authorization, bob.authorization, admin]) await stop(`ProjectID=${project.ID}`, as)
})

test("after a restart the lists match the runs in the engine", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  await server.restart()
  const seen = (await call("GET", `/running_project?ID=${run.ID}`)).body
  assert.equal(seen.ID, run.ID)
  assert.equal((await call("GET", `/project?ID=${project.ID}`)).body.Running, String(seen.State) === "ready")
  await stop(`ID=${run.ID}`)
})

test("a run's output is returned as JSON lines to people who may read it, also after the end", async () => {
  const project = await newProject()
  const { body: run } = await start({ ProjectID: project.ID })
  const logs = (query = "", as = ann.authorization) =>
    fetch(`${baseUrl}/running_project/logs?ID=${run.ID}${query}`, { headers: { authorization: as } })
  const lines = async (answer: Response) =>
    (await answer.text())
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line))
  const live = await logs()
  assert.equal(live.headers.get("content-type"), "application/x-ndjson")
  const logLines = await lines(live)
  assert.ok(logLines.length > 0)
  for (const line of logLines) assert.deepEqual([Object.keys(line), typeof line.text], [["time", "stream", "text"], "string"])
  assert.deepEqual(await lines(await logs("&tail=1")), logLines.slice(-1))
  assert.deepEqual(await lines(await logs(`&since=${new Date(Date.now() + 60_000).toISOString()}`)), [])
  const following = await logs("&follow=1")
  await stop(`ID=${run.ID}`)
  assert.deepEqual((await lines(following)).slice(0, logLines.length), logLines, "following ends with the run")
  assert.deepEqual((await lines(await logs())).slice(0, logLines.length), logLines, "kept after the end")
  assert.deepEqual([(await logs("", bob.authorization)).status, (await logs("", admin)).status], [404, 403])
})

test("opening a run, and reading its output, read no documentation of its project", async () => {
  const project = await newProject({ Doc: "long" })
  const { body: run } = await start({ ProjectID: project.ID })
  const { headers } = await signIn(baseUrl, ann)
  const asked: (() => ReturnType<typeof call>)[] = [
    () => sendRequest(baseUrl, "GET", `/open?ID=${run.ID}`, { headers }),
    () => call("GET", `/running_project/logs?ID=${run.ID}`),
  ]
  for (const ask of asked) {
    const queries = await recordQueries(async () => assert.ok((await ask()).status < 400))
    assert.ok(queries.some((sql) => sql.includes('from "projects"')))
    assert.deepEqual(
      queries.filter((sql) => sql.includes('"projects"."doc"')),
      [],
    )
  }
  await stop(`ID=${run.ID}`)
})
