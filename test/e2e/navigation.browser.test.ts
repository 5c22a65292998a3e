import assert from "node:assert/strict"
import { after, test } from "node:test"
import type { Page } from "playwright-core"
import { adminPassword, startTestServer } from "../test-server.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

const server = await startTestServer()
const browser = await openBrowser()
after(async () => {
  await browser.close()
  await server[Symbol.asyncDispose]()
})
const { baseUrl } = server.quayside
const { admin } = server
const options = { timeout: 120_000 }

async function newProject(ProjectName: string, image = "fake/http", more: object = {}): Promise<number> {
  const { ID } = await admin.createImage({ body: { Name: ProjectName, Image: image } })
  return (await admin.createProject({ body: { ProjectName, Type: "http", ImageID: ID, ...more } })).ID
}

/** A signed-in page at an address below `/ui/`. */
async function openPage(path = ""): Promise<Page> {
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${baseUrl}/ui/${path}`)
  if (page.url().includes("sign-in")) await signIn(page, adminPassword)
  return page
}

const forms = [
  { path: "projects/new", field: "Name" },
  { path: "datasets/new", field: "Name" },
  { path: "images/new", field: "Name" },
  { path: "groups/new", field: "Name" },
  { path: "people/new", field: "User name" },
]

test("a form with typed text asks before it is left, and keeps the text if the person stays", options, async () => {
  const project = await newProject("Edited later")
  const page = await openPage()
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  for (const { path, field } of [...forms, { path: `projects/${project}/edit`, field: "Comment" }]) {
    await page.goto(`${baseUrl}/ui/${path}`)
    const input = page.getByLabel(field, { exact: true })
    await input.fill("not saved yet")
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "History" }).click()
    const question = page.getByRole("dialog")
    await question.getByRole("button", { name: "Cancel" }).click()
    await question.waitFor({ state: "detached" })
    assert.equal(await input.inputValue(), "not saved yet", path)
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "History" }).click()
    await question.getByRole("button", { name: "Leave" }).click()
    await page.getByRole("heading", { name: "History", level: 1 }).waitFor()
  }
  await page.context().close()
})

test("closing a tab with typed text asks, and a form that was saved or is empty does not", options, async () => {
  const page = await openPage("datasets/new")
  const asked: string[] = []
  page.on("dialog", (dialog) => {
    asked.push(dialog.type())
    void dialog.accept()
  })
  await page.getByLabel("Name", { exact: true }).fill("typed")
  await page.reload()
  assert.deepEqual(asked, ["beforeunload"])
  await page.getByLabel("Name", { exact: true }).waitFor()
  await page.reload()
  await page.getByLabel("Name", { exact: true }).fill("saved at once")
  await page.getByRole("button", { name: "Create" }).click()
  await page.waitForURL(/\/ui\/datasets\/\d+$/)
  await page.reload()
  assert.deepEqual(asked, ["beforeunload"])
  await page.context().close()
})

test("an address with a word in the place of an ID is not found", options, async () => {
  const page = await openPage()
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  for (const path of ["runs/abc", "projects/0", "images/1.5/edit", "datasets/-1", "groups/9e99", "people/x", "start/one", "no-such-page"]) {
    await page.goto(`${baseUrl}/ui/${path}`)
    await page.getByRole("heading", { name: "There is no such page" }).waitFor()
    await page.getByRole("navigation", { name: "Main" }).waitFor()
  }
  await page.context().close()
})

test("the page of an object that is not there says so and leads on", options, async () => {
  const page = await openPage()
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  const lists = {
    projects: "Projects",
    images: "Images",
    datasets: "Datasets",
    groups: "Groups",
    people: "People",
    runs: "Home",
    start: "Home",
  }
  for (const [path, list] of Object.entries(lists)) {
    await page.goto(`${baseUrl}/ui/${path}/99999`)
    await page.getByRole("heading", { name: "Not found", level: 1 }).waitFor()
    await page.getByRole("alert").getByRole("link").click()
    await page.getByRole("heading", { name: list, level: 1, exact: true }).waitFor()
  }
  await page.context().close()
})

test("a project that runs leads to its run, from its page and from its start", options, async () => {
  const id = await newProject("Runs already")
  const page = await openPage(`projects/${id}`)
  await page.getByRole("link", { name: "Start", exact: true }).waitFor()
  const run = await admin.startRun({ body: { ProjectID: id } })
  await page.getByText("Ready", { exact: true }).waitFor()
  await page.getByRole("link", { name: "Show the run" }).click()
  await page.waitForURL(`${baseUrl}/ui/runs/${run.ID}`)
  await page.goto(`${baseUrl}/ui/start/${id}`)
  await page.getByText("You run this project already.").waitFor()
  assert.equal(await page.getByRole("button", { name: "Start", exact: true }).count(), 0)
  await page.getByRole("link", { name: "Show the run" }).click()
  await page.waitForURL(`${baseUrl}/ui/runs/${run.ID}`)
  await admin.stopRun({ query: { ID: run.ID } })
  await page.goto(`${baseUrl}/ui/projects/${id}`)
  await page.getByRole("link", { name: "Start", exact: true }).waitFor()
  await page.getByRole("link", { name: "Its runs that have ended" }).click()
  await page.getByRole("row", { name: "Runs already" }).waitFor()
  await page.context().close()
})

test("home lists one's own, a group's and published projects, and the browser goes back through them", options, async () => {
  await admin.createGroup({ body: { GroupName: "glaciology", Members: ["admin"] } })
  await newProject("Of the group", "fake/http", { GroupName: "glaciology" })
  await newProject("Of myself")
  const page = await openPage()
  const list = page.getByRole("region", { name: "Start" })
  await list.getByText("Of myself").waitFor()
  await list.getByRole("button", { name: "Group glaciology" }).click()
  await list.getByText("Of myself").waitFor({ state: "detached" })
  await list.getByText("Of the group").waitFor()
  assert.equal(new URL(page.url()).search, "?group=glaciology")
  await list.getByRole("button", { name: "Published" }).click()
  await list.getByText("There is none here").waitFor()
  await page.goBack()
  await list.getByText("Of the group").waitFor()
  await list.getByLabel("Search projects").fill("no such name")
  await list.getByText("No project matches").waitFor()
  await page.reload()
  await list.getByText("No project matches").waitFor()
  await page.context().close()
})

test("each running card shows its usage", options, async () => {
  const ids = await Promise.all([1, 2, 3].map((i) => newProject(`Measured ${i}`)))
  const runs = await Promise.all(ids.map((ProjectID) => admin.startRun({ body: { ProjectID } })))
  const page = await openPage()
  const steps: (string | null)[] = []
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url())
    if (pathname === "/running_project/stats") steps.push(searchParams.get("Step"))
  })
  const cards = page.getByRole("region", { name: "Running" }).getByRole("listitem").filter({ hasText: "Measured" })
  for (const i of [0, 1, 2]) await cards.nth(i).getByText("Memory", { exact: true }).waitFor({ timeout: 60_000 })
  // A card shows no series; the points of an hour would fill the page's memory.
  assert.deepEqual([...new Set(steps)], ["3600"])
  await page.context().close()
  await Promise.all(runs.map(({ ID }) => admin.stopRun({ query: { ID } })))
})

test("the palette finds everything that has a name, opens forms, and stops a run", options, async () => {
  await admin.createData({ body: { Name: "Found dataset" } })
  await admin.createGroup({ body: { GroupName: "found-group" } })
  await admin.createUser({ body: { UserName: "found-person" } })
  const run = await admin.startRun({ body: { ProjectID: await newProject("Found project") } })
  const page = await openPage()
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  const open = async (words: string) => {
    await page.keyboard.press("Control+k")
    await page.getByRole("combobox").fill(words)
  }
  await open("found")
  for (const name of [
    "Found dataset Datasets",
    "found-group Groups",
    "found-person People",
    "Found project Images",
    "Found project Projects",
  ])
    await page.getByRole("option", { name }).waitFor()
  await page.getByRole("option", { name: "Found dataset" }).click()
  await page.getByRole("heading", { name: "Found dataset", level: 1 }).waitFor()
  await open("new dataset")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "New dataset", level: 1 }).waitFor()
  await open("start found")
  await page.getByRole("option", { name: "Start Found project" }).click()
  await page.getByRole("heading", { name: "Start Found project", level: 1 }).waitFor()
  await open("stop found")
  await page.getByRole("option", { name: "Stop Found project" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click()
  await page.goto(`${baseUrl}/ui/runs/${run.ID}`)
  await page.getByText("Ended", { exact: true }).waitFor()
  await page.context().close()
})

test("a start that would fail offers the next step before it is tried", options, async () => {
  const id = await newProject("Too much asked")
  const page = await openPage(`start/${id}?cpus=100000`)
  await page.getByText("It would fail.").waitFor()
  await page.getByRole("button", { name: "Use the default amounts" }).click()
  await page.getByText("It starts at once").waitFor()
  await page.context().close()
})

test("a wide table says in a narrow window that it scrolls, and its column of buttons has no visible title", options, async () => {
  const run = await admin.startRun({ body: { ProjectID: await newProject("In the table") } })
  await admin.stopRun({ query: { ID: run.ID } })
  const page = await openPage("history")
  const hint = page.getByText("Swipe the table for more columns.")
  await page.getByRole("row", { name: "In the table" }).waitFor()
  assert.equal(await hint.isVisible(), false)
  const title = await page.getByRole("columnheader", { name: "More actions" }).getByText("More actions").boundingBox()
  assert.ok(title && title.width <= 1, "the title is only read aloud")
  await page.setViewportSize({ width: 360, height: 700 })
  assert.equal(await hint.isVisible(), true)
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360)
  await page.context().close()
})

test("a person without runs and datasets is told what to do first", options, async () => {
  const newcomer = await server.person("newcomer")
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${baseUrl}/ui/history`)
  await page.getByLabel("User name").fill(newcomer.userName)
  await page.getByLabel("Password").fill(newcomer.password)
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("No run has ended yet.").waitFor()
  await page.getByLabel("User name of a person").fill("nobody-else")
  await page.getByText("No run matches.").waitFor()
  await page.getByRole("link", { name: "Clear filters" }).click()
  await page.getByText("No run has ended yet.").waitFor()
  await page.goto(`${baseUrl}/ui/projects/new`)
  await page.getByLabel("Add a dataset").click()
  await page.getByText("There is none yet.").waitFor()
  await page.keyboard.press("Escape")
  const [tab] = await Promise.all([page.waitForEvent("popup"), page.getByRole("link", { name: "Make a new dataset" }).click()])
  await tab.getByLabel("Name", { exact: true }).fill("First files")
  await tab.getByRole("button", { name: "Create" }).click()
  await tab.getByRole("heading", { name: "First files", level: 1 }).waitFor()
  await page.getByLabel("Add a dataset").click()
  await page.getByRole("option", { name: "First files" }).click()
  await page.getByLabel("Path in the run: First files").waitFor()
  await page.context().close()
})

test("the history is filtered by a project that is found by its name", options, async () => {
  for (const name of ["Looked for", "Another one"]) {
    const run = await admin.startRun({ body: { ProjectID: await newProject(name) } })
    await admin.stopRun({ query: { ID: run.ID } })
  }
  const page = await openPage("history")
  await page.getByRole("row", { name: "Another one" }).waitFor()
  await page.getByLabel("Project", { exact: true }).fill("looked")
  await page.getByRole("option", { name: "Looked for" }).click()
  await page.getByRole("row", { name: "Another one" }).waitFor({ state: "detached" })
  await page.getByRole("row", { name: "Looked for" }).waitFor()
  assert.match(page.url(), /project=\d+/)
  await page.context().close()
})
