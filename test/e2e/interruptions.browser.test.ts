import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Browser, Page, Route } from "playwright-core"
import { basicAuth, type Client, createClient } from "#client"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

let server: ServerProcess
let browser: Browser & AsyncDisposable
let admin: Client
before(async () => {
  server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  browser = await openBrowser()
  admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

const options = { timeout: 120_000 }
const typed = "a description that took an hour"

async function openPage(path: string, userName = "admin", password = server.password): Promise<Page> {
  const page = await (await freshContext(browser)).newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${server.baseUrl}/ui/${path}`)
  if (userName === "admin") await signIn(page, password)
  else {
    await page.getByLabel("User name").fill(userName)
    await page.getByLabel("Password").fill(password)
    await page.getByRole("button", { name: "Sign in" }).click()
  }
  return page
}

test("output goes on after the server was away", options, async () => {
  const { ID: ImageID } = await admin.createImage({ body: { Name: "prints", Image: "fake/http" } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "Output", Type: "http", ImageID } })
  const { ID } = await admin.startRun({ body: { ProjectID } })
  const page = await openPage(`runs/${ID}?tab=logs`)
  const lines = page.locator(".log-line")
  await lines.first().waitFor()
  await server.kill("SIGKILL")
  await page.locator(".banner").waitFor()
  await server.start()
  await page.locator(".banner").waitFor({ state: "detached" })
  const printed = await fetch(`${server.appsUrl}/run/${ID}/log/after-the-restart`, {
    headers: { authorization: basicAuth("admin", server.password) },
  })
  assert.equal(printed.status, 200)
  await page.getByRole("log").getByText("after-the-restart").waitFor()
  await admin.stopRun({ query: { ID } })
})

test("a form says that the server is away, keeps what was typed, and saves it when the server is back", options, async () => {
  const page = await openPage("datasets/new")
  await page.getByLabel("Name", { exact: true }).fill("Kept")
  await page.getByLabel("Description").fill(typed)
  const banner = page.locator(".banner", { hasText: "The server cannot be reached" })
  await server.kill("SIGKILL")
  await banner.waitFor()
  await page.getByRole("button", { name: "Create" }).click()
  const refusal = page.getByRole("main").getByRole("alert")
  await refusal.getByText("The server cannot be reached.").waitFor()
  await refusal.getByText("What you typed stays.").waitFor()
  assert.equal(await page.getByLabel("Description").inputValue(), typed)
  await server.start()
  await banner.waitFor({ state: "detached" })
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByRole("heading", { name: "Kept", level: 1, exact: true }).waitFor()
  const { data } = (await admin.listData({ query: { page: 1, q: "Kept" } })) as { data: { Doc: string }[] }
  assert.deepEqual(
    data.map(({ Doc }) => Doc),
    [typed],
    "it is created once",
  )
})

test("a session that ends in the middle of a form loses nothing: after signing in, the form saves", options, async () => {
  const { ID } = await admin.createData({ body: { Name: "Long text" } })
  const page = await openPage(`datasets/${ID}/edit`)
  await page.getByLabel("Description").fill(typed)
  await page.context().clearCookies()
  await page.getByRole("button", { name: "Save" }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByText("Your session is over").waitFor()
  await dialog.getByLabel("User name").fill("admin")
  await dialog.getByLabel("Password").fill(server.password)
  await dialog.getByRole("button", { name: "Sign in" }).click()
  await dialog.waitFor({ state: "detached" })
  assert.equal(await page.getByLabel("Description").inputValue(), typed)
  await page.getByRole("button", { name: "Save" }).click()
  await page.locator("p", { hasText: typed }).waitFor()
})

test("a right that is withdrawn while a person looks closes the page, and a form keeps its text", options, async () => {
  const password = "password of vera"
  await admin.createUser({ body: { UserName: "vera", Password: password } })
  const { ID } = await admin.createData({ body: { Name: "On loan" } })
  await admin.createGrant({ body: { DataID: ID, UserName: "vera", Access: "write" } })
  const looking = await openPage(`datasets/${ID}`, "vera", password)
  await looking.getByRole("heading", { name: "On loan", level: 1, exact: true }).waitFor()
  const editing = await looking.context().newPage()
  await editing.goto(`${server.baseUrl}/ui/datasets/${ID}/edit`)
  await editing.getByLabel("Comment").fill(typed)
  await admin.deleteGrant({ query: { DataID: ID, UserName: "vera" } })
  await editing.getByText("It is gone, or you may not see it any more").waitFor()
  assert.equal(await editing.getByLabel("Comment").inputValue(), typed)
  await looking.bringToFront()
  await looking.getByRole("link", { name: "Show the list" }).waitFor()
  assert.equal(await looking.getByRole("heading", { name: "On loan" }).count(), 0)
})

test("a part that cannot be loaded ahead leaves a form alone, and a page that is gone comes by loading anew", options, async () => {
  const context = await freshContext(browser)
  context.setDefaultTimeout(60_000)
  const asked = Promise.withResolvers<Route>()
  await context.route("**/command-palette*.js", (route) => asked.resolve(route), { times: 1 })
  await context.route("**/projects-page*.js", (route) => route.fulfill({ status: 404 }), { times: 1 })
  const page = await context.newPage()
  await page.goto(`${server.baseUrl}/ui/datasets/new`)
  await signIn(page, server.password)
  await page.getByLabel("Name", { exact: true }).fill("Undisturbed")
  const failed = page.waitForEvent("requestfailed")
  await (await asked.promise).abort("connectionrefused")
  await failed
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByRole("heading", { name: "Undisturbed", level: 1, exact: true }).waitFor()
  await page.getByRole("navigation").getByRole("link", { name: "Projects" }).click()
  await page.getByRole("heading", { name: "Projects", level: 1, exact: true }).waitFor()
})
