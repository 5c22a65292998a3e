import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import type { Page } from "playwright-core"
import { basicAuth, createClient } from "#client"
import type { ProjectType } from "#contract"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

const patience = { timeout: 60_000 }

suite("each type of project with a program of its kind, from the start to a page that works", () => {
  let server: ServerProcess
  let browser: Awaited<ReturnType<typeof openBrowser>>

  before(async () => {
    server = await startServerProcess()
    browser = await openBrowser()
  })

  after(async () => {
    await browser[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  })

  /** A command whose effect appears in the project's code, which the test reads through WebDAV. */
  interface Typed {
    command: string
    done(): Promise<void>
  }

  /** Starts a project, opens its URL in a browser, and stops the run after `look`. */
  async function opened(image: string, type: ProjectType, look: (page: Page, typed: Typed) => Promise<void>): Promise<void> {
    const authorization = basicAuth("admin", server.password)
    const client = createClient({ baseUrl: server.baseUrl, authorization })
    const { ID: ImageID } = await client.createImage({ body: { Name: type, Image: `quayside/${image}` } })
    const { ID: ProjectID } = await client.createProject({ body: { ProjectName: type, Type: type, ImageID } })
    const code = `${server.filesUrl}/users/admin/projects/${ProjectID}/code`
    const headers = { authorization }
    const run = await client.startRun({ body: { ProjectID, Memory: 2_048 } })
    assert.equal(run.State, "ready", JSON.stringify(run.Reason))
    assert.equal((await fetch(`${code}/note.txt`, { method: "PUT", headers, body: "a note" })).status, 201)
    const context = await freshContext(browser)
    const page = await context.newPage()
    await page.goto(run.URL)
    await signIn(page, server.password)
    await look(page, {
      command: "cat note.txt >typed.txt\n",
      async done() {
        while ((await (await fetch(`${code}/typed.txt`, { headers })).text()) !== "a note") await page.waitForTimeout(100)
      },
    })
    await context.close()
    await client.stopRun({ query: { ID: run.ID } })
  }

  for (const type of ["jupyter", "jupyternotebook"] as const) {
    test(`${type}: a cell of Jupyter Notebook 6 is computed`, async () => {
      await opened("notebook", type, async (page) => {
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
  }

  test("novnc: the desktop's terminal runs typed commands", async () => {
    await opened("novnc", "novnc", async (page, typed) => {
      await page.locator("html.noVNC_connected").waitFor({ ...patience, state: "attached" })
      await page.locator("#noVNC_container canvas").click()
      await page.keyboard.type(typed.command, { delay: 20 })
      await typed.done()
    })
  })

  test("vscode: its terminal runs typed commands", async () => {
    await opened("vscode", "vscode", async (page, typed) => {
      await page.locator(".monaco-workbench .monaco-list-row", { hasText: "note.txt" }).waitFor(patience)
      await page.keyboard.press("Control+Backquote")
      await page.locator(".terminal-wrapper.active .xterm-helper-textarea").focus(patience)
      await page.keyboard.type(typed.command, { delay: 20 })
      await typed.done()
    })
  })
})
