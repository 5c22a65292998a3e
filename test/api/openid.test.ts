import assert from "node:assert/strict"
import { StatementSync } from "node:sqlite"
import { after, test } from "node:test"
import { bearerAuth, createClient } from "#client"
import { FileTree } from "#files"
import { Browser } from "../fixtures/cookie-jar.ts"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { startProvider } from "../fixtures/openid/openid-provider.ts"
import { ensureWebBuild } from "../fixtures/web-build.ts"
import { startTestServer } from "../test-server.ts"
import { recordEvents } from "./event-recorder.ts"
import { type SendOptions, sendRequest } from "./http-client.ts"

const [port = 0] = await freePorts(1)
const provider = await startProvider(`http://localhost:${port}`)
await ensureWebBuild()
const server = await startTestServer({
  port: String(port),
  "oidc-issuer": provider.issuer,
  "oidc-client-id": provider.clientId,
  "oidc-client-secret": provider.clientSecret,
  "oidc-name": "Example <Lab>",
  "oidc-unknown": "create",
  "oidc-link": "no-password",
  "oidc-groups-claim": "groups",
  "oidc-groups": "lab-*,staff",
  "oidc-admin": "groups=lab-admins",
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})
const { baseUrl } = server.quayside

/** Signs in at the provider as this subject; returns the callback's address of the redirect. */
async function callbackFor(browser: Browser, subject: string, next = ""): Promise<string> {
  const isCallback = (url: string) => url.startsWith(`${baseUrl}/oidc/callback`)
  const form = await browser.follow(`${baseUrl}/oidc/login${next}`, (url) => !isCallback(url))
  if (isCallback(form.url)) return form.url
  assert.match(await form.answer.text(), /<form/)
  const body = new URLSearchParams({ account: subject })
  const end = await browser.follow(form.url, (url) => !isCallback(url), { method: "POST", body })
  assert.ok(isCallback(end.url), end.url)
  return end.url
}

async function signIn(subject: string, browser = new Browser()) {
  const answer = await browser.ask(await callbackFor(browser, subject))
  return { status: answer.status, location: answer.headers.get("location"), text: await answer.text(), browser }
}

const requested = (browser: Browser, method: string, path: string, more: SendOptions = {}) => {
  const cookie = [...browser.cookies(baseUrl)].map(([name, value]) => `${name}=${value}`).join("; ")
  return sendRequest(baseUrl, method, path, { ...more, headers: { cookie, "sec-fetch-site": "same-origin" } })
}
const whoami = async (browser: Browser) => (await requested(browser, "GET", "/whoami")).body

test("a new person who signs in by the provider gets an account, a home and groups", async () => {
  await provider.tell("s-1", { preferred_username: "Ada", email: "ada@example.org", groups: ["lab-one", "other", "Lab Two"] })
  const { status, location, browser } = await signIn("s-1")
  assert.deepEqual([status, location], [302, `${baseUrl}/ui/`])
  const who = await whoami(browser)
  assert.deepEqual([who.UserName, who.IsAdmin, who.Groups], ["ada", false, ["lab-one"]])
  assert.equal((await server.admin.readUser({ query: { UserName: "ada" } })).Email, "ada@example.org")
})

test("while a new person's home is made, others change what is theirs", async (t) => {
  const bob = await server.person("bob")
  const image = await bob.client.createImage({ body: { Name: "i", Image: "fake/ready" } })
  const gate = Promise.withResolvers<boolean>()
  const made = t.mock.method(FileTree.prototype, "makeNewDirectory", () => gate.promise)
  await provider.tell("s-slow", { preferred_username: "slow" })
  const signing = signIn("s-slow")
  await eventually("the home is made", () => made.mock.callCount() === 1)
  assert.equal((await bob.client.updateImage({ body: { ID: image.ID, Name: "j" } })).Name, "j")
  gate.resolve(true)
  assert.equal((await signing).status, 302)
  assert.deepEqual(made.mock.calls.at(-1)?.arguments, ["/users/slow"])
})

test("an account belongs to the provider's subject even if its claims change", async () => {
  await provider.tell("s-2", { preferred_username: "bea" })
  const first = await whoami((await signIn("s-2")).browser)
  await provider.tell("s-2", { preferred_username: "ada" })
  assert.equal((await whoami((await signIn("s-2")).browser)).UserName, first.UserName)
  await provider.tell("s-2", {})
  assert.equal((await whoami((await signIn("s-2")).browser)).UserName, "bea", "who is known needs no name")
  await provider.tell("s-3", { preferred_username: "bea" })
  const other = await signIn("s-3")
  assert.equal(other.status, 403)
  assert.match(other.text, /user name bea belongs to another account/)
  assert.equal((await whoami(other.browser)).ok, false)
})

