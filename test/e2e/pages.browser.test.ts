import assert from "node:assert/strict"
import { test } from "node:test"
import { basicAuth, createClient } from "#client"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

async function projectIn(server: ServerProcess, ProjectName: string): Promise<void> {
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const image = await admin.createImage({ body: { Name: ProjectName, Image: "fake/http" } })
  await admin.createProject({ body: { ProjectName, Type: "jupyternotebook", ImageID: image.ID } })
}

test("every page fits into a narrow window with long names", { timeout: 120_000 }, async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  const name = "a_name_without_a_space_".repeat(8)
  await projectIn(server, name)
  await using browser = await openBrowser()
  const page = await (await freshContext(browser, { viewport: { width: 360, height: 700 } })).newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(server.baseUrl)
  await signIn(page, server.password)
  await page.getByText(name).waitFor()
  for (const path of ["/ui/", "/ui/start/1", "/ui/history", "/docs", "/ui/sign-in", "/open?ID=999", "/no-such-page", "/oidc/login"]) {
    await page.goto(`${server.baseUrl}${path}`)
    await page.locator("h1").waitFor()
    if (path === "/ui/") await page.getByText(name).waitFor()
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 360, path)
    const cut = await page.$$eval("td", (cells) =>
      cells.filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.textContent),
    )
    assert.deepEqual(cut, [], path)
    assert.ok((await page.$$("h1")).length === 1, `${path} is a page`)
    if (path.startsWith("/o") || path.startsWith("/no"))
      assert.ok(await page.$eval(".brand img", (icon) => (icon as HTMLImageElement).naturalWidth > 0), `${path} has the product's sign`)
  }
})

test("the home page reconnects by itself after the server restarts", { timeout: 120_000 }, async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  await projectIn(server, "before")
  await using browser = await openBrowser()
  const page = await (await freshContext(browser)).newPage()
  await page.goto(server.baseUrl)
  await signIn(page, server.password)
  await page.getByText("before", { exact: true }).waitFor()
  await server.kill("SIGKILL")
  const banner = page.getByText("The server cannot be reached")
  await banner.waitFor()
  await server.start()
  await projectIn(server, "after")
  await page.getByText("after", { exact: true }).waitFor()
  await banner.waitFor({ state: "detached" })
})
