import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import type { Page } from "playwright-core"
import { eventually } from "../fixtures/eventually.ts"
import { BrowserServer, takePicture } from "./browser-server.ts"

const patience = { timeout: 120_000 }

suite("VS Code in a browser", () => {
  let rig: BrowserServer

  before(async () => {
    rig = await BrowserServer.start()
  })

  after(() => rig[Symbol.asyncDispose]())

  test("vscode: a file is edited and saved, its terminal runs commands, and a reload keeps the editor", async () => {
    await rig.withRun({ image: "vscode", type: "vscode", files: { "note.txt": "a note\n" } }, async ({ page, textOfFile }) => {
      await openFile(page, "note.txt")
      await page.keyboard.press("Control+End")
      await page.keyboard.type("and more")
      await page.keyboard.press("Control+s")
      await eventually("the file is saved", async () => (await textOfFile("note.txt")) === "a note\nand more", patience.timeout)
      await page.keyboard.press("Control+Backquote")
      await page.locator(".terminal-wrapper.active .xterm-helper-textarea").focus(patience)
      await page.keyboard.type("tail -n 1 note.txt >typed.txt\n", { delay: 20 })
      assert.equal(await textOfFile("typed.txt"), "and more")
      await takePicture(page, "vscode.png")
      await eventually("the browser has the layout", () => hasLayout(page, "note.txt"), patience.timeout)
      await page.reload({ waitUntil: "commit" })
      await page.locator(".view-lines", { hasText: "and more" }).waitFor(patience)
      await page.locator(".terminal-wrapper.active .xterm-helper-textarea").focus(patience)
      await page.keyboard.type("echo again >again.txt\n", { delay: 20 })
      assert.equal(await textOfFile("again.txt"), "again\n")
    })
  })

  test("vscode: a webview shows a preview", async () => {
    await rig.withRun({ image: "vscode", type: "vscode", files: { "page.md": "# A heading\n" } }, async ({ page }) => {
      await openFile(page, "page.md")
      await page.getByRole("button", { name: /^Open Preview to the Side/ }).click(patience)
      const webview = page.frameLocator("iframe.webview.ready").frameLocator("iframe#active-frame")
      await webview.getByRole("heading", { name: "A heading" }).waitFor(patience)
    })
  })
})

async function openFile(page: Page, name: string): Promise<void> {
  await page.locator(".explorer-viewlet .monaco-list-row", { hasText: name }).dblclick(patience)
  await page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor(patience)
  await page.locator(".monaco-editor.focused").waitFor(patience)
}

/**
 * Whether the browser holds that a file's editor and the panel of terminals are open. VS Code
 * writes its layout at intervals of seconds, and what a reload comes before is lost.
 */
function hasLayout(page: Page, file: string): Promise<boolean> {
  return page.evaluate(async (name) => {
    const result = <T>(request: IDBRequest<T>) =>
      new Promise<T>((resolve, reject) => {
        request.onsuccess = () => resolve(request.result)
        request.onerror = () => reject(request.error)
      })
    const databases = (await indexedDB.databases()).map((each) => each.name ?? "")
    for (const each of databases.filter((found) => found.startsWith("vscode-web-state-db-"))) {
      const database = await result(indexedDB.open(each))
      const items = database.transaction("ItemTable").objectStore("ItemTable")
      const requests = ["memento/workbench.parts.editor", "workbench.panel.hidden"].map((key) => result(items.get(key)))
      const [editors, isHidden] = await Promise.all(requests)
      database.close()
      if (String(editors).includes(name) && isHidden === "false") return true
    }
    return false
  }, file)
}
