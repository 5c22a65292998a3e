import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { ids, type SendOptions, sendRequest } from "./http-client.ts"

const server = await startTestServer({ "memory-unit": "bytes" })
after(() => server[Symbol.asyncDispose]())
const { baseUrl, filesUrl } = server.quayside
const admin = basicAuth("admin", adminPassword)
const ann = await server.person("ann")
const call = (method: string, path: string, options: SendOptions = {}) => sendRequest(baseUrl, method, path, { as: admin, ...options })
const asAnn = (method: string, path: string, options: SendOptions = {}) => call(method, path, { as: ann.authorization, ...options })

test("whoami returns name, rights, groups and the limits that apply, including those of groups", async () => {
  await server.person("eva", { Limits: { MaxRuns: 5, MaxMemory: 8 * 2 ** 30 } })
  await server.admin.createGroup({ body: { GroupName: "b", Members: ["eva"], Limits: { MaxRuns: 9, MaxMemory: 4 * 2 ** 30 } } })
  await server.admin.createGroup({ body: { GroupName: "a", Members: ["eva"], Limits: { MaxGpus: 0 } } })
  const { body } = await call("GET", "/whoami", { as: basicAuth("eva", "eva-password") })
  const none = { MaxCpus: null, MaxRunHours: null, IdleMinutes: null, MaxDisk: null }
  const defaults = { MaxStorage: 100 * 2 ** 30, MaxQueued: 100, MaxObjects: 2_000 }
  assert.deepEqual(body, {
    UserName: "eva",
    IsAdmin: false,
    Groups: ["a", "b"],
    Limits: { ...none, ...defaults, MaxRuns: 5, MaxMemory: 4 * 2 ** 30, MaxGpus: 0 },
    FilesURL: filesUrl,
    MemoryUnit: "bytes",
    Version: "0.0.0",
  })
})

test("administrators manage accounts, and a person reads their own", async () => {
  const created = await call("POST", "/user", { body: { UserName: "new", Password: "long enough", Email: "n@example.org" } })
  assert.deepEqual([created.status, created.body.UserName, created.body.Email, created.body.IsAdmin], [200, "new", "n@example.org", false])
  assert.ok(!/assword|argon/i.test(created.text))
  for (const [method, path, body] of [
    ["POST", "/user", { UserName: "x" }],
    ["GET", "/users", undefined],
    ["DELETE", `/user?ID=${created.body.ID}`, undefined],
  ] as const)
    assert.equal((await asAnn(method, path, body ? { body } : {})).status, 403, path)
  assert.equal((await asAnn("GET", "/user?UserName=new")).status, 404)
  assert.equal((await asAnn("GET", "/user?UserName=ann")).body.UserName, "ann")
  assert.ok(ids(await call("GET", "/users?q=NEW")).includes(Number(created.body.ID)))
})

test("a person changes their own password with the current one, and nothing else of the account", async () => {
  const person = await server.person("pia")
  const own = basicAuth("pia", "pia-password")
  const { ID } = (await call("GET", "/user?UserName=pia", { as: own })).body
  const put = (body: object) => call("PUT", "/user", { as: own, body: { ID, ...body } })
  assert.equal((await put({ Password: "another one" })).body.field, "CurrentPassword")
  assert.deepEqual([(await put({ Password: "another one", CurrentPassword: "wrong" })).status], [401])
  const email = await put({ Email: "x@example.org", CurrentPassword: person.password })
  assert.deepEqual([email.status, email.body.field], [403, "Email"])
  assert.equal((await put({ IsAdmin: true })).body.field, "IsAdmin")
  assert.equal((await put({ Password: "another one", CurrentPassword: person.password })).status, 200)
  assert.equal((await call("GET", "/whoami", { as: basicAuth("pia", "another one") })).status, 200)
})

test("names of people and groups never change and are never reused", async () => {
  const user = await call("POST", "/user", { body: { UserName: "once" } })
  assert.equal((await call("PUT", "/user", { body: { ID: user.body.ID, UserName: "twice" } })).body.field, "UserName")
  await call("DELETE", `/user?ID=${user.body.ID}`)
  const repeated = await call("POST", "/user", { body: { UserName: "once" } })
  assert.deepEqual([repeated.status, repeated.body.code, repeated.body.field], [409, "conflict", "UserName"])
  const group = await call("POST", "/group", { body: { GroupName: "once" } })
  assert.equal((await call("PUT", "/group", { body: { ID: group.body.ID, GroupName: "twice" } })).body.field, "GroupName")
  await call("DELETE", `/group?ID=${group.body.ID}`)
  assert.equal((await call("POST", "/group", { body: { GroupName: "once" } })).status, 409)
  for (const UserName of ["Ann", "a..b", "-x", "a/b", "", "x".repeat(65)])
    assert.deepEqual([(await call("POST", "/user", { body: { UserName } })).body.field], ["UserName"], UserName)
})

