import assert from "node:assert/strict"
import { existsSync, rmdirSync } from "node:fs"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth, bearerAuth } from "#client"
import { recordQueries } from "../fixtures/recorded-queries.ts"
import { startServerProcess } from "../server-process.ts"
import { adminPassword, startTestServer } from "../test-server.ts"
import { type SendOptions, sendRaw, sendRequest } from "./http-client.ts"

const testServer = await startTestServer()
after(() => testServer[Symbol.asyncDispose]())
const { baseUrl, appsUrl, filesUrl } = testServer.quayside
const admin = basicAuth("admin", adminPassword)
const call = (method: string, path: string, options: SendOptions = {}) => sendRequest(baseUrl, method, path, { as: admin, ...options })

async function signIn(UserName: string, Password: string, headers: Record<string, string> = {}) {
  const answer = await sendRequest(baseUrl, "POST", "/session", { body: { UserName, Password }, headers })
  assert.equal(answer.status, 200)
  return { cookie: String(String(answer.headers["set-cookie"]).split(";")[0]), "sec-fetch-site": "same-origin" }
}
const whoami = (headers: Record<string, string>) => sendRequest(baseUrl, "GET", "/whoami", { headers })

test("names that resemble others, are paths or are reserved are refused with the rule", async () => {
  for (const UserName of [
    "Admin",
    "ADMIN",
    "аdmin", // with a Cyrillic а
    "ａｄｍｉｎ", // full width
    "admin\u200b",
    "ad\u0131n",
    "admin ",
    " admin",
    "..",
    "a..b",
    "../admin",
    "a/b",
    "a\\b",
    "a%2fb",
    ".ssh",
    "-rf",
    "_",
    "__proto__",
    "a:b",
    "a@b",
    "anonymous",
    "quayside",
    "x".repeat(65),
  ]) {
    for (const [path, field] of [
      ["/user", "UserName"],
      ["/group", "GroupName"],
    ] as const) {
      const { status, body } = await call("POST", path, { body: { [field]: UserName } })
      assert.deepEqual([status, body.code, body.field], [400, "invalid", field], UserName)
      assert.match(String(body.msg), /1 to 64 of a-z|at most 64 characters/)
    }
  }
})

test("names with a meaning in JavaScript are accepted", async () => {
  for (const UserName of ["constructor", "prototype", "null", "undefined", "true", "0", "nan", "users", "x".repeat(64)]) {
    const person = await testServer.person(UserName)
    assert.equal((await person.client.whoami({})).UserName, UserName)
    assert.equal((await testServer.admin.readUser({ query: { UserName } })).UserName, UserName)
    const home = await sendRequest(filesUrl, "PROPFIND", `/users/${UserName}/`, { as: person.authorization, headers: { depth: "0" } })
    assert.equal(home.status, 207, UserName)
  }
  const { body } = await call("POST", "/group", { body: { GroupName: "constructor", Members: ["constructor", "0"] } })
  assert.deepEqual(body.Members, ["0", "constructor"])
})

test("every address explains what it expects after malformed credentials, such as two Authorization headers", async () => {
  const noColon = `Basic ${Buffer.from("admin").toString("base64")}`
  for (const [name, url, path] of [
    ["base", baseUrl, "/whoami"],
    ["apps", appsUrl, "/run/1/"],
    ["files", filesUrl, "/users/admin/"],
  ] as const) {
    const two = `GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${admin}\r\nAuthorization: ${admin}\r\nConnection: close\r\n\r\n`
    const answer = await sendRaw(url, two)
    assert.match(answer, /^HTTP\/1\.1 (400|401) /, name)
    assert.match(answer, /Two Authorization headers|Authorization/, name)
    for (const as of [noColon, "Basic", "Basic ÿ", "Basic !!!!", "Bearer", "Bearer abc", "Negotiate abc", `${admin} x`]) {
      const refused = await sendRequest(url, "GET", path, { as })
      assert.deepEqual([refused.status, refused.body.ok], [401, false], `${name}: ${as}`)
      assert.match(String(refused.body.msg), /user name/i, `${name}: ${as}`)
    }
  }
})

