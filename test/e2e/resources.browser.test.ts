import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Page } from "playwright-core"
import { adminPassword, startTestServer, type TestServer } from "../test-server.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"
import { brokenWords, layoutFaults } from "./page-checks.ts"

const hostile = '<img src=x onerror="globalThis.hacked=1"><script>globalThis.hacked=1</script>'
const hostileDoc = [
  "# <img src=x onerror=globalThis.hacked=1>",
  hostile,
  "[click](javascript:globalThis.hacked=1) [data](data:text/html,<script>1</script>)",
  "![x](https://elsewhere.example/pixel.png)",
  "<iframe srcdoc='<script>parent.hacked=1</script>'></iframe>",
  `| a |\n|---|\n| ${"long".repeat(300)} |`,
  `${"> ".repeat(2_000)}deep`,
].join("\n\n")

/** The tests of the file share one server and one browser, and each works on objects of its own. */
let shared: { server: TestServer; page: Page; url: (path: string) => string }

before(async () => {
  const server = await startTestServer()
  const browser = await openBrowser()
  const page = await (await freshContext(browser)).newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(server.quayside.baseUrl)
  await signIn(page, adminPassword)
  await page.getByRole("heading", { name: "Home", level: 1, exact: true }).waitFor()
  shared = { server, page, url: (path) => `${server.quayside.baseUrl}${path}` }
})
after(async () => {
  await shared.page.context().browser()?.close()
  await shared.server[Symbol.asyncDispose]()
})

const options = { timeout: 120_000 }

async function newProject(fields: object = {}): Promise<number> {
  const { admin } = shared.server
  const image = await admin.createImage({ body: { Name: "web", Image: "fake/http" } })
  return (await admin.createProject({ body: { ProjectName: "sea", Type: "http", ImageID: image.ID, ...fields } })).ID
}

test("one form makes an image and a project with a dataset, and starts it", options, async () => {
  const { page, server, url } = shared
  const data = await server.admin.createData({ body: { Name: "buoys of 2024" } })
  await page.goto(url("/ui/projects/new"))
  await page.getByRole("button", { name: "Use an image by its reference" }).click()
  await page.getByLabel("Image reference").fill("fake/http:form")
  await page.getByLabel("Name", { exact: true }).fill("made by form")
  await page.getByLabel("Type").click()
  await page.getByRole("option", { name: "Other web program" }).click()
  await page.getByLabel("Add a dataset").fill("buoys")
  await page.getByRole("option", { name: "buoys of 2024" }).click()
  await page.getByLabel("Path in the run: buoys of 2024").fill("/data/buoys")
  await page.getByRole("button", { name: "Create and start" }).click()
  await page.waitForURL(/\/ui\/runs\/\d+$/)
  const [project] = (await server.admin.listProjects({ query: { ProjectName: "made by form" } })).data
  assert.deepEqual(
    project?.TrainData.map((each) => [each.Data.ID, each.MountPath]),
    [[data.ID, "/data/buoys"]],
  )
  assert.equal(project?.Image && "Image" in project.Image && project.Image.Image, "fake/http:form")
  assert.equal((await server.admin.listRuns({ query: { ProjectID: project?.ID ?? 0 } })).data.length, 1)
})

test("a refused project keeps what was typed and makes no second image", options, async () => {
  const { page, server, url } = shared
  await page.goto(url("/ui/projects/new"))
  await page.getByRole("button", { name: "Use an image by its reference" }).click()
  await page.getByLabel("Image reference").fill("fake/http:once")
  await page.getByLabel("Name", { exact: true }).fill("kept name")
  await page.getByLabel("Add a dataset").fill("buoys")
  await page.getByRole("option", { name: "buoys of 2024" }).click()
  await page.getByLabel("Path in the run: buoys of 2024").fill("not absolute")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  await page.getByRole("alert").first().waitFor()
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "kept name")
  await page.getByLabel("Path in the run: buoys of 2024").fill("/data/again")
  await page.getByRole("button", { name: "Create", exact: true }).click()
  await page.getByRole("heading", { name: "kept name", exact: true }).waitFor()
  assert.equal((await server.admin.listImages({ query: { q: "http" } })).data.filter(({ Image }) => Image === "fake/http:once").length, 1)
})

