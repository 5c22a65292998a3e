import assert from "node:assert/strict"
import { after, test } from "node:test"
import type { BrowserContext, Page } from "playwright-core"
import { basicAuth } from "#client"
import { adminPassword, startTestServer } from "../test-server.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"
import { brokenWords, layoutFaults, seriousViolations, tableFaults } from "./page-checks.ts"
import { fillInstallation, uiPages } from "./ui-pages.ts"

const server = await startTestServer()
const browser = await openBrowser()
after(async () => {
  await browser.close()
  await server[Symbol.asyncDispose]()
})
const { baseUrl } = server.quayside
const { admin } = server

async function newProject(ProjectName: string, image: string, more: object = {}): Promise<number> {
  const { ID } = await admin.createImage({ body: { Name: ProjectName, Image: image, ...more } })
  return (await admin.createProject({ body: { ProjectName, Type: "http", ImageID: ID, ...more } })).ID
}

/** A signed-in page at an address below `/ui/`. Errors and refused scripts fail the test. */
async function openPage(path = "", context?: BrowserContext): Promise<Page> {
  const page = await (context ?? (await freshContext(browser))).newPage()
  page.on("pageerror", (error) => assert.fail(error.stack))
  page.on("console", (message) => {
    if (/Content Security Policy|TrustedHTML/.test(message.text())) assert.fail(message.text())
  })
  await page.goto(`${baseUrl}/ui/${path}`)
  if (page.url().includes("sign-in")) await signIn(page, adminPassword)
  return page
}

