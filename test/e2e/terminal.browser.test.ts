import assert from "node:assert/strict"
import { join } from "node:path"
import { after, before, test } from "node:test"
import type { Page } from "playwright-core"
import { openShell } from "#channel"
import { basicAuth } from "#client"
import type { RunningProject } from "#contract"
import { connectTo } from "../control/control-client.ts"
import { eventually } from "../fixtures/eventually.ts"
import { adminPassword, type Person, startTestServer, type TestServer } from "../test-server.ts"
import { freshContext, openBrowser } from "./browser.ts"
import { seriousViolations } from "./page-checks.ts"
import { columnsOfShell, paste, shows, type } from "./terminal-page.ts"

/** Directory for pictures of the terminal, written on request only. */
const pictures = process.env.PICTURES_DIR
const hostile = {
  title: "\u001b]0;taken\u0007\u001b]2;taken\u0007",
  clipboard: "\u001b]52;c;dGFrZW4=\u0007",
  link: "\u001b]8;;https://example.org/\u0007link\u001b]8;;\u0007",
  colour: "\u001b[38;2;1;2;3;48;2;250;250;250mdyed\u001b[0m",
  markup: "<img src=x onerror=alert(1)>",
}

async function startRun({ admin }: TestServer) {
  const image = await admin.createImage({ body: { Name: "web", Image: "fake/http" } })
  const project = await admin.createProject({ body: { ProjectName: "Penguins", Type: "http", ImageID: image.ID } })
  return admin.startRun({ body: { ProjectID: project.ID } })
}

async function openSession(page: Page, baseUrl: string, person: { UserName: string; Password: string }): Promise<void> {
  await page.goto(`${baseUrl}/ui/sign-in`)
  const signIn = (body: string) =>
    fetch("/session", { method: "POST", headers: { "content-type": "application/json" }, body }).then((response) => response.status)
  assert.equal(await page.evaluate(signIn, JSON.stringify(person)), 200)
}

/** The page's sockets can be broken, and be kept from opening. */
function controlSockets(): void {
  const wide = globalThis as unknown as { sockets: WebSocket[]; isCut: boolean }
  wide.sockets = []
  globalThis.WebSocket = class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(wide.isCut ? `${url}999` : url, protocols)
      wide.sockets.push(this)
    }
  }
}

let server: TestServer
let browser: Awaited<ReturnType<typeof openBrowser>>
let page: Page
let run: RunningProject
let ann: Person
const complaints: string[] = []

before(async () => {
  server = await startTestServer()
  const { baseUrl } = server.quayside
  run = await startRun(server)
  ann = await server.person("ann")
  await server.acquaint({ userName: "admin" }, ann)
  await server.admin.createGrant({ body: { RunID: run.ID, UserName: "ann", Access: "use" } })
  browser = await openBrowser()
  const context = await freshContext(browser)
  await context.grantPermissions(["clipboard-read", "clipboard-write"], { origin: baseUrl })
  page = await context.newPage()
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()))
  page.on("pageerror", (error) => complaints.push(error.message))
  await page.addInitScript(controlSockets)
  await openSession(page, baseUrl, { UserName: "admin", Password: adminPassword })
})

