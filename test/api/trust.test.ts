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

async function trusted() {
  const image = (await ann.client.createImage({ body: { Name: "i", Image: "fake/http", IsPublished: true } })).ID
  const project = (await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image, IsPublic: true } })).ID
  await admin.updateImage({ body: { ID: image, IsTrusted: true } })
  await admin.updateProject({ body: { ID: project, IsTrusted: true } })
  assert.equal(await holdsHome(project), true)
  return { image, project }
}

async function holdsHome(ProjectID: number): Promise<boolean> {
  const run = await bob.client.startRun({ body: { ProjectID } })
  await bob.client.stopRun({ query: { ID: run.ID } })
  return (await mountsOf(server, run.ID)).some(({ source }) => source === "/users/bob")
}

type Things = Awaited<ReturnType<typeof trusted>>
const project = (fields: object) => async (client: typeof admin, things: Things) => {
  await client.updateProject({ body: { ID: things.project, ...fields } })
}
const image = (fields: object) => async (client: typeof admin, things: Things) => {
  await client.updateImage({ body: { ID: things.image, ...fields } })
}
const published = await ann.client.createData({ body: { Name: "d", IsPublished: true } })
const other = await ann.client.createImage({ body: { Name: "other", Image: "fake/http", IsPublished: true } })
await admin.updateImage({ body: { ID: other.ID, IsTrusted: true } })

/** Changes that end the trust in the project, and in the image. */
const changes: [says: string, change: ReturnType<typeof project>, ends: "project" | "image" | "both"][] = [
  ["a release", async (client, things) => void (await client.releaseProject({ query: { ID: things.project } })), "project"],
  ["another image", project({ ImageID: other.ID }), "project"],
  ["another type", project({ Type: "jupyter" }), "project"],
  ["another place", project({ CodePath: "/opt/tool" }), "project"],
  ["another dataset", project({ TrainData: [{ ID: published.ID, MountPath: "/in" }] }), "project"],
  ["a publication for others", project({ IsPublic: false, GroupName: "lab" }), "project"],
  ["another reference of the image", image({ Image: "fake/http:2" }), "both"],
  ["another command of the image", image({ Command: "serve" }), "both"],
  ["another environment of the image", image({ Env: "A=1" }), "both"],
  ["another port of the image", image({ Port: "8081" }), "both"],
]

for (const [says, change, ends] of changes) {
  test(`${says} by anybody but an administrator ends the trust, and owner and administrators receive an event`, async () => {
    await using annHears = await recordEvents(ann.client)
    await using adminHears = await recordEvents(admin)
    await using bobHears = await recordEvents(bob.client)
    const byAdmin = await trusted()
    await change(admin, byAdmin)
    const marks = async (things: Things) => [
      (await admin.readImage({ query: { ID: things.image } })).IsTrusted,
      (await admin.readProject({ query: { ID: things.project } })).IsTrusted,
    ]
    assert.deepEqual(await marks(byAdmin), [true, true])
    const things = await trusted()
    await change(ann.client, things)
    assert.deepEqual(await marks(things), [ends === "project", false])
    for (const type of ends === "both" ? (["image", "project"] as const) : ([ends] as const)) {
      const told = (hears: typeof annHears) =>
        hears.events.filter(({ event, data }) => event === `${type}.updated` && data.ID === things[type] && data.Warning !== undefined)
      for (const hears of [annHears, adminHears])
        await eventually(`the end of trust in the ${type} is told`, () => told(hears).length === 1)
      assert.match(
        String(told(annHears)[0]?.data.Warning),
        new RegExp(`The ${type} is no longer marked as trusted: ann, who is no administrator`),
      )
      assert.deepEqual(told(bobHears), [])
    }
    assert.equal(await holdsHome(things.project), false)
  })
}

test("a run has the `WritablePaths` that its image has at its start, and so has a repeated one", async () => {
  const { ID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const made = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  const pathsWith = async (WritablePaths: string[], start: () => Promise<{ ID: number }>) => {
    await admin.updateImage({ body: { ID, WritablePaths } })
    const run = await start()
    await ann.client.stopRun({ query: { ID: run.ID } })
    return { run, paths: await writablePathsOf(server, run.ID) }
  }
  const first = await pathsWith(["/run"], () => ann.client.startRun({ body: { ProjectID: made.ID } }))
  assert.deepEqual(first.paths, ["/run"])
  const repeat = () => ann.client.repeatRun({ query: { ID: first.run.ID } })
  assert.deepEqual((await pathsWith([], repeat)).paths, [])
  assert.deepEqual((await pathsWith(["/"], repeat)).paths, ["/"])
})

test("publication ends the trust in a project or image before anybody can get its code", async () => {
  const { ID } = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const made = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  await admin.updateImage({ body: { ID, IsTrusted: true } })
  await admin.updateProject({ body: { ID: made.ID, IsTrusted: true } })
  await ann.client.updateImage({ body: { ID, IsPublished: true } })
  assert.equal((await ann.client.readImage({ query: { ID } })).IsTrusted, false)
  const read = await fetch(`${server.quayside.baseUrl}/project?ID=${made.ID}`, { headers: { authorization: ann.authorization } })
  const whole = { ...((await read.json()) as object), IsPublic: true }
  const headers = { "if-match": String(read.headers.get("etag")) }
  const { IsTrusted, IsPublic } = await ann.client.updateProject({ body: whole, headers })
  assert.deepEqual([IsTrusted, IsPublic], [false, true], "as it was read, with one field changed")
  await assert.rejects(ann.client.updateProject({ body: { ID: made.ID, IsTrusted: true } }), { code: "forbidden" })
  const kept = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: ID } })
  await admin.updateProject({ body: { ID: kept.ID, IsTrusted: true } })
  const comment = {
    ID: kept.ID,
    Comment: "what stands there already, and words",
    IsPublic: false,
    Type: "http",
    ImageID: ID,
    IsTrusted: true,
  }
  assert.equal((await ann.client.updateProject({ body: comment })).IsTrusted, true)
})
