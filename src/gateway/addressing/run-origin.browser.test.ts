import assert from "node:assert/strict"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { after, before, test } from "node:test"
import { type Browser, type BrowserContext, chromium } from "playwright-core"
import { WebSocketServer } from "ws"
import { ann, aRunTarget, GatewayFixture, keyA, keyB, TestProgram } from "../testing/gateway-fixture.ts"

let browser: Browser
before(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] })
})
after(() => browser.close())

/** Two runs behind the gateway, a base URL where everybody is signed in as Ann, and a browser. */
async function startFixture() {
  await using stack = new AsyncDisposableStack()
  const seen: IncomingMessage[] = []
  const program = new TestProgram((request, response) => {
    seen.push(request)
    response.writeHead(200, { "content-type": "text/html", "set-cookie": ["own=1; Path=/", "wide=1; Domain=localhost; Path=/"] })
    response.end(`<!doctype html><title>program</title>${request.method} ${request.url}`)
  })
  const sockets = new WebSocketServer({ server: program.server })
  sockets.on("connection", (socket) => socket.on("error", () => {}).on("message", (data) => socket.send(`echo ${data}`)))
  const base = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost")
    const nonce = url.searchParams.get("nonce")
    const path = url.searchParams.get("path") ?? undefined
    const target = fixture.runs.byId(Number(url.searchParams.get("ID")))
    if (url.pathname !== "/open" || !target)
      return response
        .writeHead(200, { "content-type": "text/html", "set-cookie": "quayside_session=secret; HttpOnly; SameSite=Lax" })
        .end("<title>base</title>")
    const location =
      nonce === null ? fixture.gateway.openUrl(target, path) : fixture.gateway.tickets.issue({ visitor: ann, target, nonce, path })
    return response.writeHead(302, { location }).end()
  })
  await new Promise<void>((resolve) => base.listen(0, "127.0.0.1", resolve))
  stack.defer(() => new Promise((resolve) => base.close(() => resolve()).closeAllConnections()))
  const baseUrl = `http://localhost:${(base.address() as AddressInfo).port}`
  const fixture: GatewayFixture = stack.use(await GatewayFixture.open({ program, baseUrl }))
  fixture.runs.targets.set(keyB, { ...aRunTarget(2, keyB), address: fixture.target.address })
  const context = await browser.newContext()
  stack.defer(() => context.close())
  const resources = stack.move()
  return { fixture, seen, context, baseUrl, [Symbol.asyncDispose]: () => resources.disposeAsync() }
}

async function pageAt(context: BrowserContext, url: string) {
  const page = await context.newPage()
  const answer = await page.goto(url)
  return { page, status: answer?.status() }
}

test("the URL of an answer, pasted into a browser, ends at the run's own origin with a clean address", async () => {
  await using created = await startFixture()
  await pageAt(created.context, created.baseUrl)
  const { page, status } = await pageAt(created.context, `${created.fixture.gateway.runUrl(1)}some/page?x=1#part`)
  assert.equal(status, 200)
  assert.equal(page.url(), `http://${created.fixture.origin}/some/page?x=1#part`)
  assert.match(await page.content(), /GET \/some\/page\?x=1/)
  assert.ok(created.seen.every(({ headers }) => !/quayside|secret/.test(headers.cookie ?? "")))
  const cookies = await created.context.cookies()
  assert.deepEqual(cookies.map(({ name, domain }) => `${name} ${domain}`).sort(), [
    `__Host-Http-quayside-nonce ${keyA}.localhost`,
    `__Host-Http-quayside-run ${keyA}.localhost`,
    `own ${keyA}.localhost`,
    "quayside_session localhost",
    `wide ${keyA}.localhost`,
  ])
})

test("a program's page works with its own origin, and cannot touch the gateway's cookies", async () => {
  await using created = await startFixture()
  const { page } = await pageAt(created.context, created.fixture.gateway.runUrl(1))
  const results = await page.evaluate(async () => {
    // biome-ignore lint/suspicious/noDocumentCookie: this is the attack
    document.cookie = "__Host-Http-quayside-run=planted; Secure; Path=/"
    // biome-ignore lint/suspicious/noDocumentCookie: and so is this
    document.cookie = "quayside-run=planted"
    const posted = await fetch("/post", { method: "POST", body: "x" })
    const message = await new Promise((resolve, reject) => {
      const socket = new WebSocket(`ws://${location.host}/socket`)
      socket.onopen = () => socket.send("hello")
      socket.onmessage = (event) => resolve(event.data)
      socket.onerror = () => reject(new Error("no socket"))
    })
    const frame = document.createElement("iframe")
    frame.src = "/frame"
    await new Promise((resolve) => {
      frame.onload = resolve
      document.body.append(frame)
    })
    return { posted: await posted.text(), message, cookie: document.cookie, framed: frame.contentDocument?.body.textContent }
  })
  assert.match(results.posted, /POST \/post/)
  assert.equal(results.message, "echo hello")
  assert.equal(results.framed, "GET /frame")
  assert.doesNotMatch(results.cookie, /__Host-Http/)
  assert.ok(created.seen.every(({ headers }) => !/quayside|planted/.test(headers.cookie ?? "")))
  assert.equal((await page.goto(`http://${created.fixture.origin}/again`))?.status(), 200)
})

test("a page of another run can navigate to a run, but cannot send requests, frame it or open a socket", async () => {
  await using created = await startFixture()
  await pageAt(created.context, created.fixture.gateway.runUrl(1))
  const { page } = await pageAt(created.context, created.fixture.gateway.runUrl(2))
  const before = created.seen.length
  const results = await page.evaluate(
    async ([origin, apps]) => {
      const tried = async (work: () => Promise<unknown>) =>
        work().then(
          () => "worked",
          () => "failed",
        )
      const socket = (url: string) =>
        new Promise((resolve, reject) => {
          const ws = new WebSocket(url)
          ws.onopen = resolve
          ws.onerror = reject
        })
      const script = (src: string) =>
        new Promise((resolve, reject) => {
          const element = document.createElement("script")
          Object.assign(element, { src, onload: resolve, onerror: reject })
          document.body.append(element)
        })
      return {
        post: await tried(() => fetch(`http://${origin}/x`, { method: "POST", mode: "no-cors", credentials: "include" })),
        cors: await tried(() => fetch(`http://${origin}/x`, { credentials: "include" })),
        path: await tried(() => fetch(`http://${apps}/run/1/x`, { headers: { authorization: "Bearer ann" } })),
        script: await tried(() => script(`http://${origin}/x`)),
        pathScript: await tried(() => script(`http://${apps}/run/1/x`)),
        socket: await tried(() => socket(`ws://${origin}/x`)),
        pathSocket: await tried(() => socket(`ws://${apps}/run/1/x`)),
      }
    },
    [created.fixture.origin, created.fixture.apps] as const,
  )
  assert.deepEqual(
    Object.entries(results).filter(([, outcome]) => outcome !== "failed"),
    [],
  )
  await page.evaluate((origin) => {
    const frame = document.createElement("iframe")
    frame.src = `http://${origin}/framed`
    return new Promise((resolve) => {
      frame.onload = resolve
      document.body.append(frame)
    })
  }, created.fixture.origin)
  assert.deepEqual(
    created.seen.slice(before).filter(({ headers }) => headers.host === created.fixture.origin),
    [],
  )
  await page.evaluate((origin) => location.assign(`http://${origin}/led`), created.fixture.origin)
  await page.waitForURL(`http://${created.fixture.origin}/led`)
})