test("a local account is linked only if the setting allows it, and once", async () => {
  await server.person("cleo")
  await provider.tell("s-4", { preferred_username: "cleo" })
  assert.equal((await signIn("s-4")).status, 403, "it has a password")
  const created = await server.admin.createUser({ body: { UserName: "dora", Comment: "made by hand" } })
  await provider.tell("s-5", { preferred_username: "dora" })
  const who = await whoami((await signIn("s-5")).browser)
  assert.equal(who.UserName, "dora")
  assert.equal((await server.admin.readUser({ query: { ID: created.ID } })).Comment, "made by hand")
  await provider.tell("s-6", { preferred_username: "dora" })
  assert.equal((await signIn("s-6")).status, 403)
})

test("without settings no account is created or linked", async () => {
  const [plainPort = 0] = await freePorts(1)
  await using own = await startProvider(`http://localhost:${plainPort}`)
  await using plain = await startTestServer({
    port: String(plainPort),
    "oidc-issuer": own.issuer,
    "oidc-client-id": own.clientId,
    "oidc-client-secret": own.clientSecret,
  })
  await plain.admin.createUser({ body: { UserName: "emil" } })
  for (const [name, reason] of [
    ["emil", /belongs to another account/],
    ["admin", /belongs to another account/],
    ["new", /no account with the user name new/],
    ["a..b", /must send a user name of 1 to 64/],
  ] as const) {
    await own.tell(name, { preferred_username: name })
    const browser = new Browser()
    const form = await browser.follow(`${plain.quayside.baseUrl}/oidc/login`)
    const body = new URLSearchParams({ account: name })
    const { answer } = await browser.follow(form.url, () => true, { method: "POST", body })
    assert.equal(answer.status, 403, name)
    assert.match(await answer.text(), reason)
  }
  assert.deepEqual(
    (await plain.admin.listUsers({})).data.map((user) => user.UserName),
    ["emil", "admin"],
  )
})

const countsStatements = { skip: process.env.TEST_POSTGRES ? "it counts statements of SQLite" : false }

test("a sign-in that changes dozens of groups changes few of them in one transaction", countsStatements, async (t) => {
  const groups = Array.from({ length: 45 }, (_, n) => `lab-many-${n}`)
  await provider.tell("s-80", { preferred_username: "zoe", groups })
  const statements: string[] = []
  const run = StatementSync.prototype.run
  t.mock.method(StatementSync.prototype, "run", function (this: StatementSync, ...args: Parameters<typeof run>) {
    statements.push(this.sourceSQL)
    return run.apply(this, args)
  })
  const { browser } = await signIn("s-80")
  assert.equal((await whoami(browser)).Groups?.length, groups.length)
  const parts = statements.join("\n").split(/^commit$/m)
  const joined = parts.map((part) => part.split('insert into "group_members"').length - 1)
  assert.equal(
    joined.reduce((sum, count) => sum + count, 0),
    groups.length,
  )
  assert.ok(Math.max(...joined) <= 10, joined.join(" "))
})

test("each sign-in creates, joins and leaves the groups that follow the provider, and no others", async () => {
  await server.admin.createGroup({ body: { GroupName: "staff", Members: ["cleo"], Limits: { MaxRuns: 1 } } })
  await server.admin.createGroup({ body: { GroupName: "chosen", Members: ["ada"] } })
  await provider.tell("s-1", { preferred_username: "ada", groups: ["lab-two", "staff", "chosen", "../x"] })
  const { browser } = await signIn("s-1")
  const who = await whoami(browser)
  assert.deepEqual([who.Groups, who.Limits?.MaxRuns], [["chosen", "lab-two", "staff"], 1])
  assert.deepEqual((await server.admin.readGroup({ query: { GroupName: "staff" } })).Members, ["ada", "cleo"])
  await provider.tell("s-1", { preferred_username: "ada", groups: "staff" })
  assert.deepEqual((await whoami((await signIn("s-1")).browser)).Groups, ["chosen", "staff"], "a claim with one group may be a string")
  assert.deepEqual((await whoami(browser)).Groups, ["chosen", "staff"], "an earlier session knows it at once")
  await provider.tell("s-1", { preferred_username: "ada" })
  assert.deepEqual((await whoami((await signIn("s-1")).browser)).Groups, ["chosen"])
  const removed = await server.admin.readGroup({ query: { GroupName: "lab-two" } })
  await server.admin.deleteGroup({ query: { ID: removed.ID } })
  await provider.tell("s-1", { preferred_username: "ada", groups: ["lab-two"] })
  assert.deepEqual((await whoami((await signIn("s-1")).browser)).Groups, ["chosen"], "a deleted group stays deleted")
})

