import assert from "node:assert/strict"
import { after, test } from "node:test"
import { startTestServer } from "../test-server.ts"
import { sendRequest } from "./http-client.ts"

const server = await startTestServer({
  "default-limits": "MaxObjects=6,MaxQueued=1",
  "writes-per-minute": "40",
  "starts-per-minute": "2",
  "streams-per-minute": "3",
})
const { admin } = server
const { baseUrl } = server.quayside
after(() => server[Symbol.asyncDispose]())

const image = { Name: "i", Image: "fake/http" }

test("an absent limit stays absent, null is unlimited, and the default applies to absent limits", async () => {
  const ann = await server.person("ann", { Limits: { MaxRuns: 3, MaxCpus: null } })
  const read = await admin.readUser({ query: { UserName: "ann" } })
  assert.deepEqual(read.Limits, { MaxRuns: 3, MaxCpus: null })
  await admin.updateUser({ body: { ID: read.ID, Limits: read.Limits } })
  assert.deepEqual((await admin.readUser({ query: { UserName: "ann" } })).Limits, read.Limits, "PUT of the answer changes nothing")
  const group = await admin.createGroup({ body: { GroupName: "g", Members: ["ann"], Limits: { MaxRuns: 9, MaxObjects: null } } })
  assert.deepEqual([group.Limits, group.TotalLimits], [{ MaxRuns: 9, MaxObjects: null }, {}])
  const { Limits } = await ann.client.whoami()
  const unset = { MaxCpus: null, MaxMemory: null, MaxGpus: null, MaxRunHours: null, IdleMinutes: null, MaxDisk: null }
  assert.deepEqual(Limits, { ...unset, MaxRuns: 3, MaxStorage: 102_400, MaxQueued: 1, MaxObjects: null })
  const ofAdmin = Object.values((await admin.whoami()).Limits)
  assert.ok(ofAdmin.length === 10 && ofAdmin.every((limit) => limit === null), "administrators have no defaults")
})

test("objects beyond `MaxObjects` are refused with the numbers, until some are deleted", async () => {
  const bob = await server.person("bob")
  await server.acquaint(bob, { userName: "ann" })
  const created: number[] = []
  for (let n = 0; n < 5; n += 1) created.push((await bob.client.createImage({ body: image })).ID)
  const refused = { status: 403, code: "forbidden", message: /There are 6 .*limit \(MaxObjects\) is 6; delete some/ }
  await assert.rejects(bob.client.createImage({ body: image }), refused)
  await assert.rejects(bob.client.createToken({ body: { Name: "t" } }), refused)
  const grant = { ImageID: created[0] as number, UserName: "ann", Access: "use" as const }
  await assert.rejects(bob.client.createGrant({ body: grant }), refused)
  await bob.client.deleteImage({ query: { ID: created[1] as number } })
  await bob.client.createGrant({ body: grant })
  await assert.rejects(bob.client.restoreImage({ query: { ID: created[1] as number } }), refused)
  await admin.createImage({ body: { ...image, UserName: "bob" } })
  const { ID } = await admin.readUser({ query: { UserName: "bob" } })
  await admin.updateUser({ body: { ID, Limits: { MaxObjects: 9 } } })
  await bob.client.restoreImage({ query: { ID: created[1] as number } })
})

test("objects of all members of a group together are bounded by its `TotalLimits`", async () => {
  const [cat, dan] = [await server.person("cat"), await server.person("dan")]
  await admin.createGroup({ body: { GroupName: "lab", Members: ["cat", "dan"], TotalLimits: { MaxObjects: 4 } } })
  await cat.client.createImage({ body: image })
  await dan.client.createImage({ body: image })
  await assert.rejects(cat.client.createImage({ body: image }), { status: 403, message: /4 .* of all members of lab together/ })
})

test("starts, writes and event streams beyond a person's rate get `Retry-After`, and other people are unaffected", async () => {
  const [flo, gus] = [await server.person("flo"), await server.person("gus")]
  const ofFlo = (method: string, path: string, body?: object) =>
    sendRequest(baseUrl, method, path, { as: flo.authorization, ...(body ? { body } : {}) })
  for (let n = 0; n < 2; n += 1) assert.equal((await ofFlo("POST", "/running_project", { ProjectID: 999 })).status, 404)
  const refused = await ofFlo("POST", "/running_project", { ProjectID: 999 })
  assert.deepEqual([refused.status, JSON.parse(refused.text).code], [429, "too_many_requests"])
  const seconds = Number(refused.headers["retry-after"])
  assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 31, String(seconds))
  await assert.rejects(gus.client.startRun({ body: { ProjectID: 999 } }), { status: 404 })
  let writes = 0
  for (; writes < 60; writes += 1) if ((await ofFlo("DELETE", "/image?ID=999")).status === 429) break
  assert.ok(writes >= 35 && writes < 50, `${writes} writes were let through`)
  assert.equal((await ofFlo("GET", "/whoami")).status, 200, "reading is not counted")
  for (let n = 0; n < 3; n += 1) assert.equal((await ofFlo("HEAD", "/events")).status, 200)
  assert.equal((await ofFlo("HEAD", "/events")).status, 429)
  for (let n = 0; n < 60; n += 1) await admin.deleteImage({ query: { ID: 999 } }).catch((error) => assert.notEqual(error.status, 429))
})

test("ending sessions counts as a write, and signing out by the session alone needs none", async () => {
  const hal = await server.person("hal")
  let ends = 0
  for (; ends < 60; ends += 1)
    if ((await sendRequest(baseUrl, "DELETE", "/session?Others=1", { as: hal.authorization })).status === 429) break
  assert.ok(ends >= 35 && ends < 50, `${ends} ends were let through`)
  assert.equal((await sendRequest(baseUrl, "DELETE", "/session", { as: hal.authorization })).status, 200)
})

test("signing in counts as a write of the person, and a wrong password does not", async () => {
  const [ida, jim] = [await server.person("ida"), await server.person("jim")]
  const signIn = async (UserName: string, Password: string) =>
    (await sendRequest(baseUrl, "POST", "/session", { body: { UserName, Password } })).status
  let signIns = 0
  for (; signIns < 60; signIns += 1) if ((await signIn("ida", ida.password)) === 429) break
  assert.ok(signIns >= 35 && signIns < 50, `${signIns} sign-ins were let through`)
  assert.equal(await signIn("ida", "wrong one"), 401)
  assert.equal(await signIn("jim", jim.password), 200)
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { as: ida.authorization })).status, 200)
})
