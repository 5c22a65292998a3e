import type { Page } from "playwright-core"

/** The rows of the page's terminal. */
const screen = (page: Page) => page.locator(".xterm-rows")

export async function type(page: Page, line: string): Promise<void> {
  await page.getByRole("textbox", { name: /^Terminal input/ }).focus()
  await page.keyboard.type(line)
  await page.keyboard.press("Enter")
}

export async function shows(page: Page, text: string | RegExp): Promise<void> {
  await screen(page).filter({ hasText: text }).waitFor()
}

/** The size that the shell knows, as columns. */
export async function columnsOfShell(page: Page): Promise<number> {
  const sizes = async () =>
    (await screen(page).locator("> div").allTextContents()).flatMap((line) => /^\d+\s(\d+)\s*$/.exec(line)?.[1] ?? [])
  const { length } = await sizes()
  await type(page, "stty size")
  for (;;) {
    const shown = await sizes()
    if (shown.length > length) return Number(shown.at(-1))
    await page.waitForTimeout(50)
  }
}
