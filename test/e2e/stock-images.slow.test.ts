import { after, before, suite, test } from "node:test"
import type { Page } from "playwright-core"
import { BrowserServer } from "./browser-server.ts"

const patience = { timeout: 120_000 }

suite("images as their makers build them, with their own command, from the start to a page that works", () => {
  let rig: BrowserServer

  before(async () => {
    rig = await BrowserServer.start()
  })

  after(() => rig[Symbol.asyncDispose]())

  test("a layout of Jupyter Docker Stacks computes a cell as `jupyterlab`", async () => {
    await rig.withRun({ image: "docker-stacks", type: "jupyterlab" }, async ({ page }) => {
      await page.waitForURL(/\/lab/, patience)
      await computeInLab(page)
    })
  })

  test("Notebook 6 of Debian computes a cell as `jupyternotebook`", async () => {
    await rig.withRun({ image: "notebook6", type: "jupyternotebook" }, async ({ page }) => {
      await page.waitForURL(/\/tree/, patience)
      await page.locator("#new-dropdown-button").click()
      const [notebook] = await Promise.all([page.waitForEvent("popup"), page.locator("#kernel-python3 a").click()])
      await notebook.locator(".kernel_idle_icon").waitFor({ ...patience, state: "attached" })
      await notebook.locator(".CodeMirror").first().click()
      await notebook.keyboard.type("6 * 7")
      await notebook.keyboard.press("Shift+Enter")
      await notebook.locator(".output_result", { hasText: "42" }).waitFor(patience)
    })
  })
})

async function computeInLab(page: Page): Promise<void> {
  await page.locator(".jp-LauncherCard[data-category=Notebook]").first().click(patience)
  await page.getByText("Python 3 (ipykernel) | Idle").waitFor(patience)
  await page.locator(".jp-Notebook .jp-CodeCell .cm-content").first().click()
  await page.keyboard.type("6 * 7")
  await page.keyboard.press("Shift+Enter")
  await page.locator(".jp-OutputArea-output", { hasText: "42" }).waitFor(patience)
}