test("every endpoint refuses a password of 64 KB and names the limit", async () => {
  const long = "x".repeat(65_536)
  assert.deepEqual((await call("POST", "/user", { body: { UserName: "long", Password: long } })).body.field, "Password")
  const session = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: "admin", Password: long } })
  assert.deepEqual([session.status, session.body.code], [413, "too_large"])
  assert.equal((await call("GET", "/whoami", { as: basicAuth("admin", long) })).status, 431)
  const near = await call("GET", "/whoami", { as: basicAuth("admin", "x".repeat(20_000)) })
  assert.equal(near.status, 401)
  assert.match(String(near.body.msg), /at most 1024 bytes/)
})

test("a token in a query is refused under any parameter name", async () => {
  const { Token } = await testServer.admin.createToken({ body: { Name: "for addresses" } })
  for (const path of [
    `/whoami?token=${Token}`,
    `/whoami?access_token=${Token}`,
    `/whoami?Authorization=Bearer%20${Token}`,
    `/images?${Token}`,
    `/whoami?ID=${Token}`,
  ]) {
    const without = await sendRequest(baseUrl, "GET", path)
    assert.equal(without.status, 401, path)
    const beside = await call("GET", path)
    assert.equal(beside.status, 400, path)
  }
  assert.equal((await sendRequest(baseUrl, "GET", `/${Token}`)).status, 404)
  assert.equal((await sendRequest(filesUrl, "GET", `/users/admin/?access_token=${Token}`)).status, 400)
})

test("impossible times and years beyond four digits are refused with the value; offsets are accepted", async () => {
  const expiring = (ExpiresAt: unknown) => call("POST", "/token", { body: { Name: "t", ExpiresAt } })
  for (const ExpiresAt of [
    "2030-02-30T00:00:00Z",
    "2029-02-29T00:00:00Z",
    "2030-00-10T00:00:00Z",
    "2030-01-01T24:00:00Z",
    "2030-01-01T00:00:60Z",
    "2030-01-01T00:00:00+25:00",
    "10000-01-01T00:00:00Z",
    "+010000-01-01T00:00:00Z",
    "9999-12-31T23:59:59-14:00",
    "2030-01-01T00:00:00",
    "2030-01-01",
    "now",
    "",
    1_900_000_000,
  ]) {
    const { status, body } = await expiring(ExpiresAt)
    assert.deepEqual([status, body.field], [400, "ExpiresAt"], String(ExpiresAt))
    assert.match(String(body.msg), /a time like 2026-01-31T12:00:00.000Z; got/)
    assert.ok(String(body.msg).endsWith(`got ${JSON.stringify(ExpiresAt)}`), String(body.msg))
  }
  const past = await expiring("2020-01-01T00:00:00+02:00")
  assert.equal(past.status, 400)
  assert.match(String(past.body.msg), /in the future, or null; got 2019-12-31T22:00:00.000Z, and now is 2/)
  for (const [given, answered] of [
    ["2032-02-29T23:30:00-01:00", "2032-03-01T00:30:00.000Z"],
    ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999Z"],
    ["2030-01-01t00:00:00z", "2030-01-01T00:00:00.000Z"],
  ])
    assert.equal((await expiring(given)).body.ExpiresAt, answered)
})