test("administration follows the claim, except for the last administrator", async () => {
  await provider.tell("s-7", { preferred_username: "fay", groups: ["lab-admins"] })
  const { browser } = await signIn("s-7")
  assert.equal((await whoami(browser)).IsAdmin, true)
  const first = await server.admin.readUser({ query: { UserName: "admin" } })
  const administers = (IsAdmin: boolean) => requested(browser, "PUT", "/user", { body: { ID: first.ID, IsAdmin } })
  assert.equal((await administers(false)).status, 200)
  await provider.tell("s-7", { preferred_username: "fay" })
  await signIn("s-7")
  assert.equal((await whoami(browser)).IsAdmin, true)
  assert.equal((await administers(true)).status, 200)
  await signIn("s-7")
  assert.equal((await whoami(browser)).IsAdmin, false)
})

test("a sign-in that changes groups sends only their events and that of the session, and one that changes administration resets only that person's streams", async () => {
  const signedIn = async (subject: string, claims: object) => {
    await provider.tell(subject, claims)
    return (await signIn(subject)).browser
  }
  const streamOf = async (browser: Browser) => {
    const { body } = await requested(browser, "POST", "/token", { body: { Name: "t" } })
    return recordEvents(createClient({ baseUrl, authorization: bearerAuth(String(body.Token)) }))
  }
  await using uma = await streamOf(await signedIn("s-90", { preferred_username: "uma", groups: ["lab-told"] }))
  await using vera = await streamOf(await signedIn("s-91", { preferred_username: "vera", groups: ["lab-told"] }))
  const { ID: ImageID } = await server.admin.createImage({ body: { Name: "i", Image: "a/b", IsPublished: true } })
  const body = { ProjectName: "p", Type: "http", ImageID, UserName: "uma", GroupName: "lab-told" } as const
  const project = await server.admin.createProject({ body })
  const { ID } = await server.admin.readGroup({ query: { GroupName: "lab-told" } })
  for (const each of [vera, uma]) await each.through(`project.created ${project.ID}`)

  await signedIn("s-91", { groups: [] })
  await vera.until(`project.deleted ${project.ID}`)
  await uma.until(`group.updated ${ID}`)
  const { data } = await server.admin.listSessions({ query: { UserName: "vera", pageSize: 1 } })
  const session = `session.created ${data[0]?.ID}`
  await vera.until(session)
  assert.deepEqual(uma.received, [`group.updated ${ID}`])
  assert.deepEqual(vera.received, [`group.deleted ${ID}`, `project.deleted ${project.ID}`, session])

  await signedIn("s-91", { groups: ["lab-admins"] })
  await vera.until("reset")
  const mark = await server.admin.createImage({ body: { Name: "mark", Image: "a/b", IsPublished: true } })
  await uma.until(`image.created ${mark.ID}`)
  assert.ok(!uma.received.includes("reset"))
  await signedIn("s-91", { groups: [] })
})

test("sign-in refuses disabled and deleted people", async () => {
  await provider.tell("s-8", { preferred_username: "gil" })
  const { browser } = await signIn("s-8")
  const { ID } = await server.admin.readUser({ query: { UserName: "gil" } })
  await server.admin.updateUser({ body: { ID, IsDisabled: true } })
  assert.equal((await whoami(browser)).ok, false, "the session has ended")
  const repeated = await signIn("s-8")
  assert.equal(repeated.status, 403)
  assert.match(repeated.text, /gil is disabled/)
  await server.admin.updateUser({ body: { ID, IsDisabled: false } })
  assert.equal((await signIn("s-8")).status, 302)
  await server.admin.deleteUser({ query: { ID } })
  assert.equal((await signIn("s-8")).status, 403)
})

test("a callback is accepted once, with its own state and in the browser that started the sign-in", async () => {
  const browser = new Browser()
  const callback = await callbackFor(browser, "s-1")
  const cookie = [...browser.cookies(baseUrl)].map(([name, value]) => `${name}=${value}`).join("; ")
  const refused = async (url: string, as: Browser | string, words = /not started in this browser/) => {
    const answer = typeof as === "string" ? await fetch(url, { headers: { cookie: as }, redirect: "manual" }) : await as.ask(url)
    assert.equal(answer.status, 401, url)
    assert.match(await answer.text(), words)
    assert.ok(!answer.headers.getSetCookie().some((each) => /session=\w/.test(each)))
  }
  await refused(callback, new Browser())
  const other = new Browser()
  await callbackFor(other, "s-2")
  await refused(callback, other)
  const wrong = new URL(callback)
  wrong.searchParams.set("state", "0".repeat(43))
  await refused(wrong.href, cookie)
  wrong.searchParams.set("state", "ä".repeat(43))
  await refused(wrong.href, cookie)
  wrong.searchParams.delete("state")
  await refused(wrong.href, cookie)
  assert.equal((await browser.ask(callback)).status, 302)
  assert.equal(browser.cookies(baseUrl).has("quayside_oidc"), false, "the cookie is deleted")
  await refused(callback, browser)
  await refused(callback, cookie, /invalid_grant/)
})

