import assert from "node:assert/strict"
import { test } from "node:test"
import { aRunTarget, baseUrl, GatewayFixture, keyA, keyB, navigationHeaders, TestProgram } from "../testing/gateway-fixture.ts"

const ann = { authorization: "Bearer ann" }

test("a token opens the run below its path, and the path is stripped for programs at the root", async () => {
  for (const [prefix, sent, got] of [
    ["strip", "/run/1/a%20b?x=1", "/a%20b?x=1"],
    ["strip", "/run/1/", "/"],
    ["strip", "/run/1//a", "//a"],
    ["strip", "/run/1/../2/", "/../2/"],
    ["keep", "/run/1/a?x=1", "/run/1/a?x=1"],
    ["keep", "/run/1/", "/run/1/"],
  ] as const) {
    await using fixture = await GatewayFixture.open({ prefix })
    const answer = await fixture.ask(fixture.apps, sent, { headers: ann })
    assert.equal(answer.status, 200)
    const program = JSON.parse(answer.text)
    assert.equal(program.url, got)
    assert.equal(program.headers.authorization, undefined)
    assert.equal(program.headers.host, fixture.apps)
  }
})

test("loopback addresses are accepted as the apps host, since not every program resolves names", async () => {
  await using fixture = await GatewayFixture.open()
  for (const host of [`127.0.0.1:${fixture.port}`, `[::1]:${fixture.port}`, "localhost", "LOCALHOST:1"]) {
    assert.equal((await fixture.ask(host, "/run/1/", { headers: ann })).status, 200, host)
  }
})

test("a request without credentials gets 401 with `Bearer`, for existing and missing runs", async () => {
  await using fixture = await GatewayFixture.open()
  for (const path of ["/run/1/", "/run/1", "/run/999/x"]) {
    for (const headers of [{}, { authorization: "Bearer wrong" }, { cookie: (await fixture.enter()).cookie }]) {
      const answer = await fixture.ask(fixture.apps, path, { headers })
      assert.equal(answer.status, 401)
      assert.equal(answer.headers["www-authenticate"], "Bearer")
      assert.equal(JSON.parse(answer.text).code, "unauthorized")
    }
  }
  assert.equal(fixture.program.requests.length, 0)
})

test("hidden runs and missing runs look the same", async () => {
  await using fixture = await GatewayFixture.open()
  const hidden = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer bob" } })
  const missing = await fixture.ask(fixture.apps, "/run/9/", { headers: { authorization: "Bearer bob" } })
  assert.equal(hidden.status, 404)
  assert.equal(hidden.text, missing.text)
  const { date: _a, ...hiddenHeaders } = hidden.headers
  const { date: _b, ...missingHeaders } = missing.headers
  assert.deepEqual(hiddenHeaders, missingHeaders)
})

test("a credential for one run opens no other", async () => {
  await using fixture = await GatewayFixture.open()
  fixture.runs.targets.set(keyB, { ...aRunTarget(2, keyB), address: fixture.target.address })
  fixture.runs.tokens.set("Bearer one", { userId: 1, credentialId: "t", scopedRunId: 2 })
  assert.equal((await fixture.ask(fixture.apps, "/run/2/", { headers: { authorization: "Bearer one" } })).status, 200)
  assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer one" } })).status, 404)
})

test("a rejected credential is answered with the reason and the time to wait", async () => {
  await using fixture = await GatewayFixture.open()
  for (const [status, code, retryAfterSeconds, wait] of [
    [429, "too_many_requests", 7, "7"],
    [503, "unavailable", undefined, "2"],
    [403, "forbidden", undefined, undefined],
  ] as const) {
    fixture.runs.refusals.set("Bearer x", { status, msg: "why", ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }) })
    const answer = await fixture.ask(fixture.apps, "/run/1/", { headers: { authorization: "Bearer x" } })
    assert.equal(answer.status, status)
    assert.equal(answer.headers["retry-after"], wait)
    assert.deepEqual(JSON.parse(answer.text), { ok: false, msg: "why", code })
  }
})

