import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { BrowserServer, takePicture } from "./browser-server.ts"

const app = readFileSync(new URL("../fixtures/web-app.py", import.meta.url))

test("python-app: absolute links, redirects, cookies, a WebSocket and events of the project's app.py work", {
  timeout: 240_000,
}, async () => {
  await using rig = await BrowserServer.start()
  await rig.withRun({ image: "python-app", type: "http", files: { "app.py": app }, memoryMiB: 256 }, async ({ page }) => {
    const { origin } = new URL(page.url())
    await page.locator("#socket", { hasText: "to and fro" }).waitFor()
    await page.locator("#events", { hasText: "012" }).waitFor()
    await page.locator("#link").click()
    await page.getByText("Cookie: visitor=penguin").waitFor()
    assert.equal(page.url(), `${origin}/landed`)
  })
  await rig.withRun({ image: "python-app", type: "http", memoryMiB: 256 }, async ({ page }) => {
    await page.getByText("echoed hello").waitFor()
    await takePicture(page, "python-app.png")
  })
})
