import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { Page } from "playwright-core"
import { startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"
import { runSampleNotebook } from "./sample-notebook.ts"
import { shows, type } from "./terminal-page.ts"

const run = promisify(execFile)
const sample = fileURLToPath(new URL("../../script/sample.ts", import.meta.url))
/** Directory of the documentation's screenshots, written on request only. */
const pictures = process.env.PICTURES_DIR

test("a browser opens the sample's URL, JupyterLab shows the uploaded rows, and a terminal runs a full-screen program", {
  timeout: 240_000,
}, async () => {
  await using server = await startServerProcess()
  const passwordFile = join(server.directory, "data", "admin-password")
  const { stdout } = await run(process.execPath, [sample, server.baseUrl, server.filesUrl, passwordFile])
  const url = /^penguins\s+(\S+)$/m.exec(stdout)?.[1] ?? ""
  assert.match(url, /^http:\/\/localhost:\d+\/run\/\d+\/$/)
  const repeated = await run(process.execPath, [sample, server.baseUrl, server.filesUrl, passwordFile])
  assert.doesNotMatch(repeated.stdout, /Making|Uploading|Starting/, "a second time changes nothing")

  await using browser = await openBrowser()
  const page = await (await freshContext(browser)).newPage()
  await page.goto(url)
  assert.equal(new URL(page.url()).origin, server.baseUrl, "the browser is sent to sign in")
  await picture(page, "sign-in.png")
  await signIn(page, server.password)
  await page.waitForURL(/\/lab/)
  assert.match(new URL(page.url()).host, /^[0-9a-f]{32}\.localhost:\d+$/, "the run has an origin of its own")
  await runSampleNotebook(page)
  await picture(page, "jupyterlab.png")

  await useTerminal(page, `${server.baseUrl}/ui/runs/${/(\d+)\/$/.exec(url)?.[1]}?tab=terminal`)
  await picture(page, "terminal.png")

  const response = await fetch(`${url}api/contents`, { headers: { authorization: `Basic ${btoa(`admin:${server.password}`)}` } })
  assert.equal(response.status, 200, "the same URL works for a program that proves who it is")
  assert.equal((await fetch(`${url}api/contents`)).status, 401, "and for nobody else")
})

/** A program that fills the screen and draws it again for each new size, until `q`. */
const fullScreen = `python3 -c "
import curses
def main(s):
  while 1:
    s.erase(); s.box(); s.addstr(1, 2, 'grüße €😀 %d' % s.getmaxyx()[1]); s.refresh()
    if s.getch() == ord('q'): return
curses.wrapper(main)"`

async function useTerminal(page: Page, address: string): Promise<void> {
  await page.goto(address)
  await shows(page, "admin@run-")
  await type(page, "echo from before; id -un")
  await shows(page, /id -un\s*from before\s*admin/)
  await type(page, fullScreen)
  await shows(page, /grüße €😀 1\d\d/)
  await page.setViewportSize({ width: 800, height: 700 })
  await shows(page, /grüße €😀 [5-9]\d\b/)
  await page.reload()
  await shows(page, /grüße €😀 [5-9]\d\b/)
  await page.getByRole("textbox", { name: /^Terminal input/ }).focus()
  await page.keyboard.press("q")
  await shows(page, /from before\s*admin/)
  await page.getByRole("button", { name: "New terminal" }).click()
  await page.getByRole("tab", { name: "Terminal 2" }).waitFor()
  await type(page, "tty")
  await shows(page, /tty\s*\/dev\/pts\/\d/)
}

async function picture(page: Page, name: string): Promise<void> {
  if (pictures) await page.screenshot({ path: join(pictures, name) })
}
