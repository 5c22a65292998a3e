import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type Person, startTestServer } from "../test-server.ts"
import { type SendOptions, sendRequest } from "./http-client.ts"
import { mountsOf } from "./run-mounts.ts"

/*
 * A project determines how its parts are used. People who start a stranger's project must not lend
 * the stranger their own rights.
 */

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { admin } = server
const [ann, bob, eve] = [await server.person("ann"), await server.person("bob"), await server.person("eve")]
await server.acquaint(ann, bob, eve)
const imageId = (await admin.createImage({ body: { Name: "house", Image: "fake/http", IsPublished: true } })).ID

const call = (who: Person, method: string, path: string, options: SendOptions = {}) =>
  sendRequest(server.quayside.baseUrl, method, path, { as: who.authorization, ...options })
const newProject = async (who: Person, fields: object = {}) =>
  (await who.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: imageId, IsPublic: true, ...fields } })).ID
const grant = (DataID: number, UserName: string, Access: "read" | "use" | "write") =>
  ann.client.createGrant({ body: { DataID, UserName, Access } })

/** The way a start mounts the dataset at `/in`, or the reason why it does not. */
async function mountIn(who: Person, project: number): Promise<string> {
  const { status, body } = await call(who, "POST", "/running_project", { body: { ProjectID: project } })
  if (status !== 200) return `${status} ${body.code}: ${body.msg}`
  await call(who, "DELETE", `/running_project?ProjectID=${project}`)
  const mount = (await mountsOf(server, Number(body.ID))).find(({ target }) => target === "/in")
  return mount ? (mount.readOnly ? "ro" : "rw") : "none"
}

test("a stranger's copy of a project mounts nothing of the first owner's when that owner starts it, until an administrator trusts it", async () => {
  const data = await ann.client.createData({ body: { Name: "private rows" } })
  const project = await newProject(ann, { TrainData: [{ ID: data.ID, MountPath: "/in" }] })
  const copy = await eve.client.copyProject({ query: { ID: project } })
  await eve.client.updateProject({ body: { ID: copy.ID, IsPublic: true } })
  assert.equal(await mountIn(ann, project), "rw")
  const remedy = "they need the right as well, or an administrator's trust in the project"
  const refused = `409 data_unavailable: The project's dataset ${data.ID} "private rows" at /in may not be read by eve, whose project this is: ${remedy}`
  assert.equal(await mountIn(ann, copy.ID), refused)
  assert.match(
    await mountIn(eve, copy.ID),
    /A dataset mounted at \/in was deleted or moved, or is no longer shared with eve, whose project this is: remove it from the project, or ask/,
  )
  const preview = await call(ann, "POST", "/preview", { body: { ProjectID: copy.ID } })
  assert.equal((preview.body.Reason as { code?: unknown }).code, "data_unavailable")
  await admin.updateProject({ body: { ID: copy.ID, IsTrusted: true } })
  assert.equal(await mountIn(ann, copy.ID), "rw")
  await eve.client.updateProject({ body: { ID: copy.ID, CodePath: "/opt/tool" } })
  assert.equal(await mountIn(ann, copy.ID), refused)
})

test("a mount has the lesser of the rights of its starter and of the project's owner", async () => {
  const data = await ann.client.createData({ body: { Name: "rows" } })
  const project = await newProject(bob)
  await grant(data.ID, "bob", "read")
  await bob.client.updateProject({ body: { ID: project, TrainData: [{ ID: data.ID, MountPath: "/in" }] } })
  for (const [owner, starter, expected] of [
    ["read", "read", "ro"],
    ["read", "write", "ro"],
    ["write", "read", "ro"],
    ["use", "write", "ro"],
    ["write", "write", "rw"],
  ] as const) {
    await grant(data.ID, "bob", owner)
    await grant(data.ID, "eve", starter)
    assert.equal(await mountIn(eve, project), expected, `owner ${owner}, starter ${starter}`)
    assert.equal(await mountIn(bob, project), owner === "write" ? "rw" : "ro", `the owner's own: ${owner}`)
  }
  assert.equal(await mountIn(ann, project), "rw", "the dataset's owner, where the project's may write as well")
  await grant(data.ID, "bob", "read")
  assert.equal(await mountIn(ann, project), "ro")
})

test("repeated runs, group projects and transferred projects lend no rights", async () => {
  const data = await ann.client.createData({ body: { Name: "rows" } })
  const group = await admin.createGroup({ body: { GroupName: "lab", Members: ["ann", "bob"] } })
  await grant(data.ID, "bob", "write")
  const project = await newProject(bob, { IsPublic: false, GroupName: group.GroupName, TrainData: [{ ID: data.ID, MountPath: "/in" }] })
  const run = await ann.client.startRun({ body: { ProjectID: project } })
  await ann.client.stopRun({ query: { ID: run.ID } })
  await ann.client.deleteGrant({ query: { DataID: data.ID, UserName: "bob" } })
  assert.match(await mountIn(ann, project), /may not be read by bob/)
  const repeated = await call(ann, "POST", `/running_project/repeat?ID=${run.ID}`)
  assert.deepEqual([repeated.status, repeated.body.code], [409, "data_unavailable"])
  assert.match(String(repeated.body.msg), /may not be read by bob/)
  const own = await newProject(ann, { TrainData: [{ ID: data.ID, MountPath: "/in" }] })
  assert.equal(await mountIn(ann, own), "rw")
  await admin.updateProject({ body: { ID: own, UserName: "eve" } })
  assert.match(await mountIn(ann, own), /may not be read by eve/)
})

test("an administrator's rights apply only to projects that administrators alone have changed", async () => {
  const data = await ann.client.createData({ body: { Name: "rows" } })
  const fields = {
    ProjectName: "p",
    Type: "http",
    ImageID: imageId,
    IsPublic: true,
    TrainData: [{ ID: data.ID, MountPath: "/in" }],
  } as const
  const { ID } = await admin.createProject({ body: fields })
  assert.equal(await mountIn(ann, ID), "rw")
  await admin.createGrant({ body: { ProjectID: ID, UserName: "bob", Access: "write" } })
  await bob.client.updateProject({ body: { ID, CodePath: "/opt/tool" } })
  assert.match(await mountIn(ann, ID), /may not be read by admin, whose project this is/)
})

test("a stranger's project cannot run its starter's private image", async () => {
  const image = await ann.client.createImage({ body: { Name: "keys", Image: "fake/http", Env: "KEY=secret" } })
  const project = await newProject(ann, { ImageID: image.ID })
  const copy = await eve.client.copyProject({ query: { ID: project } })
  await eve.client.updateProject({ body: { ID: copy.ID, IsPublic: true } })
  assert.match(await mountIn(ann, copy.ID), /^409 image_unavailable: The project's image \d+ "keys" may not be used by eve, whose project/)
  await ann.client.updateImage({ body: { ID: image.ID, IsPublished: true } })
  assert.equal(await mountIn(ann, copy.ID), "none")
})