test("members read and list only their own groups", async () => {
  const created = await call("POST", "/group", { body: { GroupName: "team", Members: ["ann", "ann"], TotalLimits: { MaxCpus: 8 } } })
  assert.deepEqual([created.body.Members, created.body.TotalLimits?.MaxCpus], [["ann"], 8])
  for (const TotalLimits of [{ MaxRunHours: 1 }, { MaxCpus: 1, IdleMinutes: 1 }]) {
    const { status, body } = await call("PUT", "/group", { body: { ID: created.body.ID, TotalLimits } })
    assert.deepEqual([status, body.field], [400, "TotalLimits"])
    assert.match(String(body.msg), /amounts; (MaxRunHours|IdleMinutes) is for each member, in Limits$/)
  }
  const sentBack = (await call("GET", `/group?ID=${created.body.ID}`)).body
  assert.deepEqual((await call("PUT", "/group", { body: sentBack })).body.TotalLimits, created.body.TotalLimits)
  await call("POST", "/group", { body: { GroupName: "foreign" } })
  assert.equal((await asAnn("GET", "/group?GroupName=team")).body.ID, created.body.ID)
  assert.equal((await asAnn("GET", "/group?GroupName=foreign")).status, 404)
  assert.deepEqual(ids(await asAnn("GET", "/groups")), [Number(created.body.ID)])
  assert.equal((await asAnn("PUT", "/group", { body: { ID: created.body.ID, Members: [] } })).status, 403)
  const unknown = await call("PUT", "/group", { body: { ID: created.body.ID, Members: ["nobody"] } })
  assert.deepEqual([unknown.status, unknown.body.field], [400, "Members"])
  for (const wrong of [{ MaxCpus: -1 }, { MaxCpus: 1.5 }, { MaxCpus: "2" }, []])
    assert.equal((await call("PUT", "/group", { body: { ID: created.body.ID, Limits: wrong } })).body.field, "Limits")
})

test("a token is shown once, works as Bearer and as Basic's password, and ends when it is deleted", async () => {
  const created = await asAnn("POST", "/token", { body: { Name: "ci", ExpiresAt: "2999-01-01T00:00:00Z" } })
  assert.match(String(created.body.Token), /^qs_/)
  assert.deepEqual([created.body.ExpiresAt, created.body.Scopes], ["2999-01-01T00:00:00.000Z", ["read", "write"]])
  const token = String(created.body.Token)
  for (const as of [bearerAuth(token), basicAuth("ann", token)]) assert.equal((await call("GET", "/whoami", { as })).body.UserName, "ann")
  const listed = await asAnn("GET", "/tokens")
  assert.ok(ids(listed).includes(Number(created.body.ID)) && !listed.text.includes(token))
  assert.ok(!ids(await call("GET", "/tokens")).includes(Number(created.body.ID)), "tokens are one's own")
  const headers = { "if-match": '"another"' }
  for (const options of [{}, { headers }]) assert.equal((await call("DELETE", `/token?ID=${created.body.ID}`, options)).status, 404)
  assert.equal((await asAnn("DELETE", `/token?ID=${created.body.ID}`, { headers })).status, 412)
  assert.equal((await call("GET", "/whoami", { as: bearerAuth(token) })).status, 200)
  assert.deepEqual((await asAnn("DELETE", `/token?ID=${created.body.ID}`)).body, { ok: true })
  assert.equal((await call("GET", "/whoami", { as: bearerAuth(token) })).status, 401)
})

