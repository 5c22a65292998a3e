import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import type { Page } from "playwright-core"
import { BrowserServer, takePicture } from "./browser-server.ts"

const patience = { timeout: 120_000 }

suite("images as their makers build them, with their own command, from the start to a page that works", () => {
  let rig: BrowserServer

  before(async () => {
    rig = await BrowserServer.start()
  })

  after(() => rig[Symbol.asyncDispose]())

  test("a layout of Jupyter Docker Stacks computes a cell as `jupyterlab`", async () => {
    await rig.withRun({ image: "docker-stacks", type: "jupyterlab" }, async ({ page }) => {
      await page.waitForURL(/\/lab/, patience)
      await computeInLab(page)
    })
  })

  test("a layout of Jupyter Docker Stacks computes a cell by its own entry point and `start-notebook.sh`", async () => {
    const Command = "start-notebook.sh --ServerApp.port={port} --ServerApp.base_url={baseUrl} --ServerApp.allow_remote_access=True"
    await rig.withRun(
      { image: "docker-stacks", type: "jupyterlab", userPath: "/home/jovyan", imageFields: { Command } },
      async ({ page }) => {
        await page.waitForURL(/\/lab/, patience)
        await computeInLab(page)
      },
    )
  })

  test("Notebook 6 of Debian computes a cell as `jupyternotebook`", async () => {
    await rig.withRun({ image: "notebook6", type: "jupyternotebook" }, async ({ page }) => {
      await page.waitForURL(/\/tree\/code$/, patience)
      await page.locator("#new-dropdown-button").click()
      const [notebook] = await Promise.all([page.waitForEvent("popup"), page.locator("#kernel-python3 a").click()])
      await notebook.locator(".kernel_idle_icon").waitFor({ ...patience, state: "attached" })
      await notebook.locator(".CodeMirror").first().click()
      await notebook.keyboard.type("6 * 7")
      await notebook.keyboard.press("Shift+Enter")
      await notebook.locator(".output_result", { hasText: "42" }).waitFor(patience)
      await takePicture(notebook, "notebook.png")
    })
  })

  for (const [start, Command] of [
    ["its program", ""],
    ["its own entry point", "--auth none"],
  ] as const) {
    test(`code-server of its makers' layout opens a file by ${start}`, async () => {
      const files = { "note.txt": "a note" }
      await rig.withRun({ image: "code-server", type: "vscode", files, imageFields: { Command } }, async ({ page }) => {
        await page.locator(".monaco-workbench .monaco-list-row", { hasText: "note.txt" }).dblclick(patience)
        await page.locator(".view-lines", { hasText: "a note" }).waitFor(patience)
      })
    })
  }

  test("a desktop under supervisord shows what is typed in its terminal", async () => {
    await rig.withRun({ image: "supervisord", type: "novnc" }, async ({ page, textOfFile }) => {
      await page.locator("html.noVNC_connected").waitFor({ ...patience, state: "attached" })
      await page.locator("#noVNC_container canvas").click()
      await page.keyboard.type("echo typed >typed.txt\n", { delay: 20 })
      assert.equal(await textOfFile("typed.txt"), "typed\n")
    })
  })

  test("Streamlit counts after a click, and receives a file", async () => {
    await rig.withRun({ image: "streamlit", type: "http" }, async ({ page }) => {
      await page.getByRole("button", { name: "Count" }).click(patience)
      await page.getByText("3 penguins, 6 feet").waitFor(patience)
      await page.locator("input[type=file]").setInputFiles({ name: "a.txt", mimeType: "text/plain", buffer: Buffer.alloc(1_000) })
      await page.getByText("a.txt has 1000 bytes").waitFor(patience)
      await takePicture(page, "http.png")
    })
  })

  test("Gradio streams its answer", async () => {
    await rig.withRun({ image: "gradio", type: "http" }, async ({ page }) => {
      await page.getByLabel("Name").fill("penguin", patience)
      await page.getByRole("button", { name: "Submit" }).click()
      await page.waitForFunction(() => [...document.querySelectorAll("textarea")].some(({ value }) => value === "Hello penguin"))
    })
  })

  test("Dash calls back, and plots", async () => {
    await rig.withRun({ image: "dash", type: "http" }, async ({ page }) => {
      await page.locator("#name").pressSequentially("penguin", patience)
      await page.locator("#greeting", { hasText: "Hello penguin" }).waitFor(patience)
      await page.locator("#plot .bars path").first().waitFor(patience)
    })
  })

  test("MLflow creates an experiment", async () => {
    const Env = "MLFLOW_SERVER_ALLOWED_HOSTS=*\nMLFLOW_SERVER_CORS_ALLOWED_ORIGINS=*"
    await rig.withRun({ image: "mlflow", type: "http", imageFields: { Env } }, async ({ page, run, headers }) => {
      const create = await page.evaluate(async () => {
        const body = JSON.stringify({ name: "penguins" })
        const headers = { "content-type": "application/json" }
        return (await fetch("/api/2.0/mlflow/experiments/create", { method: "POST", headers, body })).status
      })
      assert.equal(create, 200)
      await page.goto(new URL("/#/experiments", page.url()).href)
      await page.getByText("penguins").first().waitFor(patience)
      const search = `${run.URL}api/2.0/mlflow/experiments/search?max_results=9`
      assert.match(await (await fetch(search, { headers })).text(), /penguins/)
    })
  })

  test("TensorBoard draws a curve", async () => {
    await rig.withRun({ image: "tensorboard", type: "http" }, async ({ page }) => {
      await page.getByText("loss").first().waitFor(patience)
      await page.locator("line-chart").first().waitFor(patience)
    })
  })

  test("plain nginx serves its page once its directories are writable", async () => {
    const WritablePaths = ["/run", "/var/log/nginx", "/var/lib/nginx"]
    await rig.withRun({ image: "nginx", type: "http", imageFields: { WritablePaths } }, async ({ page }) => {
      await page.getByRole("heading", { name: "Welcome to nginx!" }).waitFor(patience)
    })
  })
})

async function computeInLab(page: Page): Promise<void> {
  await page.locator(".jp-LauncherCard[data-category=Notebook]").first().click(patience)
  await page.getByText("Python 3 (ipykernel) | Idle").waitFor(patience)
  await page.locator(".jp-Notebook .jp-CodeCell .cm-content").first().click()
  await page.keyboard.type("6 * 7")
  await page.keyboard.press("Shift+Enter")
  await page.locator(".jp-OutputArea-output", { hasText: "42" }).waitFor(patience)
}
