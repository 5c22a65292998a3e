import type { Page } from "playwright-core"
import { eventually } from "../fixtures/eventually.ts"

/** The rows of the page's terminal. */
const screen = (page: Page) => page.locator(".xterm-rows")

export async function type(page: Page, line: string): Promise<void> {
  await page.getByRole("textbox", { name: /^Terminal input/ }).focus()
  await page.keyboard.type(line)
  await page.keyboard.press("Enter")
}

export async function paste(page: Page, text: string): Promise<void> {
  const input = page.getByRole("textbox", { name: /^Terminal input/ })
  await input.focus()
  await input.evaluate((area, content) => {
    const clipboardData = new DataTransfer()
    clipboardData.setData("text/plain", content)
    area.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }))
  }, text)
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
  await eventually("the size is shown", async () => (await sizes()).length > length, 60_000)
  return Number((await sizes()).at(-1))
}
