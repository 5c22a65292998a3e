import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { adminPassword, startTestServer } from "../test-server.ts"
import { freshContext, openBrowser } from "./browser.ts"

/** A page of another person, at its own origin. */
async function elsewhere(): Promise<AsyncDisposable & { url: string }> {
  const server = createServer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<title>elsewhere</title>"))
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  return { url, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve()).closeAllConnections()) }
}

test("a foreign page that opens a run or a page of Quayside cannot access the new tab, nor the tab that page", {
  timeout: 120_000,
}, async () => {
  await using testServer = await startTestServer()
  const { baseUrl } = testServer.quayside
  const image = await testServer.admin.createImage({ body: { Name: "web", Image: "fake/http" } })
  const project = await testServer.admin.createProject({ body: { ProjectName: "web", Type: "http", ImageID: image.ID } })
  const run = await testServer.admin.startRun({ body: { ProjectID: project.ID } })
  await using other = await elsewhere()
  await using browser = await openBrowser()
  const context = await freshContext(browser)
  const own = await context.newPage()
  await own.goto(`${baseUrl}/ui/sign-in`)
  const signIn = (body: string) =>
    fetch("/session", { method: "POST", headers: { "content-type": "application/json" }, body }).then((r) => r.status)
  assert.equal(await own.evaluate(signIn, JSON.stringify({ UserName: "admin", Password: adminPassword })), 200)
  const page = await context.newPage()
  await page.goto(other.url)
  for (const url of [`${baseUrl}/open?ID=${run.ID}`, run.URL, `${baseUrl}/open?ID=999`, `${baseUrl}/ui/`]) {
    const [tab] = await Promise.all([
      context.waitForEvent("page"),
      page.evaluate((to) => void Object.assign(globalThis, { tab: window.open(to) }), url),
    ])
    await tab.waitForURL((at) => at.href !== "about:blank" && !at.pathname.startsWith("/.quayside/"))
    await tab.waitForLoadState()
    assert.equal(await tab.evaluate(() => window.opener), null, url)
    // The browser updates the page a moment later.
    await page.waitForFunction(() => (globalThis as unknown as { tab: Window }).tab.closed, undefined, { timeout: 30_000 })
    await tab.close()
  }
})
