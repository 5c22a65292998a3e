import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "#kit"
import {
  ann,
  aRunTarget,
  baseUrl,
  bob,
  cookiesOf,
  type FixtureResponse,
  GatewayFixture,
  keyA,
  keyB,
  navigationHeaders,
} from "../testing/gateway-fixture.ts"

const entrance = (url: string) => {
  const { pathname, search } = new URL(url)
  return pathname + search
}
const nonceOf = (answer: FixtureResponse) => new URL(answer.headers.location ?? "").searchParams.get("nonce") ?? ""

/** A ticket for a browser that has begun the flow at run 1, and that browser's cookies. */
async function startedFlow(fixture: GatewayFixture, options: { visitor?: typeof ann; path?: string } = {}) {
  const started = await fixture.ask(fixture.origin, "/.quayside/start", { headers: navigationHeaders })
  const ticket = fixture.gateway.tickets.issue({ visitor: ann, target: fixture.target, nonce: nonceOf(started), ...options })
  return { ticket: entrance(ticket), nonceCookie: cookiesOf(started) }
}

test("a browser without a session is redirected to sign in, and returns with a ticket to the page that it requested", async () => {
  await using fixture = await GatewayFixture.open()
  const first = await fixture.ask(fixture.origin, "/some/page?x=1", { headers: navigationHeaders })
  assert.equal(first.status, 302)
  const open = new URL(first.headers.location ?? "")
  assert.equal(open.origin + open.pathname, `${baseUrl}/open`)
  assert.equal(open.searchParams.get("ID"), "1")
  assert.equal(open.searchParams.get("path"), "/some/page?x=1")
  assert.match(
    first.headers["set-cookie"]?.[0] ?? "",
    /^__Host-Http-quayside-nonce=[\w-]{22}; Path=\/; HttpOnly; SameSite=Lax; Secure; Max-Age=3600$/,
  )

  const path = open.searchParams.get("path") ?? undefined
  const ticket = fixture.gateway.tickets.issue({ visitor: ann, target: fixture.target, nonce: nonceOf(first), path })
  assert.ok(ticket.startsWith(`http://${fixture.origin}/.quayside/enter?ticket=`))
  const entered = await fixture.ask(fixture.origin, entrance(ticket), { headers: { ...navigationHeaders, cookie: cookiesOf(first) } })
  assert.equal(entered.status, 302)
  assert.equal(entered.headers.location, "/some/page?x=1")
  assert.match(entered.headers["set-cookie"]?.[0] ?? "", /^__Host-Http-quayside-run=[\w.-]+; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
  assert.equal(entered.headers["referrer-policy"], "no-referrer")
  assert.equal(entered.headers["cache-control"], "no-store")

  const answer = await fixture.ask(fixture.origin, "/some/page?x=1", { headers: { ...navigationHeaders, cookie: cookiesOf(entered) } })
  assert.equal(answer.status, 200)
  assert.equal(JSON.parse(answer.text).url, "/some/page?x=1")
  assert.equal(JSON.parse(answer.text).headers.cookie, undefined)
})

test("a ticket is rejected in another browser, for another run, a second time, and after 30 seconds", async () => {
  const clock = new ManualClock()
  await using fixture = await GatewayFixture.open({ clock })
  const { ticket, nonceCookie } = await startedFlow(fixture)
  const refused = async (headers: Record<string, string>, host = fixture.origin) => {
    const answer = await fixture.ask(host, ticket, { headers: { ...navigationHeaders, ...headers } })
    assert.equal(answer.status, 403)
    assert.match(answer.text, /Try again/)
    assert.equal(answer.headers["set-cookie"], undefined)
  }
  await refused({})
  await refused({ cookie: "__Host-Http-quayside-nonce=AAAAAAAAAAAAAAAAAAAAAA" })
  fixture.runs.targets.set(keyB, { ...aRunTarget(2, keyB), address: fixture.target.address })
  await refused({ cookie: nonceCookie }, fixture.origin.replace(keyA, keyB))
  assert.equal((await fixture.ask(fixture.origin, ticket, { headers: { ...navigationHeaders, cookie: nonceCookie } })).status, 302)
  await refused({ cookie: nonceCookie })

  const second = await startedFlow(fixture)
  await clock.advance(30_000)
  assert.equal(
    (await fixture.ask(fixture.origin, second.ticket, { headers: { ...navigationHeaders, cookie: second.nonceCookie } })).status,
    403,
  )
})

test("of two simultaneous uses of a ticket one is rejected", async () => {
  await using fixture = await GatewayFixture.open()
  const { ticket, nonceCookie } = await startedFlow(fixture)
  const answers = await Promise.all(
    [1, 2, 3, 4].map(() => fixture.ask(fixture.origin, ticket, { headers: { ...navigationHeaders, cookie: nonceCookie } })),
  )
  assert.deepEqual(answers.map((answer) => answer.status).sort(), [302, 403, 403, 403])
})

test("a changed ticket, a session sent as a ticket and a ticket sent as a session are rejected", async () => {
  await using fixture = await GatewayFixture.open()
  const { ticket, nonceCookie } = await startedFlow(fixture)
  const text = ticket.split("ticket=")[1] ?? ""
  const { cookie } = await fixture.enter()
  const session = cookie.split(";")[0]?.split("=")[1] ?? ""
  for (const bad of ["", "x", `${text}x`, `x${text}`, text.replace(".", ""), session, `${text.split(".")[0]}.${session.split(".")[1]}`]) {
    const answer = await fixture.ask(fixture.origin, `/.quayside/enter?ticket=${bad}`, {
      headers: { ...navigationHeaders, cookie: nonceCookie },
    })
    assert.equal(answer.status, 403, bad)
  }
  const answer = await fixture.ask(fixture.origin, "/", { headers: { cookie: `__Host-Http-quayside-run=${text}` } })
  assert.equal(answer.status, 401)
})

test("a used ticket redirects to its page while its session is valid, for the back button", async () => {
  await using fixture = await GatewayFixture.open()
  const { ticket, nonceCookie } = await startedFlow(fixture, { path: "/a" })
  const entered = await fixture.ask(fixture.origin, ticket, { headers: { ...navigationHeaders, cookie: nonceCookie } })
  const repeated = await fixture.ask(fixture.origin, ticket, { headers: { ...navigationHeaders, cookie: cookiesOf(entered) } })
  assert.equal(repeated.status, 302)
  assert.equal(repeated.headers.location, "/a")
})

test("several tabs that start at once share one nonce, and all sign in", async () => {
  await using fixture = await GatewayFixture.open()
  const first = await fixture.ask(fixture.origin, "/a", { headers: navigationHeaders })
  const second = await fixture.ask(fixture.origin, "/b", { headers: { ...navigationHeaders, cookie: cookiesOf(first) } })
  assert.equal(nonceOf(first), nonceOf(second))
})

test("a session is valid for its run and key until it expires, and use renews it", async () => {
  const clock = new ManualClock()
  await using fixture = await GatewayFixture.open({ clock })
  fixture.runs.targets.set(keyB, { ...aRunTarget(2, keyB), address: fixture.target.address })
  const { cookie } = await fixture.enter()
  const request = (headers: Record<string, string>, host = fixture.origin) => fixture.ask(host, "/x", { headers })
  assert.equal((await request({ cookie })).status, 200)
  assert.equal((await request({ cookie }, fixture.origin.replace(keyA, keyB))).status, 401)
  assert.equal((await request({ cookie })).headers["set-cookie"], undefined)

  await clock.advance(10 * 60_000)
  const renewed = await request({ cookie })
  assert.match(renewed.headers["set-cookie"]?.[0] ?? "", /^__Host-Http-quayside-run=/)
  await clock.advance(12 * 3_600_000 - 10 * 60_000)
  assert.equal((await request({ cookie })).status, 401)
  assert.equal((await request({ cookie: cookiesOf(renewed) })).status, 200)
})

test("a session does not open a later run with the same ID", async () => {
  await using fixture = await GatewayFixture.open()
  const { cookie } = await fixture.enter()
  const target = fixture.target
  fixture.runs.targets.delete(keyA)
  fixture.runs.targets.set(keyB, { ...target, key: keyB })
  assert.equal((await fixture.ask(fixture.origin, "/x", { headers: { cookie } })).status, 404)
  assert.equal((await fixture.ask(fixture.origin.replace(keyA, keyB), "/x", { headers: { cookie } })).status, 401)
})

test("a browser without cookies gets a page instead of endless redirects", async () => {
  await using fixture = await GatewayFixture.open()
  const { ticket } = await startedFlow(fixture)
  const answer = await fixture.ask(fixture.origin, ticket, { headers: navigationHeaders })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /blocks cookies/)
})

