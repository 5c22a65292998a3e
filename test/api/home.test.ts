import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { adminPassword, type Person, startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { type SendOptions, sendRequest } from "./http-client.ts"
import { mountsOf } from "./run-mounts.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const [ann, bob] = [await server.person("ann"), await server.person("bob")]
await server.acquaint(ann, bob)
const call = (who: Person | string, method: string, path: string, options: SendOptions = {}) =>
  sendRequest(baseUrl, method, path, { as: typeof who === "string" ? who : who.authorization, ...options })

interface Pair {
  image: number
  project: number
}

/** A project with an image of its own, made by this person. */
async function createPair(who: Person = ann): Promise<Pair> {
  const image = await who.client.createImage({ body: { Name: "web", Image: "fake/http" } })
  const project = await who.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  return { image: image.ID, project: project.ID }
}

async function share(who: Person, { image, project }: Pair, UserName: string): Promise<void> {
  for (const target of [{ ImageID: image }, { ProjectID: project }]) {
    assert.equal((await call(who, "POST", "/grant", { body: { ...target, UserName, Access: "write" } })).status, 200)
  }
}

async function change(who: Person | string, kind: "image" | "project", body: object): Promise<void> {
  const { status, text } = await call(who, "PUT", `/${kind}`, { body })
  assert.equal(status, 200, text)
}

/** The target of a run's `UserPath`. */
async function homeIn(who: Person, project: number): Promise<"home" | "own directory"> {
  const { status, body, text } = await call(who, "POST", "/running_project", { body: { ProjectID: project } })
  assert.equal(status, 200, text)
  await call(who, "DELETE", `/running_project?ProjectID=${project}`)
  const mounts = await mountsOf(server, Number(body.ID))
  assert.equal(body.Home, mounts.find(({ target }) => target === "/work/home")?.source)
  assert.equal(String(body.HomeReason) === "", String(body.Home) === `/users/${who === ann ? "ann" : "bob"}`, String(body.HomeReason))
  const source = mounts.find(({ target }) => target === "/work/home")?.source
  const name = who === ann ? "ann" : "bob"
  if (source === `/users/${name}`) return "home"
  assert.equal(source, `/users/${name}/projects/${project}/user`)
  return "own directory"
}

test("a person's own project with their own image mounts their home, and nobody else's", async () => {
  const { image, project } = await createPair()
  assert.equal(await homeIn(ann, project), "home")
  await share(ann, { image, project }, "bob")
  assert.equal(await homeIn(bob, project), "own directory")
  const bobsPair = await createPair(bob)
  await share(bob, bobsPair, "ann")
  const mixed = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: bobsPair.image } })
  assert.equal(await homeIn(ann, mixed.ID), "own directory")
})

test("an administrator's project or image is trusted until somebody else changes it, also after a later change by an administrator", async () => {
  const sharedImage = await server.admin.createImage({ body: { Name: "house", Image: "fake/http", IsPublished: true } })
  const onIt = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: sharedImage.ID } })
  assert.equal(await homeIn(ann, onIt.ID), "home")
  const open = await server.admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: sharedImage.ID, IsPublic: true } })
  assert.equal(await homeIn(bob, open.ID), "home")
  for (const target of [{ ImageID: sharedImage.ID }, { ProjectID: open.ID }])
    await call(admin, "POST", "/grant", { body: { ...target, UserName: "bob", Access: "write" } })
  await change(bob, "project", { ID: open.ID, CodePath: "/opt/tool" })
  assert.equal(await homeIn(ann, open.ID), "own directory")
  await change(admin, "project", { ID: open.ID, CodePath: "" })
  assert.equal(await homeIn(ann, open.ID), "own directory", "an administrator's change does not approve earlier changes")
  await change(admin, "project", { ID: open.ID, IsTrusted: true })
  assert.equal(await homeIn(ann, open.ID), "home")
  await change(bob, "image", { ID: sharedImage.ID, Env: "A=1" })
  assert.equal(await homeIn(ann, onIt.ID), "own directory")
})

