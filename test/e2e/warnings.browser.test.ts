import assert from "node:assert/strict"
import { after, mock, test } from "node:test"
import { systemClock } from "#kit"
import { eventually } from "../fixtures/eventually.ts"
import { startTestServer } from "../test-server.ts"
import { freshContext, openBrowser } from "./browser.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann", { Limits: { IdleMinutes: 60 } })

/** Minutes that seem to have passed without use. */
let skippedMinutes = 0
const monotonic = systemClock.monotonic
mock.method(systemClock, "monotonic", () => monotonic() + skippedMinutes * 60_000)

test("the warning before an idle end shows at once, and its button keeps the run", { timeout: 110_000 }, async () => {
  const image = await ann.client.createImage({ body: { Name: "web", Image: "fake/http" } })
  const project = await ann.client.createProject({ body: { ProjectName: "Forgotten", Type: "http", ImageID: image.ID } })
  const { ID } = await ann.client.startRun({ body: { ProjectID: project.ID } })
  const isMeasured = async () => (await ann.client.runStats({ query: { ID } })).now.Cpus !== null
  await using browser = await openBrowser()
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${server.quayside.baseUrl}/ui/`)
  await page.getByLabel("User name").fill("ann")
  await page.getByLabel("Password").fill(ann.password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByRole("link", { name: "Forgotten" }).waitFor()
  await eventually("the run is measured", isMeasured, 60_000)
  skippedMinutes = 51
  const card = page.getByRole("listitem").filter({ has: page.getByRole("link", { name: "Open" }) })
  await card.getByText("Nobody uses it. It stops in").waitFor()
  await card.getByRole("button", { name: "Keep running" }).click()
  await card.getByText("Nobody uses it").waitFor({ state: "detached" })
  assert.equal((await ann.client.readRun({ query: { ID } })).IdleExpiresAt, null)
})