test("two people who edit one field see both values, and nothing is lost", options, async () => {
  const { page, server, url } = shared
  const ID = await newProject()
  await page.goto(url(`/ui/projects/${ID}/edit`))
  await page.getByLabel("Comment").fill("mine")
  await page.getByLabel("Description").fill("my text")
  await server.admin.updateProject({ body: { ID, Comment: "theirs", ProjectName: "renamed" } })
  const conflict = page.getByRole("region", { name: "Comment" })
  await conflict.getByText("theirs", { exact: true }).waitFor()
  await conflict.getByText("mine", { exact: true }).waitFor()
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "renamed")
  assert.equal(await page.getByRole("button", { name: "Save" }).isDisabled(), true)
  await conflict.getByRole("button", { name: "Keep yours" }).click()
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("heading", { name: "renamed", level: 1, exact: true }).waitFor()
  const saved = await server.admin.readProject({ query: { ID } })
  assert.deepEqual([saved.Comment, saved.Doc, saved.ProjectName], ["mine", "my text", "renamed"])
})

test("an owner shares a project until a day, and takes it back", options, async () => {
  const { page, server, url } = shared
  const ann = await server.person("ann")
  const ID = await newProject()
  await page.goto(url(`/ui/projects/${ID}`))
  await page.getByRole("button", { name: "Share", exact: true }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("User name").fill("nobody-of-this-name")
  await dialog.getByRole("button", { name: "Share" }).click()
  await dialog.getByText(/nobody-of-this-name/).waitFor()
  await dialog.getByLabel("User name").fill("ann")
  await dialog.getByLabel("Until the end of").fill("2099-12-31")
  await dialog.getByRole("button", { name: "Share" }).click()
  await dialog.getByRole("button", { name: "Take back: ann" }).waitFor()
  assert.equal((await ann.client.readProject({ query: { ID } })).ID, ID)
  const [grant] = (await server.admin.listGrants({ query: { ProjectID: ID } })).data
  assert.ok(Date.parse(grant?.Until ?? "") > Date.parse("2099-12-31"))
  await dialog.getByRole("button", { name: "Take back: ann" }).click()
  await dialog.getByText("It is shared with nobody.").waitFor()
  await assert.rejects(ann.client.readProject({ query: { ID } }), { code: "not_found" })
})

test("a deleted project is in the bin and comes back", options, async () => {
  const { page, server, url } = shared
  const ID = await newProject({ ProjectName: "comes and goes" })
  await page.goto(url(`/ui/projects/${ID}`))
  await page.getByRole("button", { name: "More actions" }).click()
  await page.getByRole("menuitem", { name: "Delete" }).click()
  await page.getByRole("button", { name: "Delete" }).click()
  await page.waitForURL(/show=bin/)
  await page
    .getByRole("row", { name: /comes and goes/ })
    .getByRole("button", { name: "Restore" })
    .click()
  await page.getByRole("cell", { name: "comes and goes" }).waitFor({ state: "detached" })
  assert.equal((await server.admin.readProject({ query: { ID } })).DeletedAt, null)
})

test("a deletion is undone by the note that tells of it", options, async () => {
  const { page, server, url } = shared
  const image = await server.admin.createImage({ body: { Name: "deleted by mistake", Image: "fake/http" } })
  await page.goto(url(`/ui/images/${image.ID}`))
  await page.getByRole("button", { name: "More actions" }).click()
  await page.getByRole("menuitem", { name: "Delete" }).click()
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByText("deleted by mistake is in the bin.").waitFor()
  await page.setViewportSize({ width: 360, height: 700 })
  assert.deepEqual([...(await layoutFaults(page)), ...(await brokenWords(page))], [])
  await page.setViewportSize({ width: 1280, height: 1000 })
  await page.getByRole("button", { name: "Undo" }).click()
  await page.getByText("Undone.").waitFor()
  assert.equal((await server.admin.readImage({ query: { ID: image.ID } })).DeletedAt, null)
})

test("a form whose object is gone says so and keeps what was typed", options, async () => {
  const { page, server, url } = shared
  const ID = await newProject()
  await page.goto(url(`/ui/projects/${ID}/edit`))
  await page.getByLabel("Comment").fill("a long thought")
  await server.admin.deleteProject({ query: { ID } })
  await page.getByText("It is gone, or you may not see it any more").waitFor()
  assert.equal(await page.getByLabel("Comment").inputValue(), "a long thought")
})

test("a hostile `Doc` and names run no script, load nothing and fit into a narrow window", options, async () => {
  const { page, server, url } = shared
  const ID = await newProject({ ProjectName: hostile, Comment: hostile, Doc: hostileDoc })
  const { ImageID } = await server.admin.readProject({ query: { ID } })
  await server.admin.updateImage({ body: { ID: ImageID, Name: hostile, Doc: hostileDoc, Env: `A=${"x".repeat(500)}` } })
  const foreign: string[] = []
  page.on("request", (request) => void (request.url().startsWith(server.quayside.baseUrl) || foreign.push(request.url())))
  await page.setViewportSize({ width: 360, height: 700 })
  for (const path of [`/ui/projects/${ID}`, `/ui/images/${ImageID}`, "/ui/projects", "/ui/images", `/ui/projects/${ID}/edit`]) {
    await page.goto(url(path))
    await page.locator("h1").waitFor()
    await page.getByText("onerror=").first().waitFor()
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, path)
    assert.equal(await page.evaluate(() => "hacked" in globalThis), false, path)
    assert.equal(await page.locator('#main :is(iframe, script, img, a[href^="javascript:"], a[href^="data:"])').count(), 0, path)
  }
  assert.deepEqual(foreign, [])
  await page.setViewportSize({ width: 1280, height: 1000 })
})

