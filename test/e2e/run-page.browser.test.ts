import assert from "node:assert/strict"
import { readFileSync } from "node:fs"
import { after, test } from "node:test"
import type { Page } from "playwright-core"
import { adminPassword, startTestServer } from "../test-server.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

const server = await startTestServer({ "mock-gpus": "1" })
const browser = await openBrowser()
after(async () => {
  await browser.close()
  await server[Symbol.asyncDispose]()
})
const { baseUrl } = server.quayside
const { admin } = server
const options = { timeout: 120_000 }

async function newProject(ProjectName: string): Promise<number> {
  const { ID } = await admin.createImage({ body: { Name: ProjectName, Image: "fake/http", IsPublished: true } })
  return (await admin.createProject({ body: { ProjectName, Type: "http", ImageID: ID, IsPublic: true } })).ID
}

async function openPage(path: string): Promise<Page> {
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${baseUrl}/ui/${path}`)
  await signIn(page, adminPassword)
  return page
}

test("a start that must wait says so before, shows its position and what it waits for, and goes on", options, async () => {
  const project = await newProject("One after the other")
  const holder = await server.person("holder")
  const held = await holder.client.startRun({ body: { ProjectID: project, Gpus: 1 } })
  const page = await openPage(`start/${project}?gpus=1`)
  await page.getByText("It would wait at position 1 of the queue.").waitFor()
  await page.getByRole("button", { name: "Start", exact: true }).click()
  await page.getByText("Position 1 in the queue").waitFor()
  // The queue is served after the start, and no event says what came of it.
  await page.getByText("waits for 1 GPU").waitFor()
  await holder.client.stopRun({ query: { ID: held.ID } })
  await page.getByText("Ready", { exact: true }).first().waitFor()
  await page.getByRole("link", { name: "Open" }).waitFor()
  await page.context().close()
})

test("the output of a run is searched, wrapped and downloaded", options, async () => {
  const run = await admin.startRun({ body: { ProjectID: await newProject("Prints") } })
  const page = await openPage(`runs/${run.ID}?tab=logs`)
  const output = page.getByRole("log")
  await output.getByText("started, port").waitFor()
  await page.getByLabel("Search output").fill("no such words")
  await page.getByText("0 lines").waitFor()
  await page.getByLabel("Search output").fill("STARTED")
  await page.getByText("1 line", { exact: true }).waitFor()
  const wrapping = () => output.evaluate((frame) => getComputedStyle(frame).whiteSpace)
  assert.equal(await wrapping(), "pre-wrap")
  await page.getByLabel("Wrap lines").uncheck()
  assert.equal(await wrapping(), "pre")
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download" }).click()])
  assert.equal(file.suggestedFilename(), `run-${run.ID}.log`)
  assert.match(readFileSync(await file.path(), "utf8"), /^\S+ stdout fake\/http started, port \d+\n/)
  await page.context().close()
})

test("the plots of a run name its marks", options, async () => {
  const run = await admin.startRun({ body: { ProjectID: await newProject("Short of memory") } })
  const page = await openPage("")
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  await page.route("**/running_project/stats?*", async (route) => {
    const answer = await route.fetch()
    const marks = [{ Time: new Date().toISOString(), Kind: "out_of_memory", Text: "A program was killed" }]
    await route.fulfill({ response: answer, json: { ...(await answer.json()), marks } })
  })
  await page.goto(`${baseUrl}/ui/runs/${run.ID}`)
  await page.getByRole("list", { name: "Events" }).getByText("A program was killed").waitFor({ timeout: 90_000 })
  await page.context().close()
})

test("a slash goes to the search of a page, and stays a slash where one types", options, async () => {
  const page = await openPage("projects")
  const search = page.getByLabel("Search projects")
  await search.waitFor()
  await page.keyboard.press("/")
  await page.keyboard.type("a/b")
  assert.equal(await search.inputValue(), "a/b")
  await page.context().close()
})
