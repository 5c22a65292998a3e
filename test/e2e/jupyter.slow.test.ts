import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, suite, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import type { FileChooser, Page, WebSocket } from "playwright-core"
import { abortable } from "#kit"
import { eventually } from "../fixtures/eventually.ts"
import { BrowserServer, type OpenedRun } from "./browser-server.ts"

const patience = { timeout: 120_000 }
const largeBytes = 50 * 2 ** 20
const client = fileURLToPath(new URL("../fixtures/kernel-client.py", import.meta.url))

const slider = "import ipywidgets\nfrom IPython.display import display\nslider = ipywidgets.IntSlider(value=3)\ndisplay(slider)"
const ticks = "import time\nfor i in range(20):\n    print('tick', i, flush=True)\n    time.sleep(0.5)"
const files = {
  "slider.ipynb": notebook(slider, "print('value', slider.value)"),
  "other.ipynb": notebook("print('slider' in globals())"),
  "ticks.ipynb": notebook(ticks, "print('last', i)"),
  "plot.ipynb": notebook("%matplotlib inline\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 4, 9])"),
}

suite("Jupyter in a browser and by its kernel's WebSocket", () => {
  let rig: BrowserServer
  let local: string

  before(async () => {
    rig = await BrowserServer.start()
    local = await mkdtemp(join(tmpdir(), "quayside-jupyter-"))
  })

  after(async () => {
    await rm(local, { recursive: true })
    await rig[Symbol.asyncDispose]()
  })

  test("JupyterLab: a widget, two kernels, a terminal, 50 MiB in both directions, a reload during a cell", async () => {
    await rig.withRun({ image: "jupyterlab", type: "jupyterlab", files }, async (opened) => {
      const { page } = opened
      await openInLab(page, "slider.ipynb")
      await run(page, "Run All Cells")
      const value = await moveSlider(page)
      await runLastCell(page)
      await output(page, `value ${value}`)

      await openInLab(page, "other.ipynb")
      await run(page, "Run All Cells")
      await output(page, "False")

      await page.locator(".lm-TabBar-tab", { hasText: "Launcher" }).click(patience)
      await page.locator(".jp-LauncherCard", { hasText: "Terminal" }).click(patience)
      await page.locator(".jp-Terminal:not(.lm-mod-hidden) .xterm-helper-textarea").focus(patience)
      await page.keyboard.type("cd /work/code && pwd >typed.txt\n", { delay: 20 })
      assert.equal(await opened.textOfFile("typed.txt"), "/work/code\n")

      await passLargeFile(opened, local)

      await openInLab(page, "ticks.ipynb")
      await run(page, "Run All Cells")
      await reloadWhileItTicks(opened, page)
    })
  })

  test("Notebook 7: a widget, two kernels, a plot, a terminal, 50 MiB in both directions, a reload during a cell", async () => {
    await rig.withRun({ image: "notebook", type: "jupyternotebook", files }, async (opened) => {
      const { page } = opened
      const first = await openInTab(page, "slider.ipynb")
      await runFirstCell(first)
      const value = await moveSlider(first)
      await runLastCell(first)
      await output(first, `value ${value}`)
      const second = await openInTab(page, "other.ipynb")
      await runFirstCell(second)
      await output(second, "False")

      const plot = await openInTab(page, "plot.ipynb")
      await runFirstCell(plot)
      await plot.locator(".jp-OutputArea-output img").waitFor(patience)

      await page.getByText("New", { exact: true }).click(patience)
      const [terminal] = await Promise.all([
        page.waitForEvent("popup", patience),
        page.getByRole("menuitem", { name: "Terminal", exact: true }).click(patience),
      ])
      await terminal.locator(".xterm-helper-textarea").focus(patience)
      await terminal.keyboard.type("cd /work/code && pwd >typed.txt\n", { delay: 20 })
      assert.equal(await opened.textOfFile("typed.txt"), "/work/code\n")

      await passLargeFile(opened, local)
      const ticking = await openInTab(page, "ticks.ipynb")
      await runFirstCell(ticking)
      await reloadWhileItTicks(opened, ticking)
    })
  })

  for (const [image, type] of [
    ["jupyterlab", "jupyterlab"],
    ["notebook", "jupyternotebook"],
  ] as const)
    test(`${image}: a notice says that the run will end, and keeps it by a click`, async () => {
      await rig.withRun({ image, type, idleMinutes: 3 }, async ({ page, run }) => {
        const notice = page.getByText("Nobody uses this run: it will be stopped at")
        await notice.waitFor({ timeout: 240_000 })
        const idleEnd = async () => (await rig.client.readRun({ query: { ID: run.ID } })).IdleExpiresAt
        assert.notEqual(await idleEnd(), null)
        await page.getByRole("button", { name: "Keep running" }).click(patience)
        await notice.waitFor({ state: "detached", ...patience })
        assert.equal(await idleEnd(), null)
      })
    })

  test("a program that has only a token computes a cell through the kernel's WebSocket at the run's path", async () => {
    await rig.withRun({ image: "jupyterlab", type: "jupyter" }, async ({ run }) => {
      const { Token } = await rig.client.createToken({ body: { Name: "kernels", Scopes: [`run:${run.ID}`] } })
      const args = ["run", "--rm", "--network=host", `--volume=${client}:/client.py:ro`, "quayside/jupyterlab", "python", "/client.py"]
      const { stdout } = await promisify(execFile)("docker", [...args, run.URL, Token, "print(6 * 7)"])
      assert.equal(stdout, "42\n")
    })
  })
})