test("an image is fetched and its digest shown", options, async () => {
  const { page, server, url } = shared
  const image = await server.admin.createImage({ body: { Name: "fetched", Image: "fake/http:fetch" } })
  await page.goto(url(`/ui/images/${image.ID}`))
  await page.getByText("Not fetched yet").waitFor()
  await page.getByRole("button", { name: "Fetch now" }).click()
  const { Digest } = await server.admin.pullImage({ query: { ID: image.ID } })
  // The fake registry gives an image the same digest as the engine.
  await page.getByText(Digest).first().waitFor()
})

test("a group's page shows its members and what is shared with it; a taken name is refused at its field", options, async () => {
  const { page, server, url } = shared
  const image = await server.admin.createImage({ body: { Name: "of the group", Image: "fake/http" } })
  await page.goto(url("/ui/groups/new"))
  await page.getByLabel("Name", { exact: true }).fill("physics")
  await page.getByLabel("Members").fill("admin, nobody-here")
  await page.getByRole("button", { name: "Create" }).click()
  await page
    .getByText(/nobody-here/)
    .last()
    .waitFor()
  await page.getByLabel("Members").fill("admin")
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByRole("heading", { name: "physics", level: 1, exact: true }).waitFor()
  await server.admin.createGrant({ body: { ImageID: image.ID, GroupName: "physics", Access: "use" } })
  await page.getByRole("link", { name: "of the group" }).waitFor()
  await page.goto(url("/ui/groups/new"))
  await page.getByLabel("Name", { exact: true }).fill("physics")
  await page.getByRole("button", { name: "Create" }).click()
  await page
    .getByText(/physics/)
    .last()
    .waitFor()
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "physics")
})
