import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { crc32, deflateSync } from "node:zlib"
import type { Page } from "playwright-core"
import type { Data } from "#contract"
import { adminPassword, startTestServer, type TestServer } from "../test-server.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

/** The tests of the file share one server and one page, and each works on objects of its own. */
let shared: { server: TestServer; page: Page; url: (path: string) => string }

before(async () => {
  const server = await startTestServer()
  const browser = await openBrowser()
  const page = await (await freshContext(browser)).newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(server.quayside.baseUrl)
  await signIn(page, adminPassword)
  await page.getByRole("heading", { name: "Home", level: 1, exact: true }).waitFor()
  shared = { server, page, url: (path) => `${server.quayside.baseUrl}${path}` }
})
after(async () => {
  await shared.page.context().browser()?.close()
  await shared.server[Symbol.asyncDispose]()
})

const options = { timeout: 120_000 }

/** A PNG of one pixel. */
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

async function chooseAction(page: Page, name: string): Promise<void> {
  await page.getByRole("button", { name: "More actions" }).click()
  await page.getByRole("menuitem", { name }).click()
}

async function readDataset(ID: number): Promise<Data> {
  return (await shared.server.admin.listData({ query: { ID } })) as Data
}

async function newProject(ProjectName: string, DataID?: number): Promise<number> {
  const { admin } = shared.server
  const image = await admin.createImage({ body: { Name: `image of ${ProjectName}`, Image: "fake/http" } })
  const TrainData = DataID === undefined ? [] : [{ ID: DataID }]
  return (await admin.createProject({ body: { ProjectName, Type: "http", ImageID: image.ID, TrainData } })).ID
}

test("a dataset is created, edited, published, deleted and restored", options, async () => {
  const { page, url } = shared
  await page.goto(url("/ui/datasets/new"))
  await page.getByLabel("Name", { exact: true }).fill("Spectra")
  await page.getByLabel("Folder").fill("not a path")
  await page.getByRole("button", { name: "Create" }).click()
  await page.locator(".field-error", { hasText: "This must" }).waitFor()
  assert.equal(await page.getByLabel("Name", { exact: true }).inputValue(), "Spectra")
  await page.getByLabel("Folder").fill("")
  await page.getByRole("button", { name: "Create" }).click()
  await page.getByRole("heading", { name: "Spectra", level: 1, exact: true }).waitFor()
  const ID = Number(page.url().split("/").at(-1))
  await page.getByRole("link", { name: "Edit" }).click()
  await page.getByLabel("Description").fill("**Lines** of iron")
  await page.getByRole("button", { name: "Save" }).click()
  await page.locator("strong", { hasText: "Lines" }).waitFor()
  await chooseAction(page, "Publish")
  await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click()
  await page.getByText("Published", { exact: true }).first().waitFor()
  assert.equal((await readDataset(ID)).IsPublished, true)
  await chooseAction(page, "Delete")
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
  await page.waitForURL(/show=bin/)
  const row = page.getByRole("row", { name: /Spectra/ })
  await row.getByRole("button", { name: "Restore" }).click()
  await page.getByRole("cell", { name: "Spectra", exact: true }).waitFor({ state: "detached" })
  assert.equal((await readDataset(ID)).DeletedAt, null)
})

test("two editors of one dataset see both descriptions, and each keeps the text", options, async () => {
  const { page, server, url } = shared
  const { ID } = await server.admin.createData({ body: { Name: "Shared words" } })
  const other = await page.context().newPage()
  for (const [each, text] of [
    [page, "text of the first"],
    [other, "text of the second"],
  ] as const) {
    await each.goto(url(`/ui/datasets/${ID}/edit`))
    await each.getByLabel("Description").fill(text)
  }
  await other.getByRole("button", { name: "Save" }).click()
  await other.getByRole("heading", { name: "Shared words", level: 1, exact: true }).waitFor()
  await page.bringToFront()
  const conflict = page.getByRole("region", { name: "Description" })
  await conflict.getByText("text of the second").waitFor()
  await conflict.getByText("text of the first").waitFor()
  assert.equal(await page.getByRole("button", { name: "Save" }).isDisabled(), true)
  assert.equal((await readDataset(ID)).Doc, "text of the second")
  await conflict.getByRole("button", { name: "Keep yours" }).click()
  await page.getByRole("button", { name: "Save" }).click()
  await page.getByRole("heading", { name: "Shared words", level: 1, exact: true }).waitFor()
  assert.equal((await readDataset(ID)).Doc, "text of the first")
  await other.close()
})