test("/open and /oidc/login refuse unknown parameters and forward none", async () => {
  const headers = { accept: "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
  for (const path of ["/open?ID=1&token=x", "/open?ID=1&ID=2", "/open?id=1", "/oidc/login?return=https://elsewhere.example"]) {
    const refused = await sendRequest(baseUrl, "GET", path)
    assert.deepEqual([refused.status, refused.body.code, refused.headers.location], [400, "invalid", undefined], path)
    assert.equal((await sendRequest(baseUrl, "GET", path, { headers })).status, 400, path)
  }
  const near = await sendRequest(baseUrl, "GET", "/open?id=1")
  assert.match(String(near.body.msg), /Unknown query parameter "id"; did you mean ID\?/)
  assert.equal((await sendRequest(baseUrl, "GET", "/open?ID=1&path=x&nonce=n")).status, 302)
})

test("signing in creates a new session and ends the browser's previous one", async () => {
  await testServer.person("rosa")
  const first = await signIn("rosa", "rosa-password")
  const second = await signIn("rosa", "rosa-password", { cookie: first.cookie })
  assert.notEqual(first.cookie, second.cookie)
  assert.deepEqual([(await whoami(first)).status, (await whoami(second)).status], [401, 200])
})

test("All=1 signs a person out everywhere and ends nobody else's session, nor a token", async () => {
  const sara = await testServer.person("sara")
  await testServer.person("theo")
  const [here, there] = [await signIn("sara", sara.password), await signIn("sara", sara.password)]
  const other = await signIn("theo", "theo-password")
  const out = await sendRequest(baseUrl, "DELETE", "/session?All=1", { headers: here })
  assert.deepEqual([out.status, out.body], [200, { ok: true }])
  assert.match(String(out.headers["set-cookie"]), /Max-Age=0/)
  assert.deepEqual([(await whoami(here)).status, (await whoami(there)).status, (await whoami(other)).status], [401, 401, 200])
  assert.equal((await sara.client.whoami({})).UserName, "sara")
  assert.equal(
    (await sendRequest(baseUrl, "DELETE", "/session?All=1", { headers: here })).status,
    401,
    "the session has ended, so it identifies nobody",
  )
  assert.equal((await sendRequest(baseUrl, "DELETE", "/session?All=2", { headers: other })).status, 400)
  const { data } = await testServer.admin.listAudit({ query: { UserName: "sara", Action: "session.deleted" } })
  assert.equal(data.length, 1, "the audit names who it was")
})

test("`All=1` works with any credentials that may write, and rejects unknown ones", async () => {
  const sami = await testServer.person("sami")
  const read = await sami.client.createToken({ body: { Name: "r", Scopes: ["read"] } })
  const otherSession = await signIn("sami", sami.password)
  for (const [as, status] of [
    [undefined, 401],
    [basicAuth("sami", "wrong"), 401],
    [bearerAuth(read.Token), 403],
    [[sami.authorization, sami.authorization], 401],
  ] as const) {
    const credentials = [as ?? []].flat().map((each) => `Authorization: ${each}\r\n`)
    const refused = await sendRaw(
      baseUrl,
      `DELETE /session?All=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${credentials.join("")}\r\n`,
    )
    assert.match(refused, new RegExp(`^HTTP/1.1 ${status} `), String(as))
    assert.equal((await whoami(otherSession)).status, 200, String(as))
  }
  for (const as of [sami.authorization, basicAuth("sami", sami.password)]) {
    const session = await signIn("sami", sami.password)
    assert.equal((await sendRequest(baseUrl, "DELETE", "/session?All=1", { as })).status, 200)
    assert.equal((await whoami(session)).status, 401)
  }
  assert.equal((await whoami(otherSession)).status, 401)
})

test("a name that is refused gets no home", async () => {
  const { ID } = await testServer.admin.createUser({ body: { UserName: "gone" } })
  await testServer.admin.deleteUser({ query: { ID } })
  const home = join(testServer.dataDir, "files/users/gone")
  rmdirSync(home)
  await assert.rejects(testServer.admin.createUser({ body: { UserName: "gone" } }), { status: 409, field: "UserName" })
  assert.equal(existsSync(home), false)
})

test("signing out changes the database if there is such a session, and otherwise only reads it", async () => {
  await testServer.admin.createUser({ body: { UserName: "una", Password: "sleep tight" } })
  const known = await signIn("una", "sleep tight")
  const unknown = { ...known, cookie: `quayside_session=${"x".repeat(43)}` }
  const queriesOf = (headers: Record<string, string>) =>
    recordQueries(async () => assert.equal((await sendRequest(baseUrl, "DELETE", "/session", { headers })).status, 200))
  assert.equal((await queriesOf(unknown)).includes("begin immediate"), false)
  assert.equal((await whoami(known)).status, 200)
  await queriesOf(known)
  assert.equal((await whoami(known)).status, 401)
})

test("a password of white space works, also on the sign-in page", async () => {
  const wilma = await testServer.admin.createUser({ body: { UserName: "wilma", Password: " \t " } })
  assert.equal((await whoami(await signIn("wilma", " \t "))).status, 200)
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { as: basicAuth("wilma", " \t ") })).status, 200)
  for (const Password of ["", "  "])
    assert.equal((await sendRequest(baseUrl, "POST", "/session", { body: { UserName: wilma.UserName, Password } })).status, 401)
})