test("requests of a browser's page loads are redirected to `/open` with their path, and never served", async () => {
  await using fixture = await GatewayFixture.open()
  const sent = [
    { accept: "text/html,*/*" },
    navigationHeaders,
    { ...navigationHeaders, ...ann },
    ...["iframe", "frame", "script", "worker", "sharedworker", "serviceworker", "style", "image", "object", "embed", "font", "video"].map(
      (dest) => ({
        ...ann,
        "sec-fetch-dest": dest,
        "sec-fetch-mode": "no-cors",
        "sec-fetch-site": "same-origin",
      }),
    ),
    { ...ann, "sec-fetch-mode": "navigate" },
  ]
  for (const headers of sent) {
    const answer = await fixture.ask(fixture.apps, "/run/1/lab?x=1", { headers })
    assert.equal(answer.status, 302, JSON.stringify(headers))
    assert.equal(answer.headers.location, `${baseUrl}/open?ID=1&path=%2Flab%3Fx%3D1`)
  }
  assert.equal((await fixture.ask(fixture.apps, "/run/999/", { headers: navigationHeaders })).headers.location, `${baseUrl}/open?ID=999`)
  assert.equal(
    (await fixture.ask(fixture.apps, "/run/1//evil.example", { headers: navigationHeaders })).headers.location,
    `${baseUrl}/open?ID=1&path=%2Fevil.example`,
  )
  assert.equal(fixture.program.requests.length, 0)
})

test("the script of a service worker is refused below `/run/<ID>/`, with any credentials", async () => {
  await using fixture = await GatewayFixture.open()
  for (const headers of [ann, { ...ann, "sec-fetch-dest": "serviceworker", "sec-fetch-site": "same-origin" }, {}]) {
    for (const path of ["/run/1/worker.js", "/run/999/worker.js"])
      assert.equal((await fixture.ask(fixture.apps, path, { headers: { ...headers, "service-worker": "script" } })).status, 403)
  }
  assert.equal(fixture.program.requests.length, 0)
})

test("requests from pages of other origins are refused, even with a token", async () => {
  await using fixture = await GatewayFixture.open()
  for (const headers of [
    { "sec-fetch-site": "cross-site", "sec-fetch-dest": "empty" },
    { "sec-fetch-site": "same-site" },
    { origin: baseUrl },
    { origin: "null" },
  ]) {
    for (const method of ["GET", "POST", "OPTIONS"]) {
      assert.equal((await fixture.ask(fixture.apps, "/run/1/", { method, headers: { ...ann, ...headers } })).status, 403)
    }
  }
  assert.equal((await fixture.ask(fixture.apps, "/run/1/", { headers: { ...ann, origin: `http://${fixture.apps}` } })).status, 200)
})

test("responses below `/run/<ID>/` are harmless in browsers", async () => {
  const program = new TestProgram((_, response) =>
    response
      .writeHead(200, {
        "content-type": "text/html",
        "content-security-policy": "sandbox allow-scripts allow-same-origin",
        "cross-origin-resource-policy": "cross-origin",
        "service-worker-allowed": "/",
        "access-control-allow-origin": "*",
        "www-authenticate": "Basic",
        "clear-site-data": '"*"',
        "x-own": "1",
      })
      .end("<script>1</script>"),
  )
  await using fixture = await GatewayFixture.open({ program })
  const { headers } = await fixture.ask(fixture.apps, "/run/1/", { headers: ann })
  assert.equal(headers["content-security-policy"], "sandbox; default-src 'none'; frame-ancestors 'none'")
  assert.equal(headers["x-content-type-options"], "nosniff")
  assert.equal(headers["cross-origin-resource-policy"], "same-origin")
  assert.equal(headers["x-own"], "1")
  for (const name of ["service-worker-allowed", "access-control-allow-origin", "www-authenticate", "clear-site-data"]) {
    assert.equal(headers[name], undefined, name)
  }
})

test("`Location` and cookies are moved below the run's path", async () => {
  const cookies = [
    "a=1",
    "b=1; Path=/; Domain=localhost",
    "c=1; path=/x; HttpOnly",
    "d=1; Path=/run/1/y",
    "e=1; Path=/run/11",
    "quayside_session=x; Path=/",
  ]
  const program = (location: string) => new TestProgram((_, response) => response.writeHead(302, { location, "set-cookie": cookies }).end())
  for (const [prefix, sent, got] of [
    ["strip", "/login?x", "/run/1/login?x"],
    ["strip", "/run/1/login", "/run/1/login"],
    ["strip", "login", "login"],
    ["strip", "http://{apps}/login", "/run/1/login"],
    ["strip", "https://other.example/login", "https://other.example/login"],
    ["keep", "/run/1/login", "/run/1/login"],
    ["keep", "/elsewhere", "/elsewhere"],
  ] as const) {
    const here = program("placeholder")
    await using fixture = await GatewayFixture.open({ prefix, program: here })
    here.server.removeAllListeners("request")
    here.server.on("request", (_, response) =>
      response.writeHead(302, { location: sent.replace("{apps}", fixture.apps), "set-cookie": cookies }).end(),
    )
    const answer = await fixture.ask(fixture.apps, "/run/1/", { headers: ann })
    assert.equal(answer.headers.location, got)
    assert.deepEqual(answer.headers["set-cookie"], [
      "a=1; Path=/run/1/",
      "b=1; Path=/run/1/",
      "c=1; HttpOnly; Path=/run/1/x",
      "d=1; Path=/run/1/y",
      "e=1; Path=/run/1/run/11",
    ])
    const browser = await fixture.ask(fixture.apps, "/run/1/", {
      headers: { ...ann, "sec-fetch-site": "same-origin", "sec-fetch-dest": "empty" },
    })
    assert.equal(browser.headers["set-cookie"], undefined)
  }
})