test("a person signs in, starts a project, watches it come up, opens and stops it", { timeout: 60_000 }, async () => {
  await newProject("First steps", "fake/slow-pull:1500")
  const page = await openPage()
  const row = page.getByRole("listitem").filter({ hasText: "First steps" })
  await row.getByRole("link", { name: "Start" }).click()
  await page.getByText("It starts at once").waitFor()
  await page.getByRole("button", { name: "Start" }).click()
  await page.getByRole("heading", { name: "First steps", exact: true }).waitFor()
  await page.locator("[aria-current=step]", { hasText: "Fetch image" }).waitFor()
  await page.getByRole("progressbar").first().waitFor()
  const open = page.getByRole("link", { name: "Open" })
  await open.waitFor()
  const [tab] = await Promise.all([page.waitForEvent("popup"), open.click()])
  await tab.waitForFunction(() => document.title === "fake")
  assert.match(new URL(tab.url()).host, /^[0-9a-f]{32}\.localhost:\d+$/, "the run has an origin of its own")
  await page.getByRole("button", { name: "Stop" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Stop" }).click()
  await page.getByText("Ended", { exact: true }).waitFor()
  await page.getByRole("button", { name: "Start again" }).waitFor()
})

test("a start that fails says why where one clicked, with the next step as a button", { timeout: 60_000 }, async () => {
  const id = await newProject("Too large", "fake/oom")
  const page = await openPage(`start/${id}`)
  await page.getByPlaceholder("Default: 1").waitFor()
  assert.equal(await page.getByRole("textbox", { name: "Memory in GiB" }).getAttribute("placeholder"), "Default: 2")
  await page.getByRole("button", { name: "Start" }).click()
  await page.getByRole("alert").getByText("used more memory").waitFor()
  await page.getByText("Exit code 137").waitFor()
  await page.getByRole("link", { name: "Start with 4 GiB" }).click()
  assert.equal(await page.getByRole("textbox", { name: "Memory in GiB" }).inputValue(), "4")
})

test("an image that cannot be had leads to another image, and a part of a GiB can be started", { timeout: 60_000 }, async () => {
  const id = await newProject("Unknown image", "fake/missing")
  const page = await openPage(`start/${id}?memory=1536`)
  await page.getByText("It starts at once").waitFor()
  await page.getByRole("button", { name: "Start" }).click()
  const choose = page.getByRole("alert").getByRole("link", { name: "Choose another image" })
  await choose.waitFor()
  assert.equal((await admin.listRuns({ query: { ProjectID: id, State: "ended" } })).data[0]?.Memory, 1536)
  assert.equal(await page.getByRole("button", { name: "Start again" }).count(), 1)
  await choose.click()
  await page.getByRole("heading", { name: "Edit Unknown image" }).waitFor()
})

test("a person without projects is led to the form of the first one", { timeout: 60_000 }, async () => {
  const eve = await server.person("eve")
  const page = await (await freshContext(browser)).newPage()
  await page.context().request.post(`${baseUrl}/session`, { data: { UserName: "eve", Password: eve.password } })
  await page.goto(`${baseUrl}/ui/`)
  await page.getByRole("main").getByRole("link", { name: "New project" }).click()
  await page.getByRole("heading", { name: "New project" }).waitFor()
})

test("a run is shared with a person and taken back on its page", { timeout: 60_000 }, async () => {
  const kim = await server.person("kim")
  const ProjectID = await newProject("Shared run", "fake/http")
  const { ID } = await admin.startRun({ body: { ProjectID } })
  const page = await openPage(`runs/${ID}`)
  await page.getByRole("button", { name: "Share" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("User name").fill("kim")
  await dialog.getByRole("button", { name: "Share", exact: true }).click()
  await dialog.getByRole("button", { name: "Take back: kim" }).waitFor()
  await dialog.getByText("see and open it").last().waitFor()
  assert.equal((await kim.client.readRun({ query: { ID } })).ID, ID)
  await dialog.getByRole("button", { name: "Take back: kim" }).click()
  await dialog.getByText("It is shared with nobody.").waitFor()
  await assert.rejects(kim.client.readRun({ query: { ID } }), { status: 404 })
  await admin.stopRun({ query: { ID } })
})

test("a session that ended asks for the password again, and what was typed stays", { timeout: 60_000 }, async () => {
  const id = await newProject("Typed", "fake/http")
  const page = await openPage(`start/${id}`)
  await page.getByLabel("CPUs", { exact: true }).fill("3")
  await page.context().clearCookies()
  await page.getByRole("button", { name: "Start" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("Your session is over").waitFor()
  await dialog.getByLabel("User name").fill("admin")
  await dialog.getByLabel("Password").fill(adminPassword)
  await dialog.getByRole("button", { name: "Sign in" }).click()
  await dialog.waitFor({ state: "detached" })
  assert.equal(await page.getByLabel("CPUs", { exact: true }).inputValue(), "3")
})

test("a page that waits for a new sign-in goes on when another tab is signed in, however that came", { timeout: 60_000 }, async () => {
  const id = await newProject("Waits", "fake/http")
  const context = await freshContext(browser)
  const waiting = await openPage(`start/${id}`, context)
  await waiting.getByLabel("CPUs", { exact: true }).fill("3")
  await context.clearCookies()
  await waiting.getByRole("button", { name: "Start" }).click()
  await waiting.getByRole("dialog").getByText("Your session is over").waitFor()
  await context.request.post(`${baseUrl}/session`, { data: { UserName: "admin", Password: adminPassword } })
  const second = await openPage("", context)
  await second.getByRole("heading", { name: "Home" }).waitFor()
  await waiting.getByRole("dialog").waitFor({ state: "detached" })
  assert.equal(await waiting.getByLabel("CPUs", { exact: true }).inputValue(), "3")
})

test("signing out in one tab signs out all", { timeout: 60_000 }, async () => {
  const context = await freshContext(browser)
  const first = await openPage("", context)
  await first.getByRole("heading", { name: "Home" }).waitFor()
  const second = await openPage("history", context)
  await second.getByRole("heading", { name: "History" }).waitFor()
  await first.getByRole("button", { name: "admin" }).click()
  await first.getByRole("menuitem", { name: "Sign out", exact: true }).click()
  for (const page of [first, second]) await page.waitForURL(`${baseUrl}/ui/sign-in`)
})

for (const [title, name, tells] of [
  ["another tab tells it of that", "lea", true],
  ["a read tells it of that first", "noor", false],
] as const)
  test(`a page of one person is left when another signs in in this browser, and ${title}`, { timeout: 60_000 }, async () => {
    const context = await freshContext(browser)
    const first = await openPage("history", context)
    await first.getByRole("heading", { name: "History" }).waitFor()
    const signedIn = Promise.withResolvers<void>()
    if (!tells) await first.route("**/whoami", (route) => signedIn.promise.then(() => route.continue()))
    // The event about that person has the page read again who it is.
    const { userName: UserName, password: Password } = await server.person(name)
    await context.request.post(`${baseUrl}/session`, { data: { UserName, Password } })
    signedIn.resolve()
    if (tells) await openPage("", context)
    await first.waitForURL(`${baseUrl}/ui/`)
    await first.getByRole("button", { name }).waitFor()
  })

test("a wrong password says so where it was typed, and what helps", { timeout: 60_000 }, async () => {
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${baseUrl}/ui/`)
  await signIn(page, "not the password")
  const refusal = page.getByRole("alert")
  await refusal.getByText("do not match").waitFor()
  await refusal.getByText("Type both again").waitFor()
  assert.equal(await page.getByLabel("User name").inputValue(), "admin")
})

test("after signing in, the browser goes to the page that it asked for", { timeout: 60_000 }, async () => {
  const page = await openPage("history?page=1")
  await page.getByRole("heading", { name: "History" }).waitFor()
})

test("names, comments, refusals and output with markup are shown as text", { timeout: 60_000 }, async () => {
  const markup = `<img src=x onerror="globalThis.wasRun=1"><script>globalThis.wasRun=1</script>`
  const id = await newProject(markup, "fake/missing", { Comment: markup })
  const failed = await admin.startRun({ body: { ProjectID: id } }).catch((error: { extra: { ID: number } }) => error.extra)
  const printing = await admin.startRun({ body: { ProjectID: await newProject("prints markup", "fake/http") } })
  const headers = { authorization: basicAuth("admin", adminPassword) }
  const printed = await fetch(`${printing.URL}log/${encodeURIComponent(markup)}`, { headers })
  assert.equal(await printed.text(), "logged\n")
  const shown = ["", `start/${id}`, `runs/${failed.ID}`, "history", `runs/${printing.ID}?tab=logs`]
  for (const path of [...shown, `sign-in?next=${encodeURIComponent("javascript:alert(1)")}`]) {
    const page = await openPage(path)
    // A sign-in that leads to no page of this place leads home.
    await page.getByText(markup).first().waitFor()
    assert.equal(await page.evaluate(() => (globalThis as { wasRun?: number }).wasRun), undefined, path)
    await page.context().close()
  }
})

test("the palette goes to a project by keyboard alone", { timeout: 60_000 }, async () => {
  await newProject("Reached by keys", "fake/http")
  const page = await openPage()
  await page.getByRole("heading", { name: "Home" }).waitFor()
  await page.keyboard.press("Control+k")
  await page.getByRole("combobox").waitFor()
  await page.keyboard.type("reached by")
  await page.getByRole("option", { name: "Start Reached by keys" }).waitFor()
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Start Reached by keys" }).waitFor()
})

test("closing the palette returns to where one was", { timeout: 60_000 }, async () => {
  const page = await openPage("history")
  await page.locator("[data-search]").focus()
  await page.keyboard.press("Control+k")
  await page.getByRole("dialog").getByRole("combobox").waitFor()
  await page.keyboard.type("home")
  await page.keyboard.press("Escape")
  await page.waitForFunction(() => document.activeElement?.matches("[data-search]"))
  assert.equal(await page.locator("[data-search]").inputValue(), "")
})

test("the palette takes keys that are typed faster than its lists come", { timeout: 60_000 }, async () => {
  await newProject("Typed ahead", "fake/http")
  const page = await openPage()
  await page.getByRole("heading", { name: "Home" }).waitFor()
  await page.route(/\/projects\?.*q=/, async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 300))
    await route.continue()
  })
  await page.keyboard.press("Control+k")
  await page.getByRole("combobox").waitFor()
  await page.keyboard.type("typed ah")
  await page.keyboard.press("Enter")
  await page.getByRole("heading", { name: "Start Typed ahead" }).waitFor()
})

test("axe is content with every page, light and dark, and every page fits into 1280 and 360 pixels", { timeout: 240_000 }, async () => {
  await using filled = await startTestServer()
  await fillInstallation(filled)
  const page = await (await freshContext(browser, { viewport: { width: 1280, height: 900 } })).newPage()
  const found: string[] = []
  const check = async (name: string) => {
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme })
      const violations = await seriousViolations(page, colorScheme === "dark" ? ["color-contrast"] : undefined)
      found.push(...violations.map((each) => `${name} (${colorScheme}): ${each}`))
    }
  }
  const fit = async (name: string) => {
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 900 })
      // Plots take their new size in the frame after the page's.
      await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))))
      const faults = [...(await layoutFaults(page)), ...(await brokenWords(page)), ...(await tableFaults(page, width === 360))]
      found.push(...faults.map((fault) => `${name} at ${width}: ${fault}`))
    }
    await page.setViewportSize({ width: 1280, height: 900 })
  }
  await page.goto(`${filled.quayside.baseUrl}/ui/`)
  await page.getByRole("heading").waitFor()
  await check("sign-in")
  await signIn(page, adminPassword)
  await page.getByRole("heading", { name: "Home" }).waitFor()
  for (const { name, path, isDrawn } of uiPages) {
    await page.goto(`${filled.quayside.baseUrl}/ui/${path}`)
    await isDrawn(page)
    await check(name)
    await fit(name)
  }
  assert.deepEqual(found, [])
})
