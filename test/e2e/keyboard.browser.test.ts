import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Browser, FileChooser, Locator, Page } from "playwright-core"
import { adminPassword, startTestServer, type TestServer } from "../test-server.ts"
import { freshContext, openBrowser } from "./browser.ts"
import { layoutFaults, seriousViolations } from "./page-checks.ts"

let server: TestServer
let browser: Browser & AsyncDisposable
before(async () => {
  server = await startTestServer()
  browser = await openBrowser()
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

/** Presses Tab until the control has the focus. */
async function tabTo(target: Locator): Promise<void> {
  await target.waitFor()
  for (let presses = 0; presses < 80; presses += 1) {
    if (await target.evaluate((element) => element === document.activeElement)) return
    await target.page().keyboard.press("Tab")
  }
  assert.fail(`Tab does not reach ${target}`)
}

async function press(target: Locator): Promise<void> {
  await tabTo(target)
  await target.page().keyboard.press("Enter")
}

async function typeInto(target: Locator, text: string): Promise<void> {
  await tabTo(target)
  await target.page().keyboard.type(text)
}

/** Chooses in a list that opens at the control. */
async function choose(target: Locator, words: string, option: string): Promise<void> {
  await typeInto(target, words)
  const { keyboard } = target.page()
  await target.page().getByRole("option", { name: option, exact: true }).waitFor()
  await keyboard.press("ArrowDown")
  await keyboard.press("Enter")
}

async function goByPalette(page: Page, name: string): Promise<void> {
  await page.keyboard.press("Control+k")
  await page
    .getByRole("combobox", { name: /Search|Go to/ })
    .last()
    .waitFor()
  await page.keyboard.type(name)
  await page.getByRole("option", { name }).first().waitFor()
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name, level: 1, exact: true }).waitFor()
}

/** As at 200 %: the window has half as many points, each with twice as many pixels. */
const zoomed = { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 }

test("the main path works by keyboard alone at 200 %: nothing overlaps, nothing is cut, axe is content", { timeout: 240_000 }, async () => {
  await server.admin.createImage({ body: { Name: "JupyterLab", Image: "fake/http" } })
  const page = await (await freshContext(browser, zoomed)).newPage()
  page.setDefaultTimeout(60_000)
  // The browser hands the choice over only some time after somebody began to listen.
  const chooser = new Promise<FileChooser>((resolve) => page.once("filechooser", resolve))
  const faults: string[] = []
  const check = async (name: string) => {
    const found = [...(await layoutFaults(page)), ...(await seriousViolations(page))]
    faults.push(...found.map((each) => `${name}: ${each}`))
  }
  await page.goto(server.quayside.baseUrl)
  await typeInto(page.getByLabel("User name"), "admin")
  await typeInto(page.getByLabel("Password"), adminPassword)
  await check("sign-in")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Home", level: 1, exact: true }).waitFor()
  await check("home")
  await press(page.getByRole("button", { name: "Menu" }))
  await check("menu")
  await press(page.getByRole("dialog").getByRole("link", { name: "Datasets" }))
  await press(page.getByRole("link", { name: "New dataset" }).first())
  await typeInto(page.getByLabel("Name", { exact: true }), "Measurements")
  await check("dataset")
  await press(page.getByRole("button", { name: "Create" }))
  await press(page.getByRole("link", { name: "Browse and upload" }))
  await press(page.getByRole("button", { name: "Upload", exact: true }))
  await page.locator('[role="menuitem"]:focus', { hasText: "Upload files" }).waitFor()
  await page.keyboard.press("Enter")
  await (await chooser).setFiles({ name: "june.csv", mimeType: "text/csv", buffer: Buffer.from("day,celsius\n1,19.4\n") })
  await page.getByRole("link", { name: "june.csv", exact: true }).waitFor()
  await check("files")
  await goByPalette(page, "Projects")
  await press(page.getByRole("link", { name: "New project" }).first())
  await choose(page.getByLabel("Image", { exact: true }), "jupyter", "JupyterLab")
  await typeInto(page.getByLabel("Name", { exact: true }), "Mean temperatures")
  await choose(page.getByLabel("Add a dataset"), "measure", "Measurements")
  await check("project")
  await press(page.getByRole("button", { name: "Create and start" }))
  await page.getByText("Ready", { exact: true }).waitFor()
  await tabTo(page.getByRole("link", { name: "Open" }))
  await check("run")
  assert.deepEqual(faults, [])
  const [project] = (await server.admin.listProjects({ query: { ProjectName: "Mean temperatures" } })).data
  assert.deepEqual([project?.Running, project?.TrainData.length], [true, 1])
})
