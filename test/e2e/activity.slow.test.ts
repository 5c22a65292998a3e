import { after, before, suite, test } from "node:test"
import type { Page } from "playwright-core"
import { eventually } from "../fixtures/eventually.ts"
import { BrowserServer, type OpenedRun, type ProjectToOpen } from "./browser-server.ts"

const patience = { timeout: 120_000 }
/** Longer than the time between two keep-alives, saved layouts or questions of any of the pages. */
const quietMs = 40_000

interface Used extends ProjectToOpen {
  /** Waits until the page can be used, puts the keyboard into it, and lets the program go on. */
  open(page: Page): Promise<void>
}

const runs: readonly Used[] = [
  {
    image: "jupyterlab",
    type: "jupyterlab",
    files: { "note.txt": "a note\n" },
    async open(page) {
      await page.locator(".jp-LauncherCard", { hasText: "Terminal" }).click(patience)
      await page.locator(".jp-Terminal .xterm-helper-textarea").focus(patience)
    },
  },
  {
    image: "vscode",
    type: "vscode",
    files: { "note.txt": "a note\n" },
    async open(page) {
      await page.locator(".explorer-viewlet .monaco-list-row", { hasText: "note.txt" }).dblclick(patience)
      await page.locator(".monaco-editor.focused").waitFor(patience)
    },
  },
  {
    image: "desktop",
    type: "novnc",
    async open(page) {
      await page.locator("html.noVNC_connected").waitFor({ ...patience, state: "attached" })
      await page.locator("#noVNC_container canvas").click(patience)
      await page.keyboard.press("Control+Alt+t")
      await page.waitForTimeout(5_000)
      // The page asks for new pixels all the time.
      await page.keyboard.type("while sleep 3; do date; done\n", { delay: 50 })
    },
  },
]

suite("what counts as use of a real page in a browser", () => {
  let rig: BrowserServer

  before(async () => {
    rig = await BrowserServer.start()
  })

  after(() => rig[Symbol.asyncDispose]())

  for (const { open, ...project } of runs)
    test(`${project.image}: typing is use, and an open page that nobody touches is none`, async () => {
      await rig.withRun(project, async (opened) => {
        await open(opened.page)
        const before = await untilUnused(opened)
        await opened.page.keyboard.type("a")
        await eventually("the typing counts", async () => (await opened.lastActivity()) !== before, 30_000)
      })
    })
})

/** Resolves with the time of the last use, once there was none for long. */
async function untilUnused({ lastActivity }: OpenedRun): Promise<string | null> {
  let last = await lastActivity()
  let since = performance.now()
  const isUnused = async () => {
    const now = await lastActivity()
    if (now !== last) since = performance.now()
    last = now
    return performance.now() - since > quietMs
  }
  await eventually("nobody uses it", isUnused, 120_000)
  return last
}