test("a read-only token changes nothing, and a run's token cannot use the API", async () => {
  const readOnly = bearerAuth(String((await asAnn("POST", "/token", { body: { Name: "r", Scopes: ["read"] } })).body.Token))
  assert.equal((await call("GET", "/images", { as: readOnly })).status, 200)
  const refused = async (options: SendOptions) => {
    const { status, body } = await call("POST", "/image", { body: { Name: "a", Image: "b" }, ...options })
    assert.equal(status, 403)
    return body.msg
  }
  assert.equal(await refused({ as: readOnly }), "This token of ann's is for reading only (image:create)")
  assert.equal((await asAnn("POST", "/user", { body: { UserName: "q" } })).body.msg, "ann may not do this (user:create)")
  const onlyRun = bearerAuth(String((await asAnn("POST", "/token", { body: { Name: "r", Scopes: ["run:1"] } })).body.Token))
  assert.equal((await call("GET", "/images", { as: onlyRun })).status, 403)
  for (const Scopes of [[], ["write"], ["run:0"], ["run:x"], ["read", "run:1"], ["all"], [5], [["read"]]])
    assert.equal((await asAnn("POST", "/token", { body: { Name: "r", Scopes } })).body.field, "Scopes", String(Scopes))
  assert.equal((await asAnn("POST", "/token", { body: { Name: "r", ExpiresAt: "1999-01-01T00:00:00Z" } })).body.field, "ExpiresAt")
})

test("a session sets the browser's cookie, and signing out ends it", async () => {
  const signIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "ann", Password: ann.password } })
  const header = String(signIn.headers["set-cookie"])
  assert.deepEqual([signIn.status, signIn.body.UserName], [200, "ann"])
  for (const part of ["HttpOnly", "SameSite=Lax", "Path=/"]) assert.ok(header.includes(part), part)
  const headers = { cookie: String(header.split(";")[0]), "sec-fetch-site": "same-origin" }
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { headers })).status, 200)
  assert.equal((await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "ann", Password: "wrong one" } })).status, 401)
  assert.deepEqual((await sendRequest(baseUrl, "DELETE", "/session", { headers })).body, { ok: true })
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { headers })).status, 401)
})

test("wrong passwords are slowed down with 429 and Retry-After", async () => {
  const wrong = () => sendRequest(baseUrl, "POST", "/session", { body: { UserName: "nobody", Password: "wrong one" } })
  let answer = await wrong()
  for (let i = 0; i < 15 && answer.status === 401; i += 1) answer = await wrong()
  assert.deepEqual([answer.status, answer.body.code], [429, "too_many_requests"])
  assert.ok(Number(answer.headers["retry-after"]) > 0)
})

test("a person has a home from the moment they exist, and files-token opens the files address only", async () => {
  const nina = await server.person("nina")
  const created = await call("POST", "/files-token", { as: nina.authorization })
  const left = Date.parse(String(created.body.ExpiresAt)) - Date.now()
  assert.ok(created.status === 200 && left > 200_000 && left <= 300_000)
  const as = bearerAuth(String(created.body.Token))
  assert.equal((await sendRequest(filesUrl, "PROPFIND", "/users/nina/", { as, headers: { depth: "0" } })).status, 207)
  assert.equal((await call("GET", "/whoami", { as })).status, 401)
})

test("answers, bodies and the description use the memory unit of the setting", async () => {
  const { info } = (await call("GET", "/openapi.json")).body
  assert.match(String(info?.description), /in bytes/)
  const image = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  for (const [Memory, answered] of [
    [9 * 2 ** 20 - 1, 9 * 2 ** 20],
    [8 * 2 ** 30, 8 * 2 ** 30],
    [0, 2 * 2 ** 30],
  ] as const) {
    const run = await ann.client.startRun({ body: { ProjectID: project.ID, Memory } })
    assert.equal(run.Memory, answered, "rounded up to a whole MiB; the default is 2 GiB")
    assert.equal((await ann.client.readRun({ query: { ProjectID: project.ID, Memory: answered } })).ID, run.ID)
    await ann.client.stopRun({ query: { ID: run.ID } })
  }
  const tooMuch = await asAnn("POST", "/running_project", { body: { ProjectID: project.ID, Memory: Number.MAX_SAFE_INTEGER } })
  assert.deepEqual([tooMuch.status, tooMuch.body.field], [400, "Memory"])
})

test("a start with less memory than an engine allows creates no run", async () => {
  const image = await ann.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const before = (await ann.client.listRuns({ query: { State: "ended" } })).pageCount
  for (const path of ["/running_project", "/preview"]) {
    const { status, body } = await asAnn("POST", path, { body: { ProjectID: project.ID, Memory: 6 * 2 ** 20 - 2 ** 20 } })
    assert.deepEqual([status, body.code, body.field], [400, "invalid", "Memory"])
    assert.match(String(body.msg), /0 for the default, or at least 6291456 bytes; got 5242880/)
  }
  assert.equal((await ann.client.listRuns({ query: { State: "ended" } })).pageCount, before)
})