function notebook(...sources: string[]): string {
  const cells = sources.map((source, i) => ({
    cell_type: "code",
    id: `cell-${i}`,
    metadata: {},
    outputs: [],
    execution_count: null,
    source,
  }))
  const kernelspec = { name: "python3", display_name: "Python 3 (ipykernel)", language: "python" }
  return JSON.stringify({ cells, metadata: { kernelspec }, nbformat: 4, nbformat_minor: 5 })
}

async function openInLab(page: Page, name: string): Promise<void> {
  await page.locator(".jp-DirListing-item", { hasText: name }).dblclick(patience)
  await shownNotebook(page).locator(".jp-CodeCell").first().waitFor(patience)
  await page.getByText("Python 3 (ipykernel) | Idle").waitFor(patience)
}

/** Notebook opens a file at the first click; a double click opens it up to three times. */
async function openInTab(page: Page, name: string): Promise<Page> {
  const item = page.locator(".jp-DirListing-item", { hasText: name })
  await item.waitFor(patience)
  const [tab] = await Promise.all([page.waitForEvent("popup", patience), item.click()])
  await kernelAnswers(tab)
  await tab.locator('.jp-Notebook-ExecutionIndicator[data-status="idle"]').waitFor({ ...patience, state: "attached" })
  return tab
}

/** Notebook shows an idle kernel before it has one, and asks for another if a cell is run then. */
async function kernelAnswers(page: Page): Promise<void> {
  const ofKernel = (socket: WebSocket) => socket.url().includes("/channels")
  const isAnswered = new Promise<void>((resolve) => {
    page.on("websocket", (socket) => ofKernel(socket) && socket.once("framereceived", () => resolve()))
  })
  await abortable(isAnswered, AbortSignal.timeout(patience.timeout))
}

async function runFirstCell(page: Page): Promise<void> {
  await shownNotebook(page).locator(".jp-CodeCell .cm-content").first().click(patience)
  await page.keyboard.press("Control+Enter")
}

const shownNotebook = (page: Page) => page.locator(".jp-NotebookPanel:not(.lm-mod-hidden)")

async function runLastCell(page: Page): Promise<void> {
  await shownNotebook(page).locator(".jp-CodeCell .cm-content").last().click(patience)
  await page.keyboard.press("Shift+Enter")
}

async function output(page: Page, text: string): Promise<void> {
  await shownNotebook(page).locator(".jp-OutputArea-output", { hasText: text }).waitFor(patience)
}

async function run(page: Page, name: string): Promise<void> {
  for (const item of ["Run", name]) await page.getByRole("menuitem", { name: item, exact: true }).click(patience)
}

/** A cell of `ticks.ipynb` runs: its output and its kernel's variables are there after a reload. */
async function reloadWhileItTicks({ textOfFile }: OpenedRun, page: Page): Promise<void> {
  await output(page, "tick 3")
  await page.keyboard.press("Control+s")
  const isSaved = async () => (await textOfFile("ticks.ipynb")).includes("tick 3")
  await eventually("the notebook is saved", isSaved, patience.timeout)
  await Promise.all([kernelAnswers(page), page.reload()])
  await output(page, "tick 3")
  await runLastCell(page)
  await output(page, "last 19")
}

/** Resolves with the new value. */
async function moveSlider(page: Page): Promise<string> {
  await page.locator(".widget-slider .noUi-base").click(patience)
  const readout = page.locator(".widget-readout", { hasNotText: /^3$/ })
  await readout.waitFor(patience)
  return (await readout.textContent()) ?? ""
}

/** Uploads a file by the file browser and downloads it again. */
async function passLargeFile({ page, codeUrl, headers }: OpenedRun, local: string): Promise<void> {
  // The browser hands the choice over only some time after somebody began to listen.
  const chooser = new Promise<FileChooser>((resolve) => page.once("filechooser", resolve))
  const content = randomBytes(largeBytes)
  const wanted = createHash("sha256").update(content).digest("hex")
  await writeFile(join(local, "large.bin"), content)
  await page.getByTitle("Upload Files").click()
  await (await chooser).setFiles(join(local, "large.bin"))
  await page.locator(".jp-Dialog").getByRole("button", { name: "Upload" }).click(patience)
  const isUploaded = async () => {
    const response = await fetch(`${codeUrl}/large.bin`, { method: "HEAD", headers })
    return Number(response.headers.get("content-length")) === largeBytes
  }
  await eventually("the file is uploaded", isUploaded, patience.timeout)
  const stored = await fetch(`${codeUrl}/large.bin`, { headers })
  assert.equal(
    createHash("sha256")
      .update(await stored.bytes())
      .digest("hex"),
    wanted,
  )
  await page.locator(".jp-DirListing-item", { hasText: "large.bin" }).click({ ...patience, button: "right" })
  const [download] = await Promise.all([
    page.waitForEvent("download", patience),
    page.getByRole("menuitem", { name: "Download", exact: true }).click(),
  ])
  assert.equal(await hashOfFile(await download.path()), wanted)
}

async function hashOfFile(path: string): Promise<string> {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest("hex")
}