test("publishing a project names the parts that others may not use; a copy is one's own; a release is confirmed", options, async () => {
  const { page, server, url } = shared
  const data = await server.admin.createData({ body: { Name: "private notes" } })
  const ID = await newProject("Lecture", data.ID)
  await page.goto(url(`/ui/projects/${ID}`))
  await chooseAction(page, "Publish")
  await page.getByRole("dialog").getByRole("button", { name: "Publish" }).click()
  const warning = page.getByRole("dialog").filter({ hasText: "Other people may have trouble with it" })
  await warning.getByText(/"private notes", is not shared/).waitFor()
  await page.keyboard.press("Escape")
  await warning.waitFor({ state: "detached" })
  const code = (path: string) => join(server.dataDir, "files/users/admin/projects", String(ID), path)
  mkdirSync(code("code"), { recursive: true })
  writeFileSync(code("code/exercise.py"), "print(42)\n")
  await chooseAction(page, "Release code")
  await page.getByRole("dialog").getByRole("button", { name: "Release code" }).click()
  await page.getByText("Your code is released.").waitFor()
  await chooseAction(page, "Copy")
  await page.getByText(/The copy “.*” is yours\./).waitFor()
  await page.waitForURL((at) => /\/projects\/\d+$/.test(at.pathname) && !at.pathname.endsWith(`/${ID}`))
  const copied = Number(page.url().split("/").at(-1))
  const copy = await server.admin.readProject({ query: { ID: copied } })
  assert.deepEqual([copy.ProjectName, copy.IsPublic], ["Lecture", false])
})

/** A PNG without content, of a bit for each pixel. */
function emptyImage(width: number, height: number): Buffer {
  const chunk = (type: string, data: Buffer) => {
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(Buffer.concat([Buffer.from(type), data])))
    return Buffer.concat([length, Buffer.from(type), data, sum])
  }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.writeUInt8(1, 8)
  const rows = deflateSync(Buffer.alloc((1 + Math.ceil(width / 8)) * height))
  const signature = Buffer.from("89504e470d0a1a0a", "hex")
  return Buffer.concat([signature, chunk("IHDR", head), chunk("IDAT", rows), chunk("IEND", Buffer.alloc(0))])
}

test("a description shows coloured code, formulas and images of its dataset, and runs nothing", options, async () => {
  const { page, server, url } = shared
  const { ID, AccessInfo } = await server.admin.createData({ body: { Name: "With figures" } })
  const directory = join(server.dataDir, "files", AccessInfo)
  mkdirSync(join(directory, "figures"), { recursive: true })
  writeFileSync(join(directory, "figures/dot.png"), Buffer.from(onePixel, "base64"))
  writeFileSync(join(directory, "figures/sheet.png"), emptyImage(8_000, 8_001))
  const Doc = [
    "```python\nimport os  # <img src=x onerror=globalThis.hacked=1>\n```",
    "The mass $m_0 < \\frac{E}{c^2}$, and $\\href{javascript:globalThis.hacked=1}{x}$ $\\includegraphics{https://elsewhere.example/p.png}$",
    "$$\\def\\a{\\b\\b}\\def\\b{\\a\\a}\\a$$",
    "![A dot](figures/dot.png) ![A sheet](figures/sheet.png) ![Elsewhere](https://elsewhere.example/pixel.png) ![Outside](../dot.png)",
  ].join("\n\n")
  await server.admin.updateData({ body: { ID, Doc } })
  const elsewhere: string[] = []
  page.on("request", (request) => request.url().includes("elsewhere.example") && elsewhere.push(request.url()))
  await page.goto(url(`/ui/datasets/${ID}`))
  await page.locator(".hljs-keyword", { hasText: "import" }).waitFor()
  await page.locator("math mfrac").waitFor()
  const image = page.getByRole("img", { name: "A dot" })
  await image.waitFor()
  assert.equal(await image.evaluate((element) => (element as HTMLImageElement).naturalWidth), 1)
  await page.getByText("A sheet: an image of more than 64 megapixels is not shown.").waitFor()
  await page.getByRole("link", { name: "Elsewhere" }).waitFor()
  await page.getByRole("link", { name: "Outside" }).waitFor()
  assert.deepEqual(
    [elsewhere, await page.evaluate("globalThis.hacked"), await page.locator("math a, math [href]").count()],
    [[], undefined, 0],
  )
})

test("the history is filtered by its address, and the filters write the address", options, async () => {
  const { page, server, url } = shared
  const olga = await server.person("olga")
  const image = await server.admin.createImage({ body: { Name: "fails", Image: "fake/oom", IsPublished: true } })
  const mine = await newProject("Runs and ends")
  await server.admin.startRun({ body: { ProjectID: mine } })
  await server.admin.stopRun({ query: { ProjectID: mine } })
  const hers = await olga.client.createProject({ body: { ProjectName: "Fails at once", Type: "http", ImageID: image.ID } })
  await assert.rejects(olga.client.startRun({ body: { ProjectID: hers.ID } }))
  const shows = (name: string) => page.getByRole("cell", { name }).first().waitFor()
  const hides = (name: string) => page.getByRole("cell", { name }).waitFor({ state: "detached" })
  await page.goto(url("/ui/history?state=failed"))
  await shows("Fails at once")
  await hides("Runs and ends")
  await page.getByLabel("State").click()
  await page.getByRole("option", { name: "All that have ended" }).click()
  await shows("Runs and ends")
  await page.getByLabel("User name of a person").fill("admin")
  await page.waitForURL(/person=admin/)
  await hides("Fails at once")
  await shows("Runs and ends")
  await page.goto(url(`/ui/history?project=${hers.ID}`))
  await shows("Fails at once")
  await hides("Runs and ends")
  await page.getByRole("button", { name: `Only project ${hers.ID}` }).click()
  await shows("Runs and ends")
})