test("a missing slash after the ID is added by a redirect, so that relative links work", async () => {
  await using fixture = await GatewayFixture.open()
  const answer = await fixture.ask(fixture.apps, "/run/1?x=1", { headers: ann })
  assert.equal(answer.status, 308)
  assert.equal(answer.headers.location, "/run/1/?x=1")
})

test("a token in the URL is no credential and is not forwarded", async () => {
  await using fixture = await GatewayFixture.open()
  const token = `qs_${"a".repeat(43)}`
  fixture.runs.tokens.set(`Bearer ${token}`, { userId: 1, credentialId: "t" })
  for (const query of [`token=${token}`, `access_token=${token}&x`, `x=1&token=${token}`]) {
    assert.equal((await fixture.ask(fixture.apps, `/run/1/?${query}`)).status, 401)
    assert.equal((await fixture.ask(fixture.apps, `/run/1/?${query}`, { headers: ann })).status, 400)
    assert.equal((await fixture.ask(fixture.apps, `/run/1/?${query}`, { headers: navigationHeaders })).status, 400)
    assert.equal((await fixture.ask(fixture.origin, `/?${query}`, { headers: navigationHeaders })).status, 400)
  }
  assert.equal(fixture.program.requests.length, 0)
})

test("`/healthz` returns 200, and paths outside of runs return 404", async () => {
  await using fixture = await GatewayFixture.open()
  for (const path of [
    "/",
    "/run",
    "/run/",
    "/run/x/",
    "/run/01/",
    "/run/0/",
    "/run/-1/",
    "/run/1x/",
    "/run/99999999999999999/",
    "/RUN/1/",
    "//run/1/",
  ]) {
    assert.equal((await fixture.ask(fixture.apps, path, { headers: ann })).status, 404, path)
  }
  assert.equal((await fixture.ask(fixture.apps, "/healthz")).text, '{"ok":true}')
})

test("a run that is not ready returns 503 to authenticated callers only", async () => {
  await using fixture = await GatewayFixture.open()
  fixture.runs.targets.set(keyA, { ...fixture.target, address: undefined, state: "pulling" })
  assert.equal((await fixture.ask(fixture.apps, "/run/1/")).status, 401)
  const answer = await fixture.ask(fixture.apps, "/run/1/", { headers: ann })
  assert.equal(answer.status, 503)
  assert.match(answer.text, /pulling/)
})

test("redirects of a program are forwarded and never followed, and no request chooses its destination", async () => {
  await using other = new TestProgram()
  const { port } = await other.listen()
  const away = `http://127.0.0.1:${port}/secret`
  await using program = new TestProgram((_, response) => {
    response.writeHead(302, {
      location: away,
      "content-location": away,
      "x-accel-redirect": "/secret",
      "x-sendfile": "/etc/passwd",
      refresh: `0;url=${away}`,
    })
    response.end()
  })
  await using fixture = await GatewayFixture.open({ program })
  for (const [path, headers] of [
    ["/run/1/", {}],
    ["/run/1/", { "x-forwarded-host": `127.0.0.1:${port}`, forwarded: `host=127.0.0.1:${port}`, "x-real-ip": "127.0.0.1" }],
    [`/run/1/http://127.0.0.1:${port}/secret`, {}],
    [`/run/1/@127.0.0.1:${port}/`, {}],
    [`/run/1//127.0.0.1:${port}/`, {}],
  ] as const) {
    const answer = await fixture.ask(fixture.apps, path, { headers: { ...ann, ...headers } })
    assert.equal(answer.status, 302, path)
    assert.equal(answer.headers.location, away)
  }
  assert.equal(program.requests.length, 5)
  await fixture.ask(fixture.apps, away, { headers: ann })
  assert.equal(other.requests.length, 0)
})