test("with a TLS base URL the session cookie is bound to the host, and a cookie with the plain name is ignored", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake", QUAYSIDE_BASE_URL: "https://quayside.example.com" })
  const local = server.baseUrl
  const headers = { host: "quayside.example.com" }
  const body = { UserName: "admin", Password: server.password }
  const created = await sendRequest(local, "POST", "/session", { body, headers })
  const header = String(created.headers["set-cookie"])
  assert.match(header, /^__Host-quayside_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=\d+; Secure$/)
  const secret = header.slice(header.indexOf("=") + 1, header.indexOf(";"))
  const as = async (cookie: string) => (await sendRequest(local, "GET", "/whoami", { headers: { ...headers, cookie } })).status
  assert.deepEqual(
    [
      await as(`__Host-quayside_session=${secret}`),
      await as(`quayside_session=${secret}`),
      await as(`__Host-quayside_session=planted; __Host-quayside_session=${secret}`),
    ],
    [200, 401, 401],
  )
})

test("disabling a person ends their credentials and runs at once, and lets nothing start later", async () => {
  const uma = await testServer.person("uma")
  const image = await uma.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await uma.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await uma.client.startRun({ body: { ProjectID: project.ID } })
  const session = await signIn("uma", uma.password)
  const files = await uma.client.createFilesToken({})
  const { ID } = await testServer.admin.readUser({ query: { UserName: "uma" } })
  await testServer.admin.updateUser({ body: { ID, IsDisabled: true } })
  assert.equal((await whoami(session)).status, 401)
  for (const as of [uma.authorization, basicAuth("uma", uma.password)]) assert.equal((await call("GET", "/whoami", { as })).status, 401)
  assert.equal((await sendRequest(filesUrl, "GET", "/users/uma/", { as: bearerAuth(files.Token) })).status, 401)
  assert.equal((await sendRequest(run.URL, "GET", new URL(run.URL).pathname, { as: uma.authorization })).status, 401)
  const ended = await testServer.admin.readRun({ query: { ID: run.ID } })
  assert.deepEqual([ended.State, ended.Reason?.code], ["ended", "access_withdrawn"])
  const start = await call("POST", "/running_project", { body: { ProjectID: project.ID, UserName: "uma" } })
  assert.deepEqual([start.status, start.body.field], [400, "UserName"])
  await testServer.admin.updateUser({ body: { ID, IsDisabled: false } })
  assert.equal((await whoami(session)).status, 401, "what ended stays ended")
  assert.equal((await call("GET", "/whoami", { as: basicAuth("uma", uma.password) })).status, 200)
})

test("a start that races with a disabling leaves no run behind", async () => {
  const vera = await testServer.person("vera")
  const image = await vera.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const projects = await Promise.all(
    Array.from({ length: 8 }, () => vera.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })),
  )
  const { ID } = await testServer.admin.readUser({ query: { UserName: "vera" } })
  const starts = projects.map((project) => vera.client.startRun({ body: { ProjectID: project.ID } }).catch(() => undefined))
  await testServer.admin.updateUser({ body: { ID, IsDisabled: true } })
  await Promise.all(starts)
  const { data } = await testServer.admin.listRuns({ query: { UserName: "vera" } })
  assert.deepEqual(data, [])
})

