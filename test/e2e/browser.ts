import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from "playwright-core"
import { ensureWebBuild } from "../fixtures/web-build.ts"

/**
 * Debian's headless Chromium, without requests of its own and with these further arguments, and the
 * web UI as it is now.
 */
export async function openBrowser(further: readonly string[] = []): Promise<Browser & AsyncDisposable> {
  await ensureWebBuild()
  const args = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    ...further,
  ]
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args })
  return Object.assign(browser, { [Symbol.asyncDispose]: () => browser.close() })
}

/** A browser with an empty profile. */
export async function freshContext(browser: Browser, options: BrowserContextOptions = {}): Promise<BrowserContext> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 1000 }, ...options })
  // JupyterLab and a second browser share the machine.
  context.setDefaultTimeout(60_000)
  // Chromium drops what it loads when a network of the machine comes or goes, as those of Docker do
  // in other tests, and a page without its first script stays empty.
  context.on("requestfailed", (request) => {
    if (request.resourceType() !== "script" || request.failure()?.errorText !== "net::ERR_NETWORK_CHANGED") return
    const page = request.frame().page()
    void page
      .locator("#root:empty")
      .count()
      .then(async (empty) => void (empty > 0 && (await page.reload())))
      .catch(() => {})
  })
  return context
}

/** Signs in on the sign-in page as the first administrator. */
export async function signIn(page: Page, password: string): Promise<void> {
  await page.getByLabel("User name").fill("admin")
  await page.getByLabel("Password").fill(password)
  await page.getByRole("button", { name: "Sign in" }).click()
}
