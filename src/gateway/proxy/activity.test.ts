import assert from "node:assert/strict"
import { once } from "node:events"
import type { IncomingHttpHeaders } from "node:http"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"
import { ActivityReporter } from "./activity.ts"

const minute = 60_000
const byPage = { "sec-fetch-mode": "cors", accept: "*/*" }

interface SentRequest {
  method?: string
  path: string
  headers?: IncomingHttpHeaders
}

/** The number of reports for requests that are sent so many milliseconds apart. */
async function reportsOf(requests: readonly SentRequest[], everyMs: number, webSocketProtocol: "any" | "jupyter" = "any"): Promise<number> {
  const clock = new ManualClock()
  let reports = 0
  const recordActivity = () => {
    reports += 1
  }
  const reporter = new ActivityReporter({ clock, recordActivity })
  for (const { method = "GET", path, headers = byPage } of requests) {
    reporter.reportRequest({ id: 1, webSocketProtocol }, { method, path, headers })
    await clock.advance(everyMs)
  }
  return reports
}

const repeated = (request: SentRequest, times = 10) => Array<SentRequest>(times).fill(request)

test("a page's repeated GETs are no use of the run, whatever time they carry", async () => {
  assert.equal(await reportsOf(repeated({ path: "/api/kernels" }), 10_000), 1)
  const polls = Array.from({ length: 10 }, (_, i) => ({ path: `/api/contents/x?content=1&${1_790_000_000_000 + i * 10_007}` }))
  assert.equal(await reportsOf(polls, 10_000), 1)
  const several = Array.from({ length: 40 }, (_, i) => ({
    path: ["/api/kernels", "/api/sessions", "/api/terminals", "/api/me"][i % 4] ?? "",
  }))
  assert.equal(await reportsOf(several, 2_500), 4)
  assert.equal(await reportsOf(several, 100), 1, "addresses that a page reads at once are polls from the next time on")
  assert.equal(await reportsOf(repeated({ path: "/ws", headers: { upgrade: "websocket" } }), 30_000), 1, "a page that connects again")
  assert.equal(
    await reportsOf(repeated({ path: "/", headers: { ...byPage, "sec-fetch-mode": "navigate" } }), minute),
    1,
    "a page that reloads itself",
  )
})

test("the code that a page loads is no use of the run", async () => {
  const parts = Array.from({ length: 5 }, (_, i) => `/static/part${i}.js`)
  assert.equal(
    await reportsOf(
      parts.map((path) => ({ path })),
      10_000,
    ),
    0,
    "a browser that does not say what it loads",
  )
  const as = (kind: string) => parts.map((path) => ({ path: path.slice(0, -3), headers: { ...byPage, "sec-fetch-dest": kind } }))
  for (const kind of ["script", "style", "font"]) assert.equal(await reportsOf(as(kind), 10_000), 0, kind)
  for (const kind of ["empty", "image", "video"]) assert.equal(await reportsOf(as(kind), 10_000), 5, kind)
  const opened = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-user": "?1" }
  assert.equal(await reportsOf([{ path: "/a.js", headers: opened }], 10_000), 1, "a person who opens a script")
  assert.equal(await reportsOf([{ method: "POST", path: "/a.js" }], 10_000), 1)
})

test("JupyterLab saves its layout every 10 s by itself", async () => {
  const save = { method: "PUT", path: "/run/1/lab/api/workspaces/default?1795439867044" }
  assert.equal(await reportsOf(repeated(save), 10_000, "jupyter"), 0)
  assert.equal(await reportsOf(repeated(save), 10_000), 10, "another program's address of that name")
  const saved = { method: "PUT", path: "/run/1/api/contents/a.ipynb?from=/api/workspaces/" }
  assert.equal(await reportsOf(repeated(saved), 10_000, "jupyter"), 10, "a notebook that somebody saves")
})

test("requests of a page in front are use of the run", async () => {
  const pages = ["/a", "/b", "/a?page=2", "/a?page=3", "/item/123456789"].map((path) => ({ path }))
  assert.equal(await reportsOf(pages, 10_000), pages.length)
  assert.equal(await reportsOf(repeated({ path: "/a" }), 16 * minute), 10, "the same page now and then")
  for (const method of ["POST", "PUT", "PATCH", "DELETE"]) assert.equal(await reportsOf(repeated({ method, path: "/a" }), 10_000), 10)
  const opened = { ...byPage, "sec-fetch-mode": "navigate", "sec-fetch-user": "?1" }
  assert.equal(await reportsOf(repeated({ path: "/a", headers: opened }), 10_000), 10, "a page that somebody opens")
  const plain = { accept: "text/html,application/xhtml+xml" }
  assert.equal(await reportsOf(repeated({ path: "/a", headers: plain }), 10_000), 10, "a browser that sends no Sec-Fetch headers")
})

test("use is reported once a second at most", async () => {
  assert.equal(await reportsOf(repeated({ method: "POST", path: "/a" }, 20), 100), 2)
})

test("the memory for the addresses of a run's requests is bounded", async () => {
  const many = Array.from({ length: 600 }, (_, i) => ({ path: `/${i % 300}` }))
  assert.equal(await reportsOf(many, 1_000), 600, "an address is forgotten after 256 others")
})

test("a client's message is use of the run; the program's output and keep-alives are not", async () => {
  const program = new TestProgram()
  program.server.on("upgrade", (_, socket) => {
    socket.on("error", () => {})
    socket.write("HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    socket.on("data", (data: Buffer) => socket.write(data))
  })
  const clock = new ManualClock()
  await using fixture = await GatewayFixture.open({ program, clock })
  using closing = new DisposableStack()
  const { socket } = await fixture.upgrade(fixture.apps, "/run/1/", { Authorization: "Bearer ann", Upgrade: "websocket" })
  closing.defer(() => socket.destroy())
  const reports = fixture.runs.activity
  const send = async (bytes: Buffer) => {
    await clock.advance(5_000)
    const before = reports.length
    const response = once(socket, "data")
    socket.resume().write(bytes)
    await response
    return reports.length - before
  }
  const [ping, text] = [Buffer.from([0x89, 0x80, 1, 2, 3, 4]), Buffer.concat([Buffer.from([0x81, 0x85, 0, 0, 0, 0]), Buffer.from("hello")])]
  assert.deepEqual([await send(ping), await send(text), await send(ping), await send(text)], [0, 1, 0, 1])
})
