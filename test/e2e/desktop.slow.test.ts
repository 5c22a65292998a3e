import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import type { Page } from "playwright-core"
import { eventually } from "../fixtures/eventually.ts"
import { BrowserServer, takePicture } from "./browser-server.ts"

const patience = { timeout: 120_000 }

suite("a desktop in a browser", () => {
  let rig: BrowserServer

  before(async () => {
    rig = await BrowserServer.start()
  })

  after(() => rig[Symbol.asyncDispose]())

  test("desktop: it takes the size of the window, and shows an editor", async () => {
    await rig.withRun({ image: "desktop", type: "novnc" }, async ({ page, textOfFile }) => {
      await openTerminal(page)
      await page.setViewportSize({ width: 1000, height: 640 })
      await page.waitForFunction(
        () => document.querySelector<HTMLCanvasElement>("#noVNC_container canvas")?.width === 1000,
        undefined,
        patience,
      )
      await page.keyboard.type("xrandr | grep -o 'current [0-9]* x [0-9]*' >size.txt\n", { delay: 20 })
      assert.equal(await textOfFile("size.txt"), "current 1000 x 640\n")
      await page.keyboard.type("echo '# Penguins' >notes.md; clear; mousepad notes.md 2>/dev/null &\n", { delay: 20 })
      await page.waitForTimeout(5_000)
      await takePicture(page, "desktop.png")
    })
  })

  test("desktop: the clipboard passes in both directions, and the picture returns after a restart of the server", async () => {
    await rig.withRun({ image: "desktop", type: "novnc" }, async ({ page, textOfFile }) => {
      await openTerminal(page)
      const clipboard = page.locator("#noVNC_clipboard_text")
      await clipboard.evaluate((area: HTMLTextAreaElement) => {
        area.value = "echo pasted >pasted.txt"
        area.dispatchEvent(new Event("change"))
      })
      await page.keyboard.press("Control+Shift+v")
      await untilStill(page)
      await page.keyboard.press("Enter")
      assert.equal(await textOfFile("pasted.txt"), "pasted\n")

      await page.keyboard.type("clear; mousepad copied.txt 2>/dev/null &\n", { delay: 20 })
      await untilStill(page)
      await page.keyboard.type("copied there", { delay: 20 })
      for (const keys of ["Control+a", "Control+c"]) await page.keyboard.press(keys)
      await eventually("the clipboard arrives", async () => (await clipboard.inputValue()) === "copied there", 30_000)

      await rig.server.kill("SIGKILL")
      await page.locator("html.noVNC_connected").waitFor({ ...patience, state: "detached" })
      await rig.server.start()
      await connected(page)
      await page.keyboard.press("Control+s")
      assert.equal(await textOfFile("copied.txt"), "copied there")
    })
  })
})

async function connected(page: Page): Promise<void> {
  await page.locator("html.noVNC_connected").waitFor({ ...patience, state: "attached" })
}

/** Opens a terminal by the shortcut of Xfce, and waits until it has changed the picture. */
async function openTerminal(page: Page): Promise<void> {
  await connected(page)
  await page.locator("#noVNC_container canvas").click()
  // The desktop draws itself first.
  await untilStill(page)
  await page.keyboard.press("Control+Alt+t")
  const before = await pixels(page)
  await eventually("the terminal opens", async () => (await pixels(page)) !== before, patience.timeout)
  await untilStill(page)
}

async function untilStill(page: Page): Promise<void> {
  let last = 0
  let still = 0
  const isStill = async () => {
    const now = await pixels(page)
    still = now === last ? still + 1 : 0
    last = now
    return still === 30
  }
  await eventually("the picture is still", isStill, patience.timeout)
}

/** A checksum of the picture's middle: the clock above changes by itself. */
function pixels(page: Page): Promise<number> {
  return page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>("#noVNC_container canvas")
    const bytes = canvas?.getContext("2d")?.getImageData(0, 60, canvas.width, canvas.height - 120).data ?? []
    let sum = 0
    for (const byte of bytes) sum = (sum * 31 + byte) | 0
    return sum
  })
}
