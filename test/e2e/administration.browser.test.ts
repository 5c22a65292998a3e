import assert from "node:assert/strict"
import { after, test } from "node:test"
import type { Page } from "playwright-core"
import { basicAuth, bearerAuth, createClient } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { freshContext, openBrowser } from "./browser.ts"

const server = await startTestServer({ "mock-gpus": "2" })
const browser = await openBrowser()
after(async () => {
  await browser.close()
  await server[Symbol.asyncDispose]()
})
const { admin } = server
const { baseUrl } = server.quayside
const hostile = `<img src=x onerror="document.title='hacked'">${"a_name_without_a_space_".repeat(6)}`

/**
 * A page of a person who has just signed in. Errors and refused scripts of the page fail the test.
 */
async function openPage(path: string, userName = "admin", password = adminPassword): Promise<Page> {
  const context = await freshContext(browser)
  await context.request.post(`${baseUrl}/session`, { data: { UserName: userName, Password: password } })
  const page = await context.newPage()
  page.on("pageerror", (error) => assert.fail(error.stack))
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML/.test(message.text())) assert.fail(message.text())
  })
  await page.goto(`${baseUrl}/ui/${path}`)
  return page
}

test("an administrator adds a person, sets a limit, and disables the account", { timeout: 120_000 }, async () => {
  const page = await openPage("people")
  await page.getByRole("link", { name: "Add a person" }).click()
  await page.getByLabel("User name").fill("No Spaces")
  await page.getByRole("button", { name: "Make one up" }).click()
  await page.getByRole("button", { name: "Add", exact: true }).click()
  await page.locator(".field-error", { hasText: "UserName" }).waitFor()
  await page.getByLabel("User name").fill("carol")
  const password = await page.getByLabel("Password").inputValue()
  await page.getByRole("button", { name: "Add", exact: true }).click()
  await page.getByText("carol can sign in now.").waitFor()
  const carol = createClient({ baseUrl, authorization: basicAuth("carol", password) })
  assert.equal((await carol.whoami()).UserName, "carol", "the password that the page shows is right")

  await page.getByRole("link", { name: "Open carol" }).click()
  await page.getByRole("tab", { name: "Limits" }).click()
  await page.getByRole("row", { name: "Runs at once 50 Default" }).waitFor()
  await page.getByRole("combobox", { name: "Stored files" }).getByText("Default (100 GiB)").waitFor()
  await page.getByRole("combobox", { name: "Memory", exact: true }).click()
  await page.getByRole("option", { name: "At most" }).click()
  await page.getByRole("textbox", { name: "Memory: at most, in GiB" }).fill("3")
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByText("Saved.").waitFor()
  await page.getByRole("row", { name: "Memory 3 GiB This person" }).waitFor()
  assert.equal((await carol.whoami()).Limits.MaxMemory, 3072)

  await page.getByRole("button", { name: "Disable" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click()
  await page.getByText("Disabled", { exact: true }).waitFor()
  await assert.rejects(carol.whoami(), { status: 401 })
})

test("the lists of people and groups show what each uses now", { timeout: 120_000 }, async () => {
  const { ID: ImageID } = await admin.createImage({ body: { Name: "used", Image: "fake/http" } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "used", Type: "http", ImageID } })
  await admin.createGroup({ body: { GroupName: "users-of-cpus", Members: ["admin"] } })
  const { ID } = await admin.startRun({ body: { ProjectID, Cpus: 2, Memory: 1_024 } })
  const page = await openPage("people")
  await page.getByRole("row", { name: "admin" }).getByRole("cell", { name: "1 run, 2 CPUs, 1 GiB" }).waitFor()
  await page.goto(`${baseUrl}/ui/people?tab=groups`)
  await page.getByRole("row", { name: "users-of-cpus" }).getByRole("cell", { name: "1 run, 2 CPUs, 1 GiB" }).waitFor()
  await admin.stopRun({ query: { ID } })
  await page.getByRole("cell", { name: "1 run, 2 CPUs, 1 GiB" }).waitFor({ state: "detached" })
})

test("the page of a run with a time says that nobody extends it, and leads administrators to its origin", {
  timeout: 120_000,
}, async () => {
  const { userName, password, client } = await server.person("hasty", { Limits: { MaxRunHours: 1 } })
  const image = await client.createImage({ body: { Name: "hasty", Image: "fake/http" } })
  const project = await client.createProject({ body: { ProjectName: "Hasty project", Type: "http", ImageID: image.ID } })
  const run = await client.startRun({ body: { ProjectID: project.ID } })
  const own = await openPage(`runs/${run.ID}?tab=record`, userName, password)
  await own.getByText("Nobody can extend it. Start it again for as much time, or ask an administrator").waitFor()
  const page = await openPage(`runs/${run.ID}?tab=record`)
  await page.getByText("Nobody can extend it. For later starts, change the limit").waitFor()
  await page.getByRole("link", { name: "limits of hasty" }).click()
  await page.getByRole("cell", { name: "hasty" }).waitFor()

  await own.goto(`${baseUrl}/ui/projects/${project.ID}/edit`)
  for (const [name, text] of [
    ["Minutes to start in", "Default: 30"],
    ["Stop after hours", "Default: 1"],
    ["Stop after idle minutes", "Default: none"],
  ] as const)
    await own.getByRole("textbox", { name }).and(own.getByPlaceholder(text)).waitFor()
  await client.stopRun({ query: { ID: run.ID } })
})

test("an administrator sets the limits of a group", { timeout: 120_000 }, async () => {
  const { ID } = await admin.createGroup({ body: { GroupName: "students" } })
  const page = await openPage("people?tab=groups")
  await page.getByRole("row", { name: "students" }).getByRole("button", { name: "Change" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByRole("combobox", { name: "GPUs", exact: true }).last().click()
  await page.getByRole("option", { name: "At most" }).click()
  await dialog.getByRole("textbox", { name: "GPUs: at most" }).fill("4")
  await dialog.getByRole("button", { name: "Save" }).click()
  await page.getByRole("cell", { name: "GPUs: 4" }).waitFor()
  const { Limits, TotalLimits } = await admin.readGroup({ query: { ID } })
  assert.deepEqual([Limits, TotalLimits], [{}, { MaxGpus: 4 }])
})

test("two administrators who set limits of one group at once both see it, and nothing is lost", { timeout: 120_000 }, async () => {
  const { ID } = await admin.createGroup({ body: { GroupName: "shared", TotalLimits: { MaxRuns: 3 } } })
  const page = await openPage("people?tab=groups")
  await page.getByRole("row", { name: "shared" }).getByRole("button", { name: "Change" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByRole("combobox", { name: "GPUs", exact: true }).last().click()
  await page.getByRole("option", { name: "At most" }).click()
  await admin.updateGroup({ body: { ID, TotalLimits: { MaxRuns: 5 } } })
  await dialog.getByText("Somebody else changed").first().waitFor()
  await dialog.getByRole("button", { name: "Keep yours" }).click()
  await dialog.getByRole("button", { name: "Save" }).click()
  await page.getByRole("dialog").waitFor({ state: "detached" })
  assert.deepEqual((await admin.readGroup({ query: { ID } })).TotalLimits, { MaxRuns: 3, MaxGpus: 1 })
})

test("the page of capacity shows who holds a GPU, and an administrator stops that run", { timeout: 120_000 }, async () => {
  const dora = await server.person("dora")
  const image = await admin.createImage({ body: { Name: "Web", Image: "fake/http", IsPublished: true } })
  const project = await dora.client.createProject({ body: { ProjectName: hostile, Type: "http", ImageID: image.ID } })
  const run = await dora.client.startRun({ body: { ProjectID: project.ID, Gpus: 1 } })
  const page = await openPage("capacity")
  const device = page.getByRole("row", { name: "mock-0" })
  await device.getByText("dora", { exact: true }).waitFor()
  await page.getByRole("row", { name: "mock-1" }).getByText("Free").waitFor()
  await page.getByRole("tab", { name: "Runs", exact: true }).click()
  await page.getByLabel("Person").fill("admin")
  await page.getByText("No run matches.").waitFor()
  await page.getByLabel("Person").fill("dora")
  await page.getByRole("button", { name: "Stop" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click()
  await page.getByText("No run matches.").waitFor()
  assert.equal((await dora.client.readRun({ query: { ID: run.ID } })).State, "ended")
  assert.notEqual(await page.title(), "hacked")
})

test("an ordinary person has no pages of administration, and their addresses say why", { timeout: 120_000 }, async () => {
  const { userName, password } = await server.person("erin")
  const page = await openPage("people", userName, password)
  for (const path of ["people", "people/1", "capacity", "health", "audit"]) {
    await page.goto(`${baseUrl}/ui/${path}`)
    await page.getByText("Only administrators see this page.").waitFor()
  }
  await page.goto(`${baseUrl}/ui/`)
  await page.getByRole("heading", { name: "Recently ended" }).waitFor()
  assert.equal(await page.getByText("Capacity and trouble").count(), 0)
  assert.equal(await page.getByRole("link", { name: "Audit" }).count(), 0)
})

test("a person changes the password, and other sessions end", { timeout: 120_000 }, async () => {
  const { userName, password } = await server.person("finn")
  const other = await openPage("me", userName, password)
  const page = await openPage("me?tab=password", userName, password)
  const fill = async (current: string) => {
    await page.getByLabel("Present password").fill(current)
    await page.getByLabel("New password", { exact: true }).fill("a new one")
    await page.getByLabel("New password again").fill("a new one")
    await page.getByRole("button", { name: "Change password" }).click()
  }
  await fill("not this")
  await page.locator(".field-error", { hasText: "CurrentPassword is wrong" }).waitFor()
  assert.equal(await page.getByText("Your session is over").count(), 0, "a wrong password is no ended session")
  await fill(password)
  await page.getByText("Your password is changed.").first().waitFor()
  await other.reload()
  await other.getByRole("button", { name: "Sign in" }).waitFor()
  await page.reload()
  await page.getByLabel("Present password").waitFor()
})

test("a person sees each sign-in at once, and ends one session or all others", { timeout: 120_000 }, async () => {
  const { userName, password } = await server.person("frida")
  const page = await openPage("me?tab=sessions", userName, password)
  const rows = page.getByRole("table").getByRole("row")
  await page.getByRole("row", { name: "Chrome on Linux This browser" }).waitFor()
  assert.equal(await rows.getByRole("button").count(), 0, "one's own session ends by signing out")
  const second = await openPage("me", userName, password)
  await rows.nth(2).waitFor()
  await rows.getByRole("button", { name: "End" }).click()
  await page.getByText("The session of Chrome on Linux has ended.").first().waitFor()
  await rows.nth(2).waitFor({ state: "detached" })
  await second.getByText("Your session is over").first().waitFor()

  const [third, fourth] = [await openPage("me", userName, password), await openPage("me", userName, password)]
  await rows.nth(3).waitFor()
  await page.getByRole("button", { name: "End other sessions" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "End other sessions" }).click()
  await page.getByText("Your other sessions have ended.").first().waitFor()
  for (const other of [third, fourth]) await other.getByText("Your session is over").first().waitFor()
  await rows.nth(2).waitFor({ state: "detached" })
  await page.reload()
  await page.getByRole("row", { name: "Chrome on Linux This browser" }).waitFor()
})

test("an administrator sees everybody's sessions, and ends one person's", { timeout: 120_000 }, async () => {
  const { userName, password } = await server.person("gregor")
  const [one, two] = [await openPage("me", userName, password), await openPage("me", userName, password)]
  const page = await openPage("people?tab=sessions")
  await page.getByRole("row", { name: "gregor Chrome on Linux" }).first().getByRole("button", { name: "End" }).click()
  await two.getByText("Your session is over").first().waitFor()
  await page.getByRole("row", { name: "gregor Chrome on Linux" }).getByRole("link", { name: "gregor" }).click()
  await page.getByRole("cell", { name: "gregor" }).getByRole("link").click()
  await page.getByRole("tab", { name: "Sessions" }).click()
  await page.getByRole("row", { name: "Chrome on Linux" }).waitFor()
  await page.getByRole("button", { name: "End all sessions" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "End all sessions" }).click()
  await page.getByText("Nobody is signed in with a browser.").waitFor()
  await one.getByText("Your session is over").first().waitFor()
})

test("a person creates a token that is shown once, and revokes it", { timeout: 120_000 }, async () => {
  const { userName, password } = await server.person("gina")
  const page = await openPage("me?tab=tokens", userName, password)
  await page.getByRole("button", { name: "Create a token" }).click()
  await page.getByLabel("Name").fill(hostile)
  await page.getByRole("combobox", { name: "It may" }).click()
  await page.getByRole("option", { name: "Read only" }).click()
  await page.getByRole("button", { name: "Create", exact: true }).click()
  const secret = (await page.locator(".token-secret code").textContent()) ?? ""
  const program = createClient({ baseUrl, authorization: bearerAuth(secret) })
  assert.equal((await program.whoami()).UserName, "gina")
  await assert.rejects(program.createToken({ body: { Name: "more" } }), { status: 403 })
  await page.getByRole("button", { name: "I have copied it" }).click()
  assert.equal(await page.getByText(secret).count(), 0)
  const row = page.getByRole("row").filter({ hasText: hostile })
  await row.getByText("in 3 months").or(row.getByText("in 13 weeks")).waitFor()
  await row.getByRole("button", { name: "Revoke" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click()
  await row.waitFor({ state: "detached" })
  await assert.rejects(program.whoami(), { status: 401 })
})

test("dates are in the language that a person chose", { timeout: 120_000 }, async () => {
  const page = await openPage("me?tab=appearance")
  await page.getByRole("combobox", { name: "Language of dates" }).click()
  await page.getByRole("option", { name: "Deutsch" }).click()
  await page.goto(`${baseUrl}/ui/people?q=admin`)
  await page
    .locator("time", { hasText: /^(vor|jetzt)/ })
    .first()
    .waitFor()
})

test("health names each part and the version, and an administrator's home the capacity", {
  timeout: 120_000,
}, async () => {
  const page = await openPage("health")
  await page.getByText("Everything works.").waitFor()
  await page.getByRole("listitem").filter({ hasText: "Database" }).getByText("Works").waitFor()
  await page.getByText("0.0.0", { exact: true }).waitFor()
  await page.getByLabel("Search settings").fill("mock")
  await page.getByText("QUAYSIDE_MOCK_GPUS").waitFor()
  await page.getByText("QUAYSIDE_ADMIN_PASSWORD").waitFor({ state: "detached" })
  await page.getByRole("link", { name: "Home" }).first().click()
  const summary = page.getByRole("region", { name: "Capacity and trouble" })
  await summary.getByRole("progressbar", { name: "GPUs" }).waitFor()
})

test("the audit shows a person's actions by the filters of its address", { timeout: 120_000 }, async () => {
  const page = await openPage("audit?person=admin&action=group.created")
  await page.getByRole("cell", { name: "group.created" }).first().waitFor()
  assert.equal(await page.getByRole("cell", { name: "session.created" }).count(), 0)
  await page.getByLabel("Action").fill("session.created")
  await page.getByRole("button", { name: "Show" }).click()
  await page.getByRole("cell", { name: "session.created" }).first().waitFor()
  assert.match(page.url(), /action=session\.created/)
})

test("the audit leads to the pages of objects", { timeout: 120_000 }, async () => {
  const group = await admin.createGroup({ body: { GroupName: "audited" } })
  const data = await admin.createData({ body: { Name: "Audited files" } })
  const page = await openPage("audit?action=group.created")
  await page.getByRole("link", { name: `group ${group.ID}`, exact: true }).click()
  await page.getByRole("heading", { name: "audited", level: 1 }).waitFor()
  await page.goto(`${baseUrl}/ui/audit?action=data.created`)
  await page.getByRole("link", { name: `dataset ${data.ID}`, exact: true }).click()
  await page.getByRole("heading", { name: "Audited files", level: 1 }).waitFor()
})

test("texts of people run no script and keep pages in a narrow window", { timeout: 120_000 }, async () => {
  const { ID } = await admin.createUser({ body: { UserName: "h".repeat(64), Email: hostile, Comment: hostile } })
  await admin.createGroup({ body: { GroupName: "g".repeat(64), Comment: hostile, Members: ["h".repeat(64)] } })
  const page = await openPage("people")
  await page.setViewportSize({ width: 360, height: 700 })
  for (const path of ["people?q=hhhh", "people?tab=groups", `people/${ID}`, `people/${ID}?tab=account`, "capacity", "audit", "me"]) {
    await page.goto(`${baseUrl}/ui/${path}`)
    await page.locator("h1").waitFor()
    if (path.startsWith("people"))
      await page
        .getByText(/(hhhh|gggg)/)
        .first()
        .waitFor()
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, path)
    assert.equal(await page.locator("main img").count(), 0, path)
    assert.notEqual(await page.title(), "hacked", path)
  }
})
