import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import type { Page } from "playwright-core"
import { basicAuth, createClient } from "#client"
import { sendRequest } from "../api/http-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

const markup = `<img src=x onerror="globalThis.wasRun=1">`
const reversing = "\u202egnp.exe"
const unbroken = "long".repeat(25)
/** Names of objects may have no reversing characters. This one has markup and no place to break. */
const hostile = `${markup}${unbroken}`
const tooLong = "x".repeat(10_000)
const options = { timeout: 120_000 }

let server: ServerProcess
let page: Page
let admin: ReturnType<typeof createClient>
let project: number

before(async () => {
  server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { ID: ImageID } = await admin.createImage({ body: { Name: hostile, Image: "fake/http" } })
  project = (await admin.createProject({ body: { ProjectName: hostile, Comment: hostile, Type: "http", ImageID } })).ID
  page = await (await freshContext(await openBrowser())).newPage()
  await page.setViewportSize({ width: 360, height: 800 })
  await page.goto(`${server.baseUrl}/ui/`)
  await signIn(page, server.password)
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
})
after(async () => {
  await page?.context().browser()?.close()
  await server?.[Symbol.asyncDispose]()
})

/** The page ran no script, made no element of the text, and is as wide as its window. */
async function assertHarmless(where: string): Promise<void> {
  const found = await page.evaluate(() => ({
    wasRun: (globalThis as { wasRun?: number }).wasRun,
    images: document.querySelectorAll("img[src=x]").length,
    width: document.documentElement.scrollWidth,
  }))
  assert.deepEqual({ ...found, width: Math.min(found.width, 360) }, { wasRun: undefined, images: 0, width: found.width }, where)
}

test("lists, tables and headings show hostile names as text", options, async () => {
  const run = await admin.startRun({ body: { ProjectID: project } })
  await admin.stopRun({ query: { ID: run.ID } })
  for (const path of ["", "projects", "images", "history", `projects/${project}`, `runs/${run.ID}`]) {
    await page.goto(`${server.baseUrl}/ui/${path}`)
    await page.getByText(markup).first().waitFor()
    await assertHarmless(path)
  }
  assert.ok((await page.title()).startsWith(hostile))
})

test("a session shows a hostile browser's text", options, async () => {
  const headers = { "user-agent": `${markup}${unbroken.repeat(3)}` }
  await sendRequest(server.baseUrl, "POST", "/session", { body: { UserName: "admin", Password: server.password }, headers })
  await page.goto(`${server.baseUrl}/ui/people?tab=sessions`)
  await page.getByText(markup).first().waitFor()
  await assertHarmless("sessions")
})

test("the palette shows hostile names as text, and takes 200 characters", options, async () => {
  await page.goto(`${server.baseUrl}/ui/groups`)
  await page.getByRole("heading", { name: "Groups", level: 1 }).waitFor()
  await page.keyboard.press("Control+k")
  const field = page.getByRole("combobox")
  await field.fill(markup)
  await page.getByRole("option", { name: `Start ${hostile}` }).waitFor()
  await assertHarmless("palette")
  await field.fill(tooLong)
  await page.getByText("Nothing matches.").waitFor()
  assert.equal((await field.inputValue()).length, 200)
})

test("a note in the corner shows hostile names as text", options, async () => {
  await page.goto(`${server.baseUrl}/ui/projects/${project}`)
  await page.getByRole("button", { name: "More actions" }).click()
  await page.getByRole("menuitem", { name: "Delete" }).click()
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByText(`${hostile} is in the bin.`).first().waitFor()
  await assertHarmless("toast")
  await page.getByRole("button", { name: "Undo" }).click()
  await page.getByText("Undone.").first().waitFor()
})

