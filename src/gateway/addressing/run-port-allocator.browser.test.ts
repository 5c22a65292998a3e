import assert from "node:assert/strict"
import { createServer, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { after, before, test } from "node:test"
import { type Browser, chromium, type Page } from "playwright-core"
import { freePorts, freeRange } from "../../../test/fixtures/free-ports.ts"
import type { RunTarget } from "../run-directory.ts"
import { ann, aRunTarget, GatewayFixture, keyA, keyB, TestPortAssignments, TestProgram } from "../testing/gateway-fixture.ts"

let browser: Browser
before(async () => {
  browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] })
})
after(() => browser.close())

const year = "public, max-age=31536000, immutable"

/**
 * A page and its script, which both name their run; if the run leaves traces, also a service
 * worker.
 */
function program(name: string, leavesTraces: boolean): TestProgram {
  const lasting = leavesTraces ? { "cache-control": year, "service-worker-allowed": "/" } : {}
  const answer = (response: ServerResponse, type: string, text: string) =>
    response.writeHead(200, { ...lasting, "content-type": type, etag: '"same"' }).end(text)
  return new TestProgram((request, response) => {
    request.resume()
    const { url = "/" } = request
    // Both programs answer that the browser's cached copy is current.
    if (request.headers["if-none-match"]?.includes('"same"')) return void response.writeHead(304, { etag: '"same"' }).end()
    if (url === "/app.js") return void answer(response, "text/javascript", `document.title = ${JSON.stringify(name)}`)
    if (url === "/worker.js")
      return void answer(
        response,
        "text/javascript",
        `self.addEventListener("fetch", (event) => event.respondWith(new Response("<title>${name}</title>", { headers: { "content-type": "text/html" } })))
         self.addEventListener("install", () => self.skipWaiting())`,
      )
    return void answer(response, "text/html", `<!doctype html><script src="/app.js"></script>`)
  })
}

/**
 * A gateway at localhost, where service workers exist, with ports for runs; a base URL where
 * everybody is Ann; and a browser.
 */
async function startFixture(first: TestProgram) {
  await using stack = new AsyncDisposableStack()
  const base = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost")
    const nonce = url.searchParams.get("nonce")
    const target = fixture.runs.byId(Number(url.searchParams.get("ID")))
    if (!target) return void response.writeHead(404).end()
    void fixture.gateway.ensureOrigin(target).then(() => {
      const path = url.searchParams.get("path") ?? undefined
      const location =
        nonce === null ? fixture.gateway.openUrl(target, path) : fixture.gateway.tickets.issue({ visitor: ann, target, nonce, path })
      response.writeHead(302, { location }).end()
    })
  })
  await new Promise<void>((resolve) => base.listen(0, "127.0.0.1", resolve))
  stack.defer(() => new Promise((resolve) => base.close(() => resolve()).closeAllConnections()))
  const baseUrl = `http://localhost:${(base.address() as AddressInfo).port}`
  const [apps = 0] = await freePorts(1)
  const ports = { ...(await freeRange(4)), ledger: new TestPortAssignments() }
  const fixture: GatewayFixture = stack.use(
    await GatewayFixture.open({ program: first, baseUrl, ports, appsUrl: `http://localhost:${apps}` }),
  )
  const context = await browser.newContext()
  stack.defer(() => context.close())
  const page = await context.newPage()
  const open = async (id: number): Promise<Page> => {
    await page.goto(`${baseUrl}/open?ID=${id}`)
    return page
  }
  /** Ends the first run; the new one, of the same authors, is ready. */
  const follow = async (next: TestProgram, fields: Partial<RunTarget>) => {
    stack2.use(next)
    await page.goto("about:blank")
    fixture.runs.targets.delete(keyA)
    await fixture.gateway.recheck()
    fixture.runs.targets.set(keyB, { ...aRunTarget(2, keyB), address: await next.listen(), ...fields })
  }
  const stack2 = stack.move()
  return { fixture, open, follow, page, [Symbol.asyncDispose]: () => stack2.disposeAsync() }
}

/**
 * A hostile page tries to stay: it installs a worker for the whole origin and fills its storage.
 */
const stay = async () => {
  localStorage.setItem("left", "first")
  const worker = await navigator.serviceWorker.register("/worker.js", { scope: "/", updateViaCache: "all" }).catch((error) => error)
  return worker instanceof Error ? worker.name : "registered"
}

test("an immutable script and a service worker of a run have no effect on the next run at its port", async () => {
  await using created = await startFixture(program("first", true))
  await created.open(1)
  assert.equal(await created.page.title(), "first")
  const port = new URL(created.page.url()).port
  assert.match(await created.page.evaluate(stay), /Error$/)
  await created.page.evaluate(() => fetch("/worker.js").then((answer) => answer.text()))
  assert.match(await created.page.evaluate(stay), /Error$/, "nor from the browser's cache")
  await created.follow(program("second", false), { projectId: 1 })
  await created.open(2)
  assert.equal(new URL(created.page.url()).port, port)
  assert.equal(await created.page.title(), "second")
  assert.equal(await created.page.evaluate(() => navigator.serviceWorker.getRegistrations().then(({ length }) => length)), 0)
  await created.page.reload()
  assert.equal(await created.page.title(), "second")
})

test("browser storage of a port reaches the next run of the same project, and of no other project", async () => {
  const leftovers = () => localStorage.getItem("left")
  for (const [projectId, found] of [
    [1, "first"],
    [9, null],
  ] as const) {
    await using created = await startFixture(program("first", true))
    await created.open(1)
    const port = new URL(created.page.url()).port
    await created.page.evaluate(stay)
    await created.follow(program("second", false), { projectId })
    await created.open(2)
    assert.equal(new URL(created.page.url()).port, port)
    assert.equal(await created.page.evaluate(leftovers), found)
  }
})
