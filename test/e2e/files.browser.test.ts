import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { Browser, Download, Page } from "playwright-core"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { mayMount, mount } from "../fixtures/mount.ts"
import { type ServerProcess, startServerProcess } from "../server-process.ts"
import { freshContext, openBrowser, signIn } from "./browser.ts"

let server: ServerProcess
let browser: Browser & AsyncDisposable
before(async () => {
  server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  browser = await openBrowser()
})
after(async () => {
  await browser?.[Symbol.asyncDispose]()
  await server?.[Symbol.asyncDispose]()
})

const timeout = 120_000
const home = () => join(server.directory, "data/files/users/admin")

async function openFiles(path: string): Promise<Page> {
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${server.baseUrl}/ui/files?path=${encodeURIComponent(path)}`)
  await signIn(page, server.password)
  return page
}

/** The next download of this tab, or of one that it opens. */
function nextDownload(page: Page): Promise<Download> {
  return new Promise((resolve) => {
    page.on("download", resolve)
    page.context().on("page", (tab) => tab.on("download", resolve))
  })
}

/** An empty page as a PDF. */
const onePage = `%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj
3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj
trailer<</Root 1 0 R>>`

function put(path: string, body: string | Buffer<ArrayBuffer>): Promise<Response> {
  return fetch(server.filesUrl + path, { method: "PUT", body, headers: { authorization: basicAuth("admin", server.password) } })
}

test("a person uploads a folder, downloads it as a zip, renames and deletes", { timeout }, async () => {
  const local = join(server.directory, "local/photos")
  mkdirSync(join(local, "deep"), { recursive: true })
  for (let i = 0; i < 12; i += 1) writeFileSync(join(local, `p${i}.txt`), `photo ${i}`)
  writeFileSync(join(local, "deep/large.bin"), Buffer.alloc(20 * 2 ** 20, "0123456789"))
  const page = await openFiles("/users/admin")
  await page.getByText("This folder is empty.").waitFor()
  await page.getByLabel("Upload a folder").setInputFiles(local)
  await page.getByText("All files are uploaded.").waitFor()
  await page.getByRole("link", { name: "photos" }).waitFor()
  assert.equal(readFileSync(join(home(), "photos/deep/large.bin")).length, 20 * 2 ** 20)
  const download = nextDownload(page)
  await page.getByLabel("Actions for photos").click()
  await page.getByRole("menuitem", { name: "Download as zip" }).click()
  const saved = await download
  const archive = join(server.directory, "photos.zip")
  await saved.saveAs(archive)
  assert.equal(saved.suggestedFilename(), "photos.zip")
  assert.match(execFileSync("unzip", ["-p", archive, "photos/p7.txt"]).toString(), /^photo 7$/)
  await page.getByLabel("Actions for photos").click()
  await page.getByRole("menuitem", { name: "Rename" }).click()
  await page.getByLabel("Name", { exact: true }).fill("pictures")
  await page.getByRole("dialog").getByRole("button", { name: "Rename" }).click()
  await page.getByRole("link", { name: "pictures" }).click()
  await page.getByRole("link", { name: "deep" }).waitFor()
  await page.getByLabel("Choose all").check()
  await page.getByRole("button", { name: "Delete" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Delete" }).click()
  await page.getByText("This folder is empty.").waitFor()
})

test("entries move to another folder, and back by the note that tells of it", { timeout }, async () => {
  for (const folder of ["from", "to"])
    await fetch(`${server.filesUrl}/users/admin/${folder}`, {
      method: "MKCOL",
      headers: { authorization: basicAuth("admin", server.password) },
    })
  for (const name of ["a", "b"]) await put(`/users/admin/from/${name}.txt`, name)
  const page = await openFiles("/users/admin/from")
  await page.getByLabel("Choose all").check()
  await page.getByRole("button", { name: "Move", exact: true }).click()
  const folders = page.getByRole("list", { name: "Folders" })
  await folders.getByRole("button", { name: "The folder above" }).click()
  await folders.getByRole("button", { name: "to", exact: true }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Move" }).click()
  await page.getByText("This folder is empty.").waitFor()
  assert.equal(readFileSync(join(home(), "to/b.txt"), "utf8"), "b")
  await page.getByRole("button", { name: "Undo" }).click()
  await page.getByRole("link", { name: "b.txt" }).waitFor()
  assert.equal(readFileSync(join(home(), "from/a.txt"), "utf8"), "a")
})

test("the address holds the words and the order of a folder, and the browser goes back through them", { timeout }, async () => {
  await fetch(`${server.filesUrl}/users/admin/sorted`, {
    method: "MKCOL",
    headers: { authorization: basicAuth("admin", server.password) },
  })
  for (const [name, size] of [
    ["small.txt", 1],
    ["large.txt", 100],
    ["other.csv", 50],
  ] as const)
    await put(`/users/admin/sorted/${name}`, "x".repeat(size))
  const page = await openFiles("/users/admin/sorted")
  const names = page.getByRole("table").getByRole("link")
  await names.first().waitFor()
  await page.getByRole("button", { name: "Sort by Size" }).click()
  await page.waitForURL(/sort=-size/)
  assert.deepEqual(await names.allTextContents(), ["large.txt", "other.csv", "small.txt"])
  await page.getByLabel("Search in this folder").fill("txt")
  await page.waitForURL(/q=txt/)
  await page.getByRole("link", { name: "other.csv" }).waitFor({ state: "detached" })
  await page.reload()
  await names.first().waitFor()
  assert.deepEqual(await names.allTextContents(), ["large.txt", "small.txt"])
  await page.getByRole("link", { name: "large.txt" }).click()
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click()
  await page.waitForURL(/q=txt/)
  await page.goBack()
  await page.goBack()
  await page.waitForURL((url) => !url.search.includes("sort="))
  await page.getByRole("link", { name: "other.csv" }).waitFor()
})

test("a move to a name that exists says so, and the rest goes elsewhere", { timeout }, async () => {
  for (const folder of ["full", "full/there", "elsewhere"])
    await fetch(`${server.filesUrl}/users/admin/${folder}`, {
      method: "MKCOL",
      headers: { authorization: basicAuth("admin", server.password) },
    })
  for (const name of ["full/c.txt", "full/d.txt", "full/there/d.txt"]) await put(`/users/admin/${name}`, name)
  const page = await openFiles("/users/admin/full")
  for (const name of ["c.txt", "d.txt"]) await page.getByLabel(`Choose ${name}`).check()
  await page.getByRole("button", { name: "Move", exact: true }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("Folder to move to").fill("/users/admin/full/there")
  await dialog.getByRole("button", { name: "Move" }).click()
  await dialog.getByText("There is already an entry named d.txt.").waitFor()
  await dialog.getByLabel("Folder to move to").fill("/users/admin/elsewhere")
  await dialog.getByRole("button", { name: "Move" }).click()
  await dialog.waitFor({ state: "detached" })
  assert.equal(readFileSync(join(home(), "full/there/c.txt"), "utf8"), "full/c.txt")
  assert.equal(readFileSync(join(home(), "elsewhere/d.txt"), "utf8"), "full/d.txt")
  assert.equal(readFileSync(join(home(), "full/there/d.txt"), "utf8"), "full/there/d.txt")
})

test("a file that exists is replaced only when the person says so", { timeout }, async () => {
  await put("/users/admin/taken.txt", "theirs")
  const page = await openFiles("/users/admin")
  await page.getByRole("link", { name: "taken.txt", exact: true }).waitFor()
  await page.getByLabel("Upload files").setInputFiles({ name: "taken.txt", mimeType: "text/plain", buffer: Buffer.from("mine") })
  await page.getByText("A file of this name exists.").waitFor()
  assert.equal(readFileSync(join(home(), "taken.txt"), "utf8"), "theirs")
  await page.getByRole("button", { name: "Replace it" }).click()
  await page.getByText("All files are uploaded.").waitFor()
  assert.equal(readFileSync(join(home(), "taken.txt"), "utf8"), "mine")
})

test("a hostile name and hostile content are shown as text", { timeout }, async () => {
  const name = "<img src=x onerror=globalThis.hit=1>.csv"
  await put(`/users/admin/${encodeURIComponent(name)}`, "a,<script>globalThis.hit=1</script>\n1,2")
  const page = await openFiles("/users/admin")
  await page.getByRole("link", { name, exact: true }).click()
  await page.getByRole("dialog").getByText("<script>globalThis.hit=1</script>").waitFor()
  assert.equal(await page.evaluate("globalThis.hit"), undefined)
})

test("Markdown and notebooks are drawn, with the images of their folder, and run nothing", { timeout }, async () => {
  const pixel = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64")
  const text = "# A heading\n\n![dot](dot.png)\n\n<script>globalThis.hit=1</script>\n\n[bad](javascript:globalThis.hit=1)"
  const cells = [
    { cell_type: "markdown", source: text },
    { cell_type: "code", source: "import json", outputs: [{ output_type: "stream", text: "<b>printed</b>" }] },
  ]
  for (const [name, body] of [
    ["dot.png", pixel],
    ["read me.md", text],
    ["work.ipynb", JSON.stringify({ cells, metadata: {}, nbformat: 4 })],
  ] as const)
    await put(`/users/admin/${encodeURIComponent(name)}`, body)
  const page = await openFiles("/users/admin")
  const dialog = page.getByRole("dialog")
  for (const name of ["read me.md", "work.ipynb"]) {
    await page.getByRole("link", { name, exact: true }).click()
    await dialog.getByRole("heading", { name: "A heading" }).waitFor()
    await page.waitForFunction(() => document.querySelector<HTMLImageElement>("dialog img, [role=dialog] img")?.naturalWidth === 1)
    await dialog.getByText("<script>globalThis.hit=1</script>").waitFor()
    assert.equal(await dialog.locator("a").count(), 0)
    if (name === "work.ipynb") {
      await dialog.locator(".hljs-keyword", { hasText: "import" }).waitFor()
      await dialog.getByText("<b>printed</b>").waitFor()
    }
    await dialog.getByLabel("Close").click()
  }
  assert.equal(await page.evaluate("globalThis.hit"), undefined)
})

test("home leads back to the files that a person used, until they sign out", { timeout }, async () => {
  await put("/users/admin/used <b>before.txt", "used before")
  await put("/users/admin/gone.txt", "not for long")
  const page = await openFiles("/users/admin")
  for (const name of ["gone.txt", "used <b>before.txt"]) {
    await page.getByRole("link", { name, exact: true }).click()
    await page.getByRole("dialog").getByLabel("Close").click()
  }
  await page.getByLabel("Upload files").setInputFiles({ name: "sent.txt", mimeType: "text/plain", buffer: Buffer.from("sent") })
  await page.getByText("All files are uploaded.").waitFor()
  await page.getByRole("link", { name: "Home", exact: true }).click()
  const recent = page.locator("section", { has: page.getByRole("heading", { name: "Recent files" }) })
  await recent.locator("li a").first().waitFor()
  assert.deepEqual(await recent.locator("li a").allTextContents(), ["sent.txt", "used <b>before.txt", "gone.txt"])
  await recent.getByRole("link", { name: "used <b>before.txt" }).click()
  await page.getByRole("dialog").getByText("used before").waitFor()
  await page.reload()
  await page.getByRole("dialog").getByText("used before").waitFor()
  await page.getByRole("dialog").getByLabel("Close").click()
  rmSync(join(home(), "gone.txt"))
  await page.goto(`${server.baseUrl}/ui/`)
  await recent.getByRole("link", { name: "gone.txt" }).click()
  await page.getByText("There is no file “gone.txt” here any more.").waitFor()
  await page.getByRole("button", { name: "admin" }).click()
  await page.getByRole("menuitem", { name: "Sign out", exact: true }).click()
  await page.waitForURL(/sign-in/)
  await signIn(page, server.password)
  await page.getByText("Files that you open or upload in this browser appear here.").waitFor()
})

test("a Parquet table shows its first rows, and a PDF the browser's own viewer", { timeout }, async () => {
  await put("/users/admin/table.parquet", readFileSync(new URL("../fixtures/files/small.parquet", import.meta.url)))
  await put("/users/admin/page.pdf", onePage)
  const page = await openFiles("/users/admin")
  const errors: string[] = []
  page.on("console", (message) => message.type() === "error" && errors.push(message.text()))
  await page.getByRole("link", { name: "table.parquet", exact: true }).click()
  const dialog = page.getByRole("dialog")
  await dialog.getByRole("cell", { name: "<b>2" }).first().waitFor()
  await dialog.getByText("200 of 300 rows, 2 of 2 columns").waitFor()
  await dialog.getByLabel("Close").click()
  await page.getByRole("link", { name: "page.pdf", exact: true }).click()
  // Browsers without a viewer say so; which one Debian's is depends on its build.
  if (await page.evaluate("navigator.pdfViewerEnabled")) {
    const frame = await (await dialog.locator("iframe").elementHandle())?.contentFrame()
    assert.ok(frame)
    await frame.waitForLoadState()
  } else await dialog.getByText("This browser shows no PDF").waitFor()
  assert.deepEqual(errors, [])
})

test("a page of another origin reads nothing at the files address", { timeout }, async () => {
  await put("/users/admin/private.txt", "secret")
  const page = await openFiles("/users/admin")
  await page.getByRole("link", { name: "private.txt", exact: true }).waitFor()
  const own = await tryFetches(page)
  assert.deepEqual(own, { cookie: "401", token: "secret" })
  const hostile = createServer((_request, response) => response.setHeader("content-type", "text/html").end("<h1>elsewhere</h1>"))
  await new Promise<void>((resolve) => hostile.listen(0, "127.0.0.1", resolve))
  try {
    const origins = [`http://localhost:${(hostile.address() as AddressInfo).port}`, server.appsUrl]
    for (const origin of origins) {
      const other = await page.context().newPage()
      await other.goto(`${origin}/`)
      assert.deepEqual(await tryFetches(other), { cookie: "unreadable", token: "unreadable" }, origin)
    }
  } finally {
    hostile.closeAllConnections()
    await new Promise((resolve) => hostile.close(resolve))
  }
})