test("a project or image changed by somebody else does not run in the owner's home until the owner or an administrator changes it", async () => {
  const data = await bob.client.createData({ body: { Name: "tools" } })
  const { ID: other } = await bob.client.createImage({ body: { Name: "other", Image: "fake/http" } })
  await call(bob, "POST", "/grant", { body: { ImageID: other, UserName: "ann", Access: "use" } })
  await call(bob, "POST", "/grant", { body: { DataID: data.ID, UserName: "ann", Access: "read" } })
  for (const [kind, theirs, own] of [
    ["image", { Command: "evil" }, { Command: "good" }],
    ["image", { Env: "PATH=/evil" }, { Env: "" }],
    ["image", { Port: "8081" }, { Port: "" }],
    ["image", { Image: "fake/http:evil" }, { Image: "fake/http" }],
    ["project", { CodePath: "/opt/tool" }, { CodePath: "" }],
    ["project", { TrainData: [{ ID: data.ID, MountPath: "/opt/tool" }] }, { TrainData: [] }],
    ["project", { Type: "vscode" }, { Type: "http" }],
  ] as const) {
    const pair = await createPair()
    await change(ann, kind, { ID: pair[kind], ...own })
    await share(ann, pair, "bob")
    const description = JSON.stringify(theirs)
    await change(bob, kind, { ID: pair[kind], Comment: "read it", ...own })
    assert.equal(await homeIn(ann, pair.project), "home", `a comment, and the present values: ${description}`)
    await change(bob, kind, { ID: pair[kind], ...theirs })
    await change(ann, kind, { ID: pair[kind], Comment: "not read" })
    assert.equal(await homeIn(ann, pair.project), "own directory", description)
    await change(ann, kind, { ID: pair[kind], ...own })
    assert.equal(await homeIn(ann, pair.project), "home", description)
    await change(admin, kind, { ID: pair[kind], ...theirs })
    assert.equal(await homeIn(ann, pair.project), "home", description)
  }
  const createdPair = await createPair()
  await share(ann, createdPair, "bob")
  await change(bob, "project", { ID: createdPair.project, ImageID: other })
  await change(bob, "project", { ID: createdPair.project, ImageID: createdPair.image })
  assert.equal(await homeIn(ann, createdPair.project), "own directory", "the same person may have changed more")
})

test("only the owner gets a warning, and only when a run of their project does not mount their home", async () => {
  await using annsEvents = await recordEvents(ann.client)
  const warningsOf = async (id: number) => {
    const { body, text, status } = await call(ann, "POST", "/running_project", { body: { ProjectID: id } })
    assert.equal(status, 200, text)
    await call(ann, "DELETE", `/running_project?ID=${body.ID}`)
    const own = () => annsEvents.events.filter(({ data }) => data.ID === Number(body.ID))
    await eventually("the end of the run is received", () => own().some(({ data }) => data.State === "ended"))
    return own().flatMap(({ event, data }) => (event === "run.warning" ? [data.Warning] : []))
  }
  const pair = await createPair()
  assert.deepEqual(await warningsOf(pair.project), [])
  await share(ann, pair, "bob")
  await change(bob, "project", { ID: pair.project, CodePath: "/opt/tool" })
  const text = "Your home is not in this run, but a directory of the project's own: "
  assert.deepEqual(await warningsOf(pair.project), [`${text}bob changed what the project runs`])
  await change(ann, "project", { ID: pair.project, CodePath: "" })
  assert.deepEqual(await warningsOf(pair.project), [])
  const bobsPair = await createPair(bob)
  await share(bob, bobsPair, "ann")
  assert.deepEqual(await warningsOf(bobsPair.project), [])
  const mixed = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: bobsPair.image } })
  assert.deepEqual(await warningsOf(mixed.ID), [`${text}the image is bob's, and no administrator trusts it`])
})