test("the dialog that shares shows hostile names as text, and takes 64 characters", options, async () => {
  const dialog = page.getByRole("dialog")
  const field = dialog.getByLabel("User name")
  for (const name of [markup, reversing, tooLong]) {
    await page.goto(`${server.baseUrl}/ui/projects/${project}`)
    await page.getByRole("button", { name: "Share", exact: true }).click()
    await field.fill(name)
    await dialog.getByRole("button", { name: "Share" }).click()
    await dialog.locator("[data-invalid], [role=alert]").first().waitFor()
    await assertHarmless(`share ${name.slice(0, 20)}`)
    assert.equal((await field.inputValue()).length, Math.min(name.length, 64))
  }
})

test("a conflict shows hostile values as text", options, async () => {
  await page.goto(`${server.baseUrl}/ui/projects/${project}/edit`)
  await page.getByLabel("Comment").fill(`mine ${markup}`)
  await admin.updateProject({ body: { ID: project, Comment: `theirs ${hostile}` } })
  const conflict = page.getByRole("region", { name: "Comment" })
  await conflict.getByText(`theirs ${markup}`).waitFor()
  await conflict.getByText(`mine ${markup}`).waitFor()
  await assertHarmless("conflict")
  await page.getByRole("button", { name: "Keep yours" }).click()
  await page.getByRole("button", { name: "Save" }).click()
  await page.waitForURL(/projects\/\d+$/)
})

test("tokens show hostile names as text, and a name that is too long stays in the form", options, async () => {
  await admin.createToken({ body: { Name: hostile.slice(0, 150), Scopes: ["read"] } })
  await page.goto(`${server.baseUrl}/ui/me?tab=tokens`)
  await page.getByRole("cell", { name: markup }).waitFor()
  await assertHarmless("tokens")
  await page.getByRole("button", { name: "Create a token" }).click()
  await page.getByLabel("Name").fill(tooLong)
  await page.getByRole("button", { name: "Create", exact: true }).click()
  await page
    .getByRole("dialog")
    .getByText(/at most|200/)
    .first()
    .waitFor()
  await assertHarmless("token form")
})

test("the panel of uploads shows hostile names as text", options, async () => {
  await page.goto(`${server.baseUrl}/ui/files`)
  const input = page.locator("input[type=file][multiple]")
  await input.waitFor({ state: "attached" })
  const names = [markup.replaceAll("/", ""), reversing, "y".repeat(255), "\u0007bell", "z".repeat(256)]
  const files = names.map((name) => ({ name, mimeType: "text/plain", buffer: Buffer.from("x") }))
  await input.setInputFiles(files)
  await page.getByRole("link", { name: markup }).waitFor()
  // The second time, each of them exists, and one has a name that is too long.
  await input.setInputFiles(files)
  await page.getByText("A file of this name exists.").first().waitFor()
  await page.getByText(reversing.replace("\u202e", "\ufffd")).first().waitFor()
  await assertHarmless("uploads")
})

test("pages of the gateway show nothing of a hostile address", options, async () => {
  const run = await admin.startRun({ body: { ProjectID: project } })
  const paths = [`?q=${encodeURIComponent(markup)}`, encodeURIComponent(`${markup}${reversing}`), `x?${"y".repeat(5_000)}`]
  const other = await page.context().browser()?.newPage()
  assert.ok(other)
  for (const path of paths) {
    await other.goto(run.URL + path)
    const body = await other.content()
    assert.ok(!body.includes("<img src=x"), path)
    assert.equal(await other.evaluate(() => (globalThis as { wasRun?: number }).wasRun), undefined)
  }
  await other.goto(new URL(`/${encodeURIComponent(markup)}`, run.URL).href)
  const sign = await other.locator(".brand svg").boundingBox()
  assert.ok(sign && sign.height > 16, "a refusal has the product's sign")
  assert.equal(await other.locator("main img").count(), 0)
  await other.close()
  await admin.stopRun({ query: { ID: run.ID } })
})

interface LaidOut {
  /** Characters of the longest block: Chromium's time grows with their square. */
  longest: number
  /** Characters of the blocks and fields that are laid out whether somebody sees them or not. */
  unskipped: number
}