test("a large upload goes on where it was when the server comes back", { timeout }, async () => {
  const { local, content } = largeFile("cut.bin")
  const page = await openFiles("/users/admin")
  await page.getByText("Upload", { exact: true }).waitFor()
  const offsets: string[] = []
  page.on("request", (request) => {
    if (request.method() === "PATCH") offsets.push(request.headers()["upload-offset"] ?? "")
  })
  const slow = await slowDown(page)
  await page.getByLabel("Upload files").setInputFiles(local)
  await page.getByText(/^[4-9].*MiB of 32 MiB$/).waitFor()
  await server.kill("SIGKILL")
  await slow[Symbol.asyncDispose]()
  await server.start()
  await page.getByText("All files are uploaded.").waitFor()
  assert.ok(readFileSync(join(home(), "cut.bin")).equals(content))
  assert.equal(offsets[0], "0")
  assert.ok(Number(offsets.at(-1)) > 2 ** 20, offsets.join())
})

test("an upload goes on while one looks at another page, which shows that and asks before it is left", { timeout }, async () => {
  const { local, content } = largeFile("elsewhere.bin")
  const page = await openFiles("/users/admin")
  await page.getByText("Upload", { exact: true }).waitFor()
  const slow = await slowDown(page)
  await page.getByLabel("Upload files").setInputFiles(local)
  await page.getByText(/^[1-9].*MiB of 32 MiB$/).waitFor()
  await page.getByRole("link", { name: "History" }).click()
  await page.getByRole("heading", { name: "History" }).waitFor()
  const count = page.getByRole("link", { name: "Files 0 of 1" })
  await count.waitFor()
  const asked = page.waitForEvent("dialog")
  await page.evaluate(() => void setTimeout(() => location.reload()))
  const dialog = await asked
  assert.equal(dialog.type(), "beforeunload")
  await dialog.dismiss()
  await slow[Symbol.asyncDispose]()
  await count.waitFor({ state: "detached" })
  assert.ok(readFileSync(join(home(), "elsewhere.bin")).equals(content))
})

