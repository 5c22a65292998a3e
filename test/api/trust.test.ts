import assert from "node:assert/strict"
import { after, test } from "node:test"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { mountsOf, writablePathsOf } from "./run-mounts.ts"

// Trust applies to the code that an administrator reviewed: later code is not trusted.

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { admin } = server
const [ann, bob] = [await server.person("ann"), await server.person("bob")]
await server.acquaint(ann, bob)
await admin.createGroup({ body: { GroupName: "lab", Members: ["ann", "bob"] } })

async function createTrusted() {
  const image = (await ann.client.createImage({ body: { Name: "i", Image: "fake/http", IsPublished: true } })).ID
  const project = (await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image, IsPublic: true } })).ID
  await admin.updateImage({ body: { ID: image, IsTrusted: true } })
  await admin.updateProject({ body: { ID: project, IsTrusted: true } })
  assert.equal(await mountsHome(project), true)
  return { image, project }
}

async function mountsHome(ProjectID: number): Promise<boolean> {
  const run = await bob.client.startRun({ body: { ProjectID } })
  await bob.client.stopRun({ query: { ID: run.ID } })
  return (await mountsOf(server, run.ID)).some(({ source }) => source === "/users/bob")
}

type TrustedResources = Awaited<ReturnType<typeof createTrusted>>
const project = (fields: object) => async (client: typeof admin, resources: TrustedResources) => {
  await client.updateProject({ body: { ID: resources.project, ...fields } })
}
const image = (fields: object) => async (client: typeof admin, resources: TrustedResources) => {
  await client.updateImage({ body: { ID: resources.image, ...fields } })
}
const published = await ann.client.createData({ body: { Name: "d", IsPublished: true } })
const other = await ann.client.createImage({ body: { Name: "other", Image: "fake/http", IsPublished: true } })
await admin.updateImage({ body: { ID: other.ID, IsTrusted: true } })

/** Changes that end the trust in the project, and in the image. */
const changes: [title: string, change: ReturnType<typeof project>, ends: "project" | "image" | "both"][] = [
  ["a release", async (client, resources) => void (await client.releaseProject({ query: { ID: resources.project } })), "project"],
  ["another image", project({ ImageID: other.ID }), "project"],
  ["another type", project({ Type: "jupyter" }), "project"],
  ["another code path", project({ CodePath: "/opt/tool" }), "project"],
  ["another dataset", project({ TrainData: [{ ID: published.ID, MountPath: "/in" }] }), "project"],
  ["a publication for others", project({ IsPublic: false, GroupName: "lab" }), "project"],
  ["another reference of the image", image({ Image: "fake/http:2" }), "both"],
  ["another command of the image", image({ Command: "serve" }), "both"],
  ["another environment of the image", image({ Env: "A=1" }), "both"],
  ["another port of the image", image({ Port: "8081" }), "both"],
]

for (const [title, change, ends] of changes) {
  test(`${title} by anybody but an administrator ends the trust, and owner and administrators receive an event`, async () => {
    await using annsEvents = await recordEvents(ann.client)
    await using adminsEvents = await recordEvents(admin)
    await using bobsEvents = await recordEvents(bob.client)
    const byAdmin = await createTrusted()
    await change(admin, byAdmin)
    const trustMarks = async (resources: TrustedResources) => [
      (await admin.readImage({ query: { ID: resources.image } })).IsTrusted,
      (await admin.readProject({ query: { ID: resources.project } })).IsTrusted,
    ]
    assert.deepEqual(await trustMarks(byAdmin), [true, true])
    const resources = await createTrusted()
    await change(ann.client, resources)
    assert.deepEqual(await trustMarks(resources), [ends === "project", false])
    for (const type of ends === "both" ? (["image", "project"] as const) : ([ends] as const)) {
      const warnings = (recorder: typeof annsEvents) =>
        recorder.events.filter(
          ({ event, data }) => event === `${type}.updated` && data.ID === resources[type] && data.Warning !== undefined,
        )
      for (const recorder of [annsEvents, adminsEvents])
        await eventually(`the warning about trust in the ${type} arrives`, () => warnings(recorder).length === 1)
      assert.match(
        String(warnings(annsEvents)[0]?.data.Warning),
        new RegExp(`The ${type} is no longer marked as trusted: ann, who is no administrator`),
      )
      assert.deepEqual(warnings(bobsEvents), [])
    }
    assert.equal(await mountsHome(resources.project), false)
  })
}

test("a run has the `WritablePaths` that its image has at its start, and so has a repeated one", async () => {
  const { ID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const created = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  const pathsWith = async (WritablePaths: string[], start: () => Promise<{ ID: number }>) => {
    await admin.updateImage({ body: { ID, WritablePaths } })
    const run = await start()
    await ann.client.stopRun({ query: { ID: run.ID } })
    return { run, paths: await writablePathsOf(server, run.ID) }
  }
  const first = await pathsWith(["/run"], () => ann.client.startRun({ body: { ProjectID: created.ID } }))
  assert.deepEqual(first.paths, ["/run"])
  const repeat = () => ann.client.repeatRun({ query: { ID: first.run.ID } })
  assert.deepEqual((await pathsWith([], repeat)).paths, [])
  assert.deepEqual((await pathsWith(["/"], repeat)).paths, ["/"])
})

test("publication ends the trust in a project or image before anybody can get its code", async () => {
  const { ID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const hidden = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  await admin.updateImage({ body: { ID, IsTrusted: true } })
  await admin.updateProject({ body: { ID: hidden.ID, IsTrusted: true } })
  await ann.client.updateImage({ body: { ID, IsPublished: true } })
  assert.equal((await ann.client.readImage({ query: { ID } })).IsTrusted, false)
  const read = await fetch(`${server.quayside.baseUrl}/project?ID=${hidden.ID}`, { headers: { authorization: ann.authorization } })
  const withOneChange = { ...((await read.json()) as object), IsPublic: true }
  const headers = { "if-match": String(read.headers.get("etag")) }
  const { IsTrusted, IsPublic } = await ann.client.updateProject({ body: withOneChange, headers })
  assert.deepEqual([IsTrusted, IsPublic], [false, true], "the body as it was read, with one field changed")
  await assert.rejects(ann.client.updateProject({ body: { ID: hidden.ID, IsTrusted: true } }), { code: "forbidden" })
  const trustedProject = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  await admin.updateProject({ body: { ID: trustedProject.ID, IsTrusted: true } })
  const comment = {
    ID: trustedProject.ID,
    Comment: "the present values, and a comment",
    IsPublic: false,
    Type: "http",
    ImageID: ID,
    IsTrusted: true,
  }
  assert.equal((await ann.client.updateProject({ body: comment })).IsTrusted, true)
})