test("a browser that lost its session but not the nonce gets a page, and can retry after some seconds", async () => {
  const clock = new ManualClock()
  await using fixture = await GatewayFixture.open({ clock })
  const { ticket, nonceCookie } = await startedFlow(fixture)
  const entered = await fixture.ask(fixture.origin, ticket, { headers: { ...navigationHeaders, cookie: nonceCookie } })
  const trace = cookiesOf(entered).split("; ")[1] ?? ""
  assert.match(trace, /^__Host-Http-quayside-nonce=made\./)
  const answer = await fixture.ask(fixture.origin, "/", { headers: { ...navigationHeaders, cookie: trace } })
  assert.equal(answer.status, 403)
  assert.match(answer.text, /did not keep its session/)
  await clock.advance(10_000)
  assert.equal((await fixture.ask(fixture.origin, "/", { headers: { ...navigationHeaders, cookie: trace } })).status, 302)
})

test("a ticket whose owner lost the right to the run leads to a page", async () => {
  await using fixture = await GatewayFixture.open()
  const { ticket, nonceCookie } = await startedFlow(fixture, { visitor: bob })
  assert.equal((await fixture.ask(fixture.origin, ticket, { headers: { ...navigationHeaders, cookie: nonceCookie } })).status, 403)
})

test("a ticket without a path leads to the landing page below the program's base", async () => {
  for (const [prefix, landing, wanted, lands] of [
    ["keep", "lab", undefined, "/run/1/lab"],
    ["keep", "/lab", "/", "/run/1/lab"],
    ["keep", "lab", "/tree?x=1", "/run/1/tree?x=1"],
    ["keep", "", undefined, "/run/1/"],
    ["strip", "vnc.html?autoconnect=1", undefined, "/vnc.html?autoconnect=1"],
    ["strip", "", "/a b", "/a%20b"],
    ["strip", "", undefined, "/"],
  ] as const) {
    await using fixture = await GatewayFixture.open({ prefix, target: { landing } })
    assert.equal((await fixture.enter(ann, wanted)).landed, lands)
  }
})