test("a deleted person's objects remain visible as before, and an administrator can transfer them", async () => {
  const will = await testServer.person("will")
  const xena = await testServer.person("xena")
  const image = await will.client.createImage({ body: { Name: "of will", Image: "fake/http", IsPublished: true } })
  const { ID } = await testServer.admin.readUser({ query: { UserName: "will" } })
  await testServer.admin.deleteUser({ query: { ID } })
  assert.equal((await call("GET", "/whoami", { as: will.authorization })).status, 401)
  assert.equal((await call("GET", "/user?UserName=will")).body.DeletedAt === null, false)
  assert.equal((await xena.client.readImage({ query: { ID: image.ID } })).UserName, "will")
  const transferred = await testServer.admin.updateImage({ body: { ID: image.ID, UserName: "xena" } })
  assert.equal(transferred.UserName, "xena")
  assert.equal((await xena.client.updateImage({ body: { ID: image.ID, Comment: "mine" } })).Comment, "mine")
})

test("transferring a dataset moves its directory, unless the administrator names another path", async () => {
  const [zack, abby] = [await testServer.person("zack"), await testServer.person("abby")]
  const created = await zack.client.createData({ body: { Name: "Spectra" } })
  const put = await sendRequest(filesUrl, "PUT", `${created.AccessInfo}/one.txt`, { as: zack.authorization, body: "one" })
  assert.equal(put.status, 201)
  const { ID } = await testServer.admin.readUser({ query: { UserName: "zack" } })
  await testServer.admin.deleteUser({ query: { ID } })
  const transferred = await testServer.admin.updateData({ body: { ID: created.ID, UserName: "abby" } })
  assert.deepEqual([transferred.UserName, transferred.AccessInfo], ["abby", "/users/abby/datasets/spectra"])
  const read = await sendRequest(filesUrl, "GET", `${transferred.AccessInfo}/one.txt`, { as: abby.authorization })
  assert.deepEqual([read.status, read.text], [200, "one"])
  assert.equal((await sendRequest(filesUrl, "PROPFIND", created.AccessInfo, { as: admin, headers: { depth: "0" } })).status, 404)
  const back = await testServer.admin.updateData({ body: { ID: created.ID, UserName: "admin", AccessInfo: transferred.AccessInfo } })
  assert.deepEqual([back.UserName, back.AccessInfo], ["admin", transferred.AccessInfo])
})

test("transferring a dataset whose directory contains another dataset fails and changes nothing", async () => {
  const [cora, dirk] = [await testServer.person("cora"), await testServer.person("dirk")]
  const outer = await cora.client.createData({ body: { Name: "outer" } })
  await cora.client.createData({ body: { Name: "inner", AccessInfo: `${outer.AccessInfo}/inner` } })
  const refused = await call("PUT", "/data", { body: { ID: outer.ID, UserName: "dirk" } })
  assert.deepEqual([refused.status, refused.body.field], [409, "AccessInfo"])
  const left = await sendRequest(filesUrl, "PROPFIND", "/users/dirk/datasets/outer", { as: dirk.authorization, headers: { depth: "0" } })
  assert.equal(left.status, 404)
  const [{ UserName } = {}] = ((await testServer.admin.listData({ query: { Name: "outer" } })) as { data: { UserName?: string }[] }).data
  assert.equal(UserName, "cora")
})

test("followed logs end within seconds when the credentials are revoked", async () => {
  const yuri = await testServer.person("yuri")
  const image = await yuri.client.createImage({ body: { Name: "i", Image: "fake/http" } })
  const project = await yuri.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await yuri.client.startRun({ body: { ProjectID: project.ID } })
  const { ID, Token } = await yuri.client.createToken({ body: { Name: "logs" } })
  const follow = async (as: string) => {
    const answer = await fetch(`${baseUrl}/running_project/logs?ID=${run.ID}&follow=1`, { headers: { authorization: as } })
    assert.equal(answer.status, 200)
    const end = answer.text().then(
      () => "whole",
      () => "cut off",
    )
    return { end }
  }
  const revoked = await follow(bearerAuth(Token))
  const other = await follow(yuri.authorization)
  await yuri.client.deleteToken({ query: { ID } })
  assert.equal(await revoked.end, "cut off")
  await yuri.client.stopRun({ query: { ID: run.ID } })
  assert.equal(await other.end, "whole", "a stream with another credential of the same person continues to the run's end")
})
