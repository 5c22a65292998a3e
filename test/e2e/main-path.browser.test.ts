import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import type { Page } from "playwright-core"
import { freshContext, signIn } from "./browser.ts"
import { BrowserServer, takePicture } from "./browser-server.ts"

/** A folder on the reader's own computer, as in the tutorial. */
function localFolder(directory: string): string {
  const folder = join(directory, "local/weather")
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, "may.csv"), "day,celsius\n1,14.2\n2,15.8\n3,13.9\n")
  writeFileSync(join(folder, "june.csv"), "day,celsius\n1,19.4\n2,21.0\n3,22.7\n")
  return folder
}

async function createDataset(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Datasets" }).click()
  await page.getByRole("link", { name: "New dataset" }).first().click()
  await page.getByLabel("Name", { exact: true }).fill("Measurements")
  await page.getByLabel("Comment").fill("What our stations measured")
  await takePicture(page, "first-project-dataset.png")
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByRole("link", { name: "Browse and upload" }).click()
}

async function uploadFolder(page: Page, folder: string): Promise<void> {
  await page.getByText("This folder is empty.").waitFor()
  await page.getByLabel("Upload a folder").setInputFiles(folder)
  await page.getByText("All files are uploaded.").waitFor()
  await page.getByRole("link", { name: "weather" }).waitFor()
  await takePicture(page, "first-project-upload.png")
}

async function createProject(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Projects" }).click()
  await page.getByRole("link", { name: "New project" }).first().click()
  await page.getByLabel("Image", { exact: true }).fill("jupyter")
  await page.getByRole("option", { name: "JupyterLab" }).click()
  await page.getByLabel("Name", { exact: true }).fill("Mean temperatures")
  await page.getByLabel("Type").click()
  await page.getByRole("option", { name: "JupyterLab" }).click()
  await page.getByLabel("Add a dataset").fill("measure")
  await page.getByRole("option", { name: "Measurements" }).click()
  await takePicture(page, "first-project-create.png")
}

/** Opens the run in a tab of its own, as a person does. */
async function openRun(page: Page): Promise<Page> {
  const open = page.getByRole("link", { name: "Open" })
  await open.waitFor({ timeout: 120_000 })
  await takePicture(page, "first-project-run.png")
  const [tab] = await Promise.all([page.waitForEvent("popup"), open.click()])
  await tab.waitForURL(/\/lab/, { timeout: 60_000 })
  return tab
}

async function readFileInNotebook(tab: Page): Promise<void> {
  await tab.locator(".jp-LauncherCard", { hasText: "Python 3" }).first().click({ timeout: 60_000 })
  await tab.getByText("Python 3 (ipykernel) | Idle").waitFor({ timeout: 60_000 })
  await tab.locator(".jp-Notebook .jp-CodeCell .cm-content").first().click()
  await tab.keyboard.insertText('print(open("/work/data/measurements/weather/june.csv").read())')
  await tab.keyboard.press("Shift+Enter")
  await tab.locator(".jp-OutputArea-output", { hasText: "3,22.7" }).waitFor({ timeout: 60_000 })
  await takePicture(tab, "first-project-notebook.png")
}

test("by clicking, a person uploads a folder, and a cell of a new notebook prints one of its files", {
  timeout: 300_000,
}, async () => {
  await using rig = await BrowserServer.start()
  const { baseUrl, password, directory } = rig.server
  await rig.client.createImage({ body: { Name: "JupyterLab", Image: "quayside/jupyterlab:latest", IsPublished: true } })
  const page = await (await freshContext(rig.browser)).newPage()
  await page.goto(baseUrl)
  await signIn(page, password)
  await createDataset(page)
  await uploadFolder(page, localFolder(directory))
  await createProject(page)
  await page.getByRole("button", { name: "Create and start" }).click()
  const tab = await openRun(page)
  await readFileInNotebook(tab)
  await page.getByRole("button", { name: "Stop" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click()
  await page.getByText("Ended", { exact: true }).waitFor({ timeout: 60_000 })
  assert.deepEqual((await rig.client.listRuns({ query: { State: "ready" } })).data, [])
})