/** The work of the browser for the texts of an open page. */
function laidOut(tab: Page): Promise<LaidOut> {
  return tab.evaluate(() => {
    const lengths = new Map<Element, number>()
    const isBlock = (element: Element) => !getComputedStyle(element).display.startsWith("inline")
    const add = (from: Element, length: number) => {
      let block = from
      while (block.parentElement && !isBlock(block)) block = block.parentElement
      lengths.set(block, (lengths.get(block) ?? 0) + length)
    }
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
    for (let text = texts.nextNode(); text; text = texts.nextNode())
      if (text.parentElement) add(text.parentElement, text.nodeValue?.length ?? 0)
    for (const field of document.querySelectorAll("textarea")) lengths.set(field, field.value.length)
    const isSkipped = (element: Element | null): boolean =>
      element !== null && (getComputedStyle(element).contentVisibility === "auto" || isSkipped(element.parentElement))
    const unskipped = [...lengths].filter(([block]) => !isSkipped(block)).reduce((sum, [, length]) => sum + length, 0)
    return { longest: Math.max(...lengths.values()), unskipped }
  })
}

const fewCharacters = 20_000

test("output that changes its direction at each letter does not stop its page", options, async () => {
  const { ID: ImageID } = await admin.createImage({ body: { Name: "Prints", Image: "fake/http" } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "Prints", Type: "http", ImageID } })
  const run = await admin.startRun({ body: { ProjectID } })
  const line = encodeURIComponent("\u05d0b".repeat(500))
  const as = basicAuth("admin", server.password)
  const print = () => sendRequest(server.appsUrl, "GET", `/run/${run.ID}/log/${line}`, { as })
  await eventually("the program answers", async () => (await print()).status === 200)
  for (let round = 0; round < 130; round += 1) await Promise.all(Array.from({ length: 15 }, print))
  const tab = await page.context().newPage()
  await tab.goto(`${server.baseUrl}/ui/runs/${run.ID}?tab=logs`)
  await tab.getByText("\u05d0b\u05d0b").first().waitFor()
  const { longest, unskipped } = await laidOut(tab)
  await tab.close()
  await admin.stopRun({ query: { ID: run.ID } })
  assert.ok(longest <= fewCharacters && unskipped <= fewCharacters, `${longest} in a block, ${unskipped} unskipped`)
})

test("texts that change their direction at each letter stop no page", options, async () => {
  const tab = await page.context().newPage()
  const text = "\u05d0b".repeat(80_000)
  const lines = "\u05d0b".repeat(500)
  const notebook = {
    cells: [
      { cell_type: "raw", source: text },
      { cell_type: "code", source: "", outputs: [{ text: `${lines}\n`.repeat(500) }] },
    ],
  }
  const files = {
    "text.txt": text,
    "lines.txt": `${lines}\n`.repeat(150),
    "table.csv": text,
    "text.md": `${lines} `.repeat(150),
    "text.ipynb": JSON.stringify(notebook),
  }
  const as = basicAuth("admin", server.password)
  for (const [name, body] of Object.entries(files))
    await sendRequest(server.filesUrl, "PUT", `/users/admin/${name}`, { as, body: Buffer.from(body) })
  await admin.updateProject({ body: { ID: project, Doc: text } })
  const found: Record<string, LaidOut> = {}
  const paths = [
    `projects/${project}`,
    `projects/${project}/edit`,
    ...Object.keys(files).map((name) => `files?path=/users/admin&file=${name}`),
  ]
  for (const path of paths) {
    await tab.goto(`${server.baseUrl}/ui/${path}`)
    await tab.getByText("\u05d0b\u05d0b").first().waitFor()
    found[path] = await laidOut(tab)
  }
  await tab.close()
  const isLittle = ({ longest, unskipped }: LaidOut) => longest <= fewCharacters && unskipped <= fewCharacters
  assert.ok(Object.values(found).every(isLittle), JSON.stringify(found))
})