test("a sign-in by the provider ends the browser's earlier session", async () => {
  const { browser } = await signIn("s-1")
  const before = String(browser.cookies(baseUrl).get("quayside_session"))
  await signIn("s-1", browser)
  assert.notEqual(browser.cookies(baseUrl).get("quayside_session"), before)
  assert.equal((await sendRequest(baseUrl, "GET", "/whoami", { headers: { cookie: `quayside_session=${before}` } })).status, 401)
})

test("a key that the provider has just changed is accepted", async () => {
  assert.equal((await signIn("s-1")).status, 302)
  await provider.rotate()
  assert.equal((await signIn("s-1")).status, 302)
})

test("the sign-in page reports an unreachable provider, and passwords still work", async () => {
  const browser = new Browser()
  const callback = await callbackFor(browser, "s-1")
  await provider.stop()
  try {
    const answer = await browser.ask(callback)
    assert.equal(answer.status, 503)
    assert.ok(Number(answer.headers.get("retry-after")) > 0)
    assert.match(await answer.text(), /cannot be reached.*signing in with a password still works/)
    const body = { UserName: "cleo", Password: "cleo-password" }
    assert.equal((await sendRequest(baseUrl, "POST", "/session", { body })).status, 200)
  } finally {
    await provider.start()
  }
  assert.equal((await signIn("s-1")).status, 302)
})

test("a sign-in that the provider refuses shows the refusal and can be retried", async () => {
  const browser = new Browser()
  const answer = await browser.ask(await callbackFor(browser, ""))
  assert.equal(answer.status, 401)
  assert.match(await answer.text(), /does not prove a user name \(access_denied\).*href="\/ui\/sign-in"/)
})

test("a sign-in redirects to a path of this service only", async () => {
  for (const [next, end] of [
    ["/open?ID=7&path=%2Flab", "/open?ID=7&path=%2Flab"],
    ["/.//evil.example/", "//evil.example/"],
    ["//evil.example/", "/ui/"],
    ["/\\evil.example/", "/ui/"],
    ["/\t/evil.example/", "/ui/"],
    ["https://evil.example/", "/ui/"],
    ["javascript:alert(1)", "/ui/"],
    [`/${"x".repeat(3_000)}`, "/ui/"],
    [`/${"ä".repeat(1_000)}`, "/ui/"],
  ] as const) {
    const browser = new Browser()
    const answer = await browser.ask(await callbackFor(browser, "s-1", `?next=${encodeURIComponent(next)}`))
    assert.equal(answer.headers.get("location"), baseUrl + end, next)
  }
})

/** The facts that the page carries for the web UI. */
function installationOf(page: string): { openId: unknown } {
  const text = /<meta name="quayside" content="([^"]*)">/.exec(page)?.[1] ?? ""
  return JSON.parse(text.replaceAll(/&#(\d+);/g, (_, code) => String.fromCharCode(code)))
}

test("the sign-in page links to a configured provider with an escaped name", async () => {
  const page = (await sendRequest(baseUrl, "GET", "/ui/sign-in")).text
  assert.deepEqual(installationOf(page).openId, { name: "Example <Lab>", href: `${baseUrl}/oidc/login` })
  assert.ok(page.includes("Example &#60;Lab&#62;"), page)
  await using plain = await startTestServer()
  assert.equal(installationOf((await sendRequest(plain.quayside.baseUrl, "GET", "/ui/sign-in")).text).openId, null)
  for (const path of ["/oidc/login", "/oidc/callback"]) {
    const answer = await sendRequest(plain.quayside.baseUrl, "GET", path)
    assert.deepEqual([answer.status, answer.body.code], [404, "not_found"])
  }
})

test("the audit records sign-ins by the provider and their changes", async () => {
  await provider.tell("s-9", { preferred_username: "hal", groups: ["lab-nine"] })
  await signIn("s-9")
  const { data } = await server.admin.listAudit({ query: { UserName: "hal" } })
  assert.deepEqual(data.map((entry) => entry.Action).sort(), ["group.created", "session.created", "user.created"])
})