test("a run's answer tells which directory is the home, and why it is not its person's, to that person only", async () => {
  const bobsPair = await createPair(bob)
  await share(bob, bobsPair, "ann")
  const { body: run } = await call(ann, "POST", "/running_project", { body: { ProjectID: bobsPair.project } })
  assert.deepEqual(
    [run.Home, run.HomeReason],
    [`/users/ann/projects/${bobsPair.project}/user`, "the project is bob's, and no administrator trusts it"],
  )
  const seen = await call(bob, "GET", `/running_project?ID=${run.ID}`)
  assert.deepEqual([seen.status, seen.body.Home, seen.body.HomeReason], [200, "", ""])
  const { body: list } = await call(ann, "GET", `/running_projects?ID=${run.ID}`)
  assert.equal(list.data?.[0]?.HomeReason, run.HomeReason)
  await call(ann, "DELETE", `/running_project?ID=${run.ID}`)
  const { body: repeated } = await call(ann, "POST", `/running_project/repeat?ID=${run.ID}`)
  assert.deepEqual([repeated.Home, repeated.HomeReason], [run.Home, run.HomeReason])
  await call(ann, "DELETE", `/running_project?ID=${repeated.ID}`)
})

test("a repeated run does not mount the home after somebody else changed what runs", async () => {
  const pair = await createPair()
  await share(ann, pair, "bob")
  const { body: run } = await call(ann, "POST", "/running_project", { body: { ProjectID: pair.project } })
  await call(ann, "DELETE", `/running_project?ID=${run.ID}`)
  const repeated = await call(ann, "POST", `/running_project/repeat?ID=${run.ID}`)
  assert.equal(repeated.status, 200, repeated.text)
  await call(ann, "DELETE", `/running_project?ID=${repeated.body.ID}`)
  await change(bob, "image", { ID: pair.image, Command: "evil" })
  assert.equal((await call(ann, "POST", `/running_project/repeat?ID=${run.ID}`)).body.code, "data_unavailable")
})

test("a project that an administrator made for somebody mounts their home; a transferred or copied one does not", async () => {
  const image = await server.admin.createImage({ body: { Name: "web", Image: "fake/http", UserName: "ann" } })
  const project = await server.admin.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID, UserName: "ann" } })
  assert.equal(await homeIn(ann, project.ID), "home")
  const bobsPair = await createPair(bob)
  await change(admin, "image", { ID: bobsPair.image, UserName: "ann" })
  await change(admin, "project", { ID: bobsPair.project, UserName: "ann" })
  assert.equal(await homeIn(ann, bobsPair.project), "own directory")
  const [one, two] = [await createPair(ann), await createPair(bob)]
  await share(ann, one, "bob")
  await share(bob, two, "ann")
  await change(bob, "project", { ID: two.project, ImageID: one.image })
  const copy = await ann.client.copyProject({ query: { ID: two.project } })
  assert.equal(await homeIn(ann, copy.ID), "own directory")
})

test("a trusted project mounts everybody's home until somebody else changes what runs, including its mounts", async () => {
  const pair = await createPair()
  const data = await ann.client.createData({ body: { Name: "tools", IsPublished: true } })
  await share(ann, pair, "bob")
  const trust = async () => {
    await change(admin, "image", { ID: pair.image, IsTrusted: true })
    await change(admin, "project", { ID: pair.project, IsTrusted: true })
    assert.equal(await homeIn(bob, pair.project), "home")
  }
  await trust()
  await change(ann, "project", { ID: pair.project, TrainData: [{ ID: data.ID, MountPath: "/opt/tool" }] })
  assert.equal(await homeIn(bob, pair.project), "own directory")
  await trust()
  await change(ann, "image", { ID: pair.image, Env: "A=1" })
  assert.equal(await homeIn(bob, pair.project), "own directory")
})

test("a run that is read by other fields than its ID has its home, however long its plan is", async () => {
  const { ID: ImageID } = await ann.client.createImage({ body: { Name: "long", Image: "fake/http", Env: `A=${"x".repeat(2_000)}` } })
  const { ID } = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  const { body: run } = await call(ann, "POST", "/running_project", { body: { ProjectID: ID } })
  const { body: found } = await call(ann, "GET", `/running_project?ProjectID=${ID}`)
  assert.deepEqual([found.ID, found.Home], [run.ID, "/users/ann"])
})