after(async () => {
  await browser[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

// The tests follow each other on one page.

test("a shell echoes UTF-8 and knows the terminal's size", async () => {
  await page.goto(`${server.quayside.baseUrl}/ui/runs/${run.ID}`)
  await page.getByRole("tab", { name: "Terminal" }).click()
  await shows(page, "$ ")
  await type(page, "echo grüße €😀")
  await shows(page, /\$ echo grüße €😀\s*grüße €😀/)
  const wide = await columnsOfShell(page)
  await page.setViewportSize({ width: 800, height: 900 })
  let narrow = wide
  const isNarrower = async () => {
    narrow = await columnsOfShell(page)
    return narrow < wide - 20
  }
  await eventually("the shell is narrower", isNarrower, 60_000)
  assert.ok(wide > 100 && narrow > 30, `${wide} columns, then ${narrow}`)
  await page.setViewportSize({ width: 1280, height: 1000 })
})

test("output sets neither title nor clipboard, opens nothing, and shows markup as text", async () => {
  const title = await page.title()
  await page.evaluate(() => navigator.clipboard.writeText("mine"))
  const { markup, ...sequences } = hostile
  // The shell echoes what it gets, as a program in a run prints what it likes.
  await type(page, markup)
  for (const sequence of Object.values(sequences)) await paste(page, sequence)
  await shows(page, markup)
  const dyed = page.locator(".xterm-rows span", { hasText: "dyed" }).last()
  // A row that is rendered again meanwhile leaves the page, and has no style then.
  const background = () => dyed.evaluate((span) => getComputedStyle(span).backgroundColor)
  await eventually("the text has its colour", async () => (await background()) === "rgb(250, 250, 250)")
  assert.deepEqual([await page.title(), await page.evaluate(() => navigator.clipboard.readText())], [title, "mine"])
  assert.equal(await page.locator(".xterm-rows img, .xterm a").count(), 0)
  await page.keyboard.press("Control+c")
})

test("a second terminal is another shell, and the keyboard leaves it", async () => {
  await page.getByRole("button", { name: "New terminal" }).click()
  await page.getByRole("tab", { name: "Terminal 2" }).waitFor()
  await shows(page, /^\$\s*$/)
  await page.keyboard.type("echo second")
  await page.keyboard.press("Enter")
  await shows(page, /echo second\s*second/)
  await page.keyboard.press("Tab")
  assert.equal(await page.evaluate(() => document.activeElement?.tagName), "TEXTAREA")
  await page.keyboard.press("Control+Shift+Enter")
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "Terminal 2")
  await page.keyboard.press("ArrowLeft")
  await page.keyboard.press("Enter")
  await shows(page, "grüße")
  assert.deepEqual(await seriousViolations(page), [])
})

test("both return after a reload with what they showed", async () => {
  await page.reload()
  await shows(page, "grüße")
  await page.getByRole("tab", { name: "Terminal 2" }).click()
  await shows(page, /echo second\s*second/)
  await type(page, "echo again")
  await shows(page, /second[\s\S]*echo again\s*again/)
  assert.equal((await server.admin.listAudit({ query: { Action: "run.shell" } })).data.length, 2)
})

test("a lost connection is told, and the terminals return with what was typed meanwhile", async () => {
  await page.evaluate(() => {
    const wide = globalThis as unknown as { sockets: WebSocket[]; isCut: boolean }
    wide.isCut = true
    wide.sockets.at(-1)?.close()
  })
  await page.getByText("The connection was lost.").waitFor()
  await type(page, "echo typed while away")
  // It also tries by itself: a button that works might be gone before the click.
  await page.getByRole("button", { name: "Try again" }).click()
  await page.evaluate(() => ((globalThis as unknown as { isCut: boolean }).isCut = false))
  await page.getByText("The connection was lost.").waitFor({ state: "detached" })
  await shows(page, /typed while away\s*typed while away/)
  await type(page, "echo returned")
  await shows(page, /second[\s\S]*echo returned\s*returned/)
})

test("a question in the output is answered, and not again when it returns after a reload", async () => {
  const sent: string[] = []
  page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => sent.push(payload.toString("latin1"))))
  const answers = () => sent.filter((frame) => /\[\d+;\d+R/.test(frame)).length
  await page.reload()
  await shows(page, "grüße")
  await paste(page, "\u001b[6n")
  await eventually("the place of the cursor is sent", () => answers() === 1)
  await page.keyboard.press("Control+c")
  await type(page, "echo asked")
  await shows(page, /echo asked\s*asked/)
  await page.reload()
  await shows(page, /echo asked\s*asked/)
  await type(page, "echo after")
  await shows(page, /echo after\s*after/)
  assert.equal(answers(), 1)
})

test("a terminal that another window took over returns when asked", async () => {
  const stored = await page.evaluate((key) => sessionStorage.getItem(key), `quayside.terminals.${run.ID}`)
  const [session] = JSON.parse(stored ?? "[]") as string[]
  assert.ok(session)
  using other = await connectTo(run.ControlURL, basicAuth("admin", adminPassword))
  const shell = openShell(other, { session })
  await shell.started
  await page.getByText("Another window shows this terminal now.").waitFor()
  await page.getByRole("button", { name: "Show it here" }).click()
  await assert.rejects(shell.exited, { code: "taken_over" })
  await type(page, "echo mine again")
  await shows(page, /echo mine again\s*mine again/)
})

test("signing out ends the terminals, and new ones open after signing in", async () => {
  await page.evaluate(() => fetch("/session", { method: "DELETE" }))
  await page.getByText("you may no longer control it, or you have signed out").waitFor()
  const dialog = page.getByRole("dialog")
  await dialog.getByLabel("User name").fill("admin")
  await dialog.getByLabel("Password").fill(adminPassword)
  await dialog.getByRole("button", { name: "Sign in" }).click()
  await dialog.waitFor({ state: "detached" })
  await page.getByRole("button", { name: "Try again" }).click()
  await page.getByText("This shell has ended. Open a new terminal.").waitFor()
  await page.getByRole("button", { name: "New terminal" }).click()
  await page.getByRole("tab", { name: "Terminal 3" }).waitFor()
  await type(page, "echo once more")
  await shows(page, /echo once more\s*once more/)
})

test("colours follow the theme", async () => {
  const ground = () => page.locator(".xterm-scrollable-element").evaluate((element) => getComputedStyle(element).backgroundColor)
  for (const [colorScheme, color] of [
    ["light", "rgb(240, 242, 244)"],
    ["dark", "rgb(11, 15, 17)"],
  ] as const) {
    await page.emulateMedia({ colorScheme })
    await eventually(`the ground is ${colorScheme}`, async () => (await ground()) === color)
    if (!pictures) continue
    await page.screenshot({ path: join(pictures, `terminal-${colorScheme}.png`) })
    await page.setViewportSize({ width: 390, height: 800 })
    await page.screenshot({ path: join(pictures, `terminal-${colorScheme}-390.png`) })
    await page.setViewportSize({ width: 1280, height: 1000 })
  }
})

test("the page says why there is no terminal", async () => {
  await type(page, "exit 7")
  await page.getByText("The shell has ended with exit code 7.").waitFor()
  const guest = await (await freshContext(browser)).newPage()
  await openSession(guest, server.quayside.baseUrl, { UserName: "ann", Password: ann.password })
  await guest.goto(`${server.quayside.baseUrl}/ui/runs/${run.ID}`)
  await guest.getByRole("tab", { name: "Output" }).waitFor()
  assert.equal(await guest.getByRole("tab", { name: "Terminal" }).count(), 0)
  await server.admin.createGrant({ body: { RunID: run.ID, UserName: "ann", Access: "write" } })
  await guest.getByRole("tab", { name: "Terminal" }).click()
  await type(guest, "echo mine")
  await shows(guest, /echo mine\s*mine/)
  await server.admin.createGrant({ body: { RunID: run.ID, UserName: "ann", Access: "use" } })
  await guest.getByText("You may look at this run, but not open a terminal in it.").waitFor()
  assert.equal(await guest.locator(".xterm").count(), 0)
  await server.admin.stopRun({ query: { ID: run.ID } })
  await page.getByText("A terminal needs a run that is starting or ready.").waitFor()
})

test("nothing of it breaks the page's policy", () => {
  const broken = complaints.filter((text) => !/\/control\?ID=|status of 401/.test(text))
  assert.deepEqual(broken, [])
})
