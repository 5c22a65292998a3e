import assert from "node:assert/strict"
import { after, test } from "node:test"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { type Person, startTestServer } from "../test-server.ts"

/*
 * The changes of one person are made one after another. A thousand may wait, for half a minute if
 * the disk is slow, and their person's rights may end meanwhile.
 */

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const { admin } = server
const [ann, bob, eve, mia] = await Promise.all([server.person("ann"), server.person("bob"), server.person("eve"), server.person("mia")])
await server.acquaint(ann, bob, eve, mia)

const send = ({ authorization: as }: Person, method: string, path: string, body?: object) =>
  sendRequest(baseUrl, method, path, { as, ...(body ? { body } : {}) })

/** Dozens of changes of a person, the first of which is made. */
async function crowdOf(person: Person, path: string, body: object): Promise<Promise<HttpAnswer>[]> {
  const changes = Array.from({ length: 60 }, () => send(person, "POST", path, body))
  await Promise.race(changes)
  return changes
}

const statusesOf = async (changes: readonly Promise<HttpAnswer>[]) => (await Promise.all(changes)).map(({ status }) => status)
/** The change in the next transaction was checked before the right ended. */
const underWay = 1
const image = { Name: "i", Image: "fake/ready" }

test("a change that waits for others of its person is not made after their account was disabled", async () => {
  const changes = await crowdOf(ann, "/image", image)
  const { ID } = await admin.readUser({ query: { UserName: "ann" } })
  await admin.updateUser({ body: { ID, IsDisabled: true } })
  const countOf = async () => (await admin.listImages({ query: { UserName: "ann", pageSize: 1 } })).pageCount
  const before = await countOf()
  assert.ok((await statusesOf(changes)).includes(401))
  assert.ok((await countOf()) <= before + underWay)
})

test("a change that waits for others of its person is not made by the rights of a group that they left", async () => {
  const team = await admin.createGroup({ body: { GroupName: "team", Members: ["eve"] } })
  const { ID: ImageID } = await eve.client.createImage({ body: image })
  const changes = await crowdOf(eve, "/project", { ProjectName: "p", Type: "http", ImageID, GroupName: "team" })
  await admin.updateGroup({ body: { ID: team.ID, Members: [] } })
  const countOf = async () => (await admin.listProjects({ query: { GroupName: "team", pageSize: 1 } })).pageCount
  const before = await countOf()
  assert.ok((await statusesOf(changes)).includes(400))
  assert.ok((await countOf()) <= before + underWay)
  assert.equal((await send(eve, "POST", "/project", { ProjectName: "p", Type: "http", ImageID, GroupName: "team" })).status, 400)
})

test("stops and extensions that wait are not made after the right to the run was withdrawn", async () => {
  const { ID: ImageID } = await bob.client.createImage({ body: image })
  const { ID: ProjectID } = await bob.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID } })
  const { ID: RunID } = await bob.client.startRun({ body: { ProjectID } })
  const grant = await bob.client.createGrant({ body: { RunID, UserName: "mia", Access: "write" } })
  const changes = await crowdOf(mia, "/image", image)
  const late = [send(mia, "POST", `/running_project/keep?ID=${RunID}`), send(mia, "DELETE", `/running_project?ID=${RunID}`)]
  await send(mia, "GET", `/running_project?ID=${RunID}`)
  await bob.client.deleteGrant({ query: { ID: grant.ID } })
  assert.deepEqual(await statusesOf(late), [404, 404])
  assert.equal((await bob.client.readRun({ query: { ID: RunID } })).State, "ready")
  assert.ok((await statusesOf(changes)).every((status) => status === 200))
})