test("a file that changes during its upload is reported, and its new content replaces the old", { timeout }, async () => {
  const { local } = largeFile("edited.bin")
  const page = await openFiles("/users/admin")
  await page.getByText("Upload", { exact: true }).waitFor()
  const slow = await slowDown(page)
  await page.getByLabel("Upload files").setInputFiles(local)
  await page.getByText(/^[1-9].*MiB of 32 MiB$/).waitFor()
  writeFileSync(local, "new content")
  await page.getByText("The file changed on your computer").waitFor()
  await slow[Symbol.asyncDispose]()
  await page.getByRole("button", { name: "Leave out" }).click()
  await page.getByLabel("Upload files").setInputFiles(local)
  await page.getByText("All files are uploaded.").waitFor()
  assert.equal(readFileSync(join(home(), "edited.bin"), "utf8"), "new content")
})

test("a file beyond a person's storage says so and is tried again by itself, while the others go on", { timeout }, async () => {
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { ID } = await admin.createUser({ body: { UserName: "hoarder", Password: "hoarder-password", Limits: { MaxStorage: 1 } } })
  const page = await (await freshContext(browser)).newPage()
  await page.goto(`${server.baseUrl}/ui/files`)
  await page.getByLabel("User name").fill("hoarder")
  await page.getByLabel("Password").fill("hoarder-password")
  await page.getByRole("button", { name: "Sign in" }).click()
  await page.getByText("This folder is empty.").waitFor()
  const small = Array.from({ length: 8 }, (_, i) => ({ name: `small-${i}.txt`, mimeType: "", buffer: Buffer.from("small") }))
  const much = { name: "much.bin", mimeType: "", buffer: Buffer.alloc(3 * 2 ** 20) }
  await page.getByLabel("Upload files").setInputFiles([much, ...small])
  const refusal = page.getByRole("listitem").filter({ hasText: "much.bin" })
  await refusal.getByText(/hoarder may store 1 MiB.*Delete files, or ask an administrator for more\./).waitFor()
  await page.getByText("8 of 9 files").waitFor()
  await admin.updateUser({ body: { ID, Limits: { MaxStorage: 100 } } })
  const again = refusal.getByRole("button", { name: "Try again" })
  const done = page.getByText("All files are uploaded.")
  // The file server asks for a person's limits every few seconds.
  const isDone = async () => {
    if (await again.isVisible()) await again.click()
    return done.isVisible()
  }
  await eventually("the new limit is known", isDone, 60_000)
  assert.equal(statSync(join(home(), "../hoarder/much.bin")).size, 3 * 2 ** 20)
})