test("no path leads a browser away from the run's origin, or to the gateway's own paths", async () => {
  await using fixture = await GatewayFixture.open()
  const { cookie } = await fixture.enter()
  for (const path of [
    "https://evil.example/",
    "//evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "/\t/evil.example",
    "/../..//evil.example",
    "/.quayside/start",
    "/.quayside",
    "//.quayside/enter",
    "/x/../.quayside/start",
    "/%2e%2e/.quayside/enter",
    "javascript:alert(1)",
    "@evil.example",
    "/a\r\nSet-Cookie: x=1",
    `/${"a".repeat(3000)}`,
  ]) {
    const landed = [
      (await fixture.enter(ann, path)).landed,
      (
        await fixture.ask(fixture.origin, `/.quayside/start?path=${encodeURIComponent(path)}`, {
          headers: { ...navigationHeaders, cookie },
        })
      ).headers.location ?? "",
    ]
    for (const location of landed) {
      const url = new URL(location, `http://${fixture.origin}`)
      assert.equal(url.host, fixture.origin, path)
      assert.doesNotMatch(url.pathname, /^\/+\.quayside/, path)
      assert.match(location, /^\/(?![/\\])[\x21-\x7e]*$/, path)
    }
  }
})

test("no ticket is issued for a malformed nonce", async () => {
  await using fixture = await GatewayFixture.open()
  for (const nonce of ["", "x", "a".repeat(44), `${"a".repeat(42)}\n`, "a".repeat(42)]) {
    assert.throws(() => fixture.gateway.tickets.issue({ visitor: ann, target: fixture.target, nonce }), { code: "invalid", field: "nonce" })
  }
})

test("the gateway's own paths accept top-level navigations with `GET` only", async () => {
  await using fixture = await GatewayFixture.open()
  const { cookie } = await fixture.enter()
  assert.equal((await fixture.ask(fixture.origin, "/.quayside/other", { headers: { cookie } })).status, 404)
  assert.equal((await fixture.ask(fixture.origin, "/.quayside", { headers: { cookie } })).status, 404)
  assert.equal((await fixture.ask(fixture.origin, "/.quayside/start", { method: "POST", headers: { cookie } })).status, 405)
  const framed = { ...navigationHeaders, "sec-fetch-dest": "iframe" }
  assert.equal((await fixture.ask(fixture.origin, "/.quayside/start", { headers: framed })).status, 403)
  assert.equal(fixture.program.requests.length, 0)
})

test("a run's URLs follow from the apps URL", async () => {
  await using fixture = await GatewayFixture.open()
  assert.equal(fixture.gateway.runUrl(7), `http://localhost:${fixture.port}/run/7/`)
  assert.equal(fixture.gateway.openUrl(fixture.target), `http://${fixture.origin}/.quayside/start`)
  assert.equal(fixture.gateway.openUrl(fixture.target, "/lab?x=1"), `http://${fixture.origin}/.quayside/start?path=%2Flab%3Fx%3D1`)
  assert.equal(fixture.gateway.openUrl(fixture.target, "//evil.example"), `http://${fixture.origin}/.quayside/start?path=%2Fevil.example`)
})

test("cookies are `Secure` with TLS, and have no prefix that browsers would reject without it", async () => {
  for (const [appsUrl, cookie] of [
    ["https://apps.example.com", /^__Host-Http-quayside-nonce=.*; Secure/],
    ["http://apps.example.com", /^quayside-nonce=(?!.*Secure)/],
  ] as const) {
    await using fixture = await GatewayFixture.open({ appsUrl })
    const answer = await fixture.ask(`${keyA}.apps.example.com`, "/", { headers: navigationHeaders })
    assert.match(answer.headers["set-cookie"]?.[0] ?? "", cookie)
    assert.equal(fixture.gateway.openUrl(fixture.target), `${appsUrl.replace("://", `://${keyA}.`)}/.quayside/start`)
  }
})

test("a planted cookie of the same name does not hide the session", async () => {
  await using fixture = await GatewayFixture.open()
  const { cookie } = await fixture.enter()
  const answer = await fixture.ask(fixture.origin, "/", { headers: { cookie: `__Host-Http-quayside-run=planted; ${cookie}; a=1` } })
  assert.equal(answer.status, 200)
  assert.equal(JSON.parse(answer.text).headers.cookie, "a=1")
})
