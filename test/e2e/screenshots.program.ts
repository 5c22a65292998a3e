// Draws every page of the web UI in light, dark and on a narrow window, into the directory that is
// the first argument. The best of them stand in the documentation.

import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import type { Browser } from "playwright-core"
import { adminPassword, startTestServer } from "../test-server.ts"
import { openBrowser, signIn } from "./browser.ts"
import { fillInstallation, uiPages } from "./ui-pages.ts"

const looks = {
  light: { colorScheme: "light", viewport: { width: 1280, height: 800 } },
  dark: { colorScheme: "dark", viewport: { width: 1280, height: 800 } },
  narrow: { colorScheme: "light", viewport: { width: 390, height: 844 } },
} as const

async function drawPages(browser: Browser, baseUrl: string, directory: string, look: keyof typeof looks): Promise<void> {
  const page = await (await browser.newContext({ ...looks[look], locale: "en-GB" })).newPage()
  const draw = async (name: string) => {
    // Menus and dialogs end their motion, and pictures of one state are alike.
    await page.evaluate(() => document.fonts.ready)
    await page.screenshot({ path: join(directory, `${name}-${look}.png`), animations: "disabled" })
  }
  await page.goto(`${baseUrl}/ui/`)
  await page.getByRole("heading").waitFor()
  await draw("sign-in")
  await signIn(page, adminPassword)
  await page.getByRole("heading", { name: "Home" }).waitFor()
  for (const { name, path, isDrawn } of uiPages) {
    await page.goto(`${baseUrl}/ui/${path}`)
    await isDrawn(page)
    // Two measurements of a run, some seconds after its start, tell its use of processors.
    if (name === "home") await page.getByRole("region", { name: "Running" }).getByText("CPU", { exact: true }).waitFor()
    await draw(name)
  }
  await page.context().close()
}

const [directory = ".cache/screenshots"] = process.argv.slice(2)
await mkdir(directory, { recursive: true })
await using server = await startTestServer()
await fillInstallation(server)
await using browser = await openBrowser()
for (const look of Object.keys(looks)) await drawPages(browser, server.quayside.baseUrl, directory, look as keyof typeof looks)