test("an upload onto a full disk says so, and goes on once there is room", {
  timeout,
  skip: !mayMount() && "no right to mount",
}, async () => {
  const folder = join(home(), "small-disk")
  const { uid, gid } = statSync(home())
  const unmount = mount(folder, { size: "16m", uid, gid })
  try {
    writeFileSync(join(folder, "filler.bin"), Buffer.alloc(12 * 2 ** 20))
    const page = await openFiles("/users/admin/small-disk")
    await page.getByRole("link", { name: "filler.bin" }).waitFor()
    await page.getByLabel("Upload files").setInputFiles({ name: "new.bin", mimeType: "", buffer: Buffer.alloc(6 * 2 ** 20) })
    await page
      .getByRole("listitem")
      .getByText(/full|no room/)
      .first()
      .waitFor()
    rmSync(join(folder, "filler.bin"))
    await page.getByRole("button", { name: "Try again" }).click()
    await page.getByText("All files are uploaded.").waitFor()
    assert.equal(statSync(join(folder, "new.bin")).size, 6 * 2 ** 20)
    await page.context().close()
  } finally {
    unmount()
  }
})

test("a large file reaches a folder that has a file system of its own", { timeout, skip: !mayMount() && "no right to mount" }, async () => {
  const { local, content } = largeFile("elsewhere.bin")
  const folder = join(home(), "disk")
  const { uid, gid } = statSync(home())
  const unmount = mount(folder, { size: "64m", uid, gid })
  try {
    const page = await openFiles("/users/admin/disk")
    await page.getByText("This folder is empty.").waitFor()
    const methods: string[] = []
    page.on("request", (request) => methods.push(request.method()))
    await page.getByLabel("Upload files").setInputFiles(local)
    await page.getByText("All files are uploaded.").waitFor()
    assert.ok(readFileSync(join(folder, "elsewhere.bin")).equals(content))
    assert.deepEqual([methods.includes("PUT"), methods.includes("PATCH")], [true, false])
  } finally {
    unmount()
  }
})

