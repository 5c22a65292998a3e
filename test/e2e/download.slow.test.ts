import assert from "node:assert/strict"
import { createReadStream, readFileSync } from "node:fs"
import { test } from "node:test"
import { BrowserServer } from "./browser-server.ts"

const app = readFileSync(new URL("../fixtures/web-app.py", import.meta.url))
const largeBytes = 500_000_000

test("python-app: a browser downloads 500 MB from the run's origin", async () => {
  await using rig = await BrowserServer.start()
  await rig.withRun({ image: "python-app", type: "http", files: { "app.py": app }, memoryMiB: 256 }, async ({ page }) => {
    const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#large").click()])
    let size = 0
    for await (const chunk of createReadStream(await download.path())) {
      assert.equal((chunk as Buffer).compare(Buffer.alloc((chunk as Buffer).length, "q")), 0)
      size += (chunk as Buffer).length
    }
    assert.equal(size, largeBytes)
  })
})