function largeFile(name: string): { local: string; content: Buffer } {
  mkdirSync(join(server.directory, "local"), { recursive: true })
  const local = join(server.directory, "local", name)
  const content = Buffer.alloc(32 * 2 ** 20, name)
  writeFileSync(local, content)
  return { local, content }
}

/** Lets the page send 4 MiB a second until the result is disposed of. */
async function slowDown(page: Page): Promise<AsyncDisposable> {
  const session = await page.context().newCDPSession(page)
  const set = (uploadThroughput: number) =>
    session.send("Network.emulateNetworkConditions", { offline: false, latency: 0, downloadThroughput: -1, uploadThroughput })
  await set(4 * 2 ** 20)
  return {
    async [Symbol.asyncDispose]() {
      await set(-1)
    },
  }
}

/**
 * The result of reading a private file from a page, with the browser's cookies and with a valid
 * token.
 */
async function tryFetches(page: Page): Promise<{ cookie: string; token: string }> {
  const created = await page.context().request.post(`${server.baseUrl}/files-token`, { headers: { origin: server.baseUrl } })
  const { Token } = (await created.json()) as { Token: string }
  return page.evaluate(
    async ({ url, token }) => {
      const read = (init: RequestInit) =>
        fetch(url, init).then(
          async (response) => (response.ok ? response.text() : String(response.status)),
          () => "unreadable",
        )
      return {
        cookie: await read({ credentials: "same-origin" }),
        token: await read({ headers: { authorization: `Bearer ${token}` } }),
      }
    },
    { url: `${server.filesUrl}/users/admin/private.txt`, token: Token },
  )
}
