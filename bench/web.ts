// The web UI in Chromium, on the fake engine: the size of the first page, the time from signing in
// to home, a home whose runs change, any page of a long list, uploads against rclone and curl, and
// the API calls of each page. Needs chromium, rclone and curl.
//   node bench/web.ts [first] [home] [list] [uploads] [calls]
//     [--rounds 9] [--runs 1000] [--minutes 10] [--rows 1000000] [--files 5000] [--gigabytes 2]

import { execFile } from "node:child_process"
import { mkdir, mkdtemp, rm, truncate, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { parseArgs, promisify } from "node:util"
import type { Browser, Page } from "playwright-core"
import { basicAuth, type Client, createClient } from "#client"
import { freshContext, openBrowser, signIn } from "../test/e2e/browser.ts"
import { fillInstallation, uiPages } from "../test/e2e/ui-pages.ts"
import { type ServerProcess, startServerProcess } from "../test/server-process.ts"
import { adminPassword, startTestServer } from "../test/test-server.ts"
import { median, spread } from "./tools.ts"

const run = promisify(execFile)
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: "string", default: "9" },
    runs: { type: "string", default: "1000" },
    minutes: { type: "string", default: "10" },
    rows: { type: "string", default: "1000000" },
    files: { type: "string", default: "5000" },
    gigabytes: { type: "string", default: "2" },
  },
})
const rounds = Number(options.rounds)
const print = (line: string) => process.stdout.write(`${line}\n`)
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))
const timeOf = async (work: () => Promise<unknown>) => {
  const startedAt = performance.now()
  await work()
  return performance.now() - startedAt
}

/** A small machine has room for all runs of the fake engine. */
const settings = {
  QUAYSIDE_ENGINE: "fake",
  QUAYSIDE_LOG_LEVEL: "error",
  QUAYSIDE_CPU_OVERCOMMIT: "1000",
  QUAYSIDE_MEMORY_OVERCOMMIT: "100",
}

interface Measured {
  server: ServerProcess
  client: Client
}

await using browser = await openBrowser()
const parts = { first: firstPage, home: changingHome, list: longList, uploads, calls: callsPerPage }
for (const [name, part] of Object.entries(parts)) if (positionals.length === 0 || positionals.includes(name)) await part(browser)

async function startFake(stack: AsyncDisposableStack): Promise<Measured> {
  const server = stack.use(await startServerProcess(settings))
  return { server, client: createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) }) }
}

async function createProjects(client: Client, count: number): Promise<number[]> {
  const { ID: ImageID } = await client.createImage({ body: { Name: "bench", Image: "fake/http" } })
  const ids: number[] = []
  for (let i = 0; i < count; i += 1)
    ids.push((await client.createProject({ body: { ProjectName: `project ${i}`, Type: "http", ImageID } })).ID)
  return ids
}

async function openHome(from: Browser, { baseUrl, password }: ServerProcess): Promise<Page> {
  const page = await (await freshContext(from)).newPage()
  await page.goto(baseUrl)
  await signIn(page, password)
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  return page
}

async function firstPage(from: Browser): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const { server, client } = await startFake(stack)
  await createProjects(client, 20)
  const page = await openHome(from, server)
  // All rows of one page of projects; the list shows twelve.
  await page.getByText("project 8", { exact: true }).waitFor()
  const again = await page.context().newPage()
  const sizes = new Map<string, number>()
  again.on("response", (response) => {
    if (/\/ui\/assets\//.test(response.url())) sizes.set(response.url(), Number(response.headers()["content-length"]))
  })
  await again.goto(`${server.baseUrl}/ui/`)
  await again.getByText("project 8", { exact: true }).waitFor()
  const bytes = [...sizes.values()].reduce((sum, size) => sum + size, 0)
  print(`script and style of the first page, compressed: ${(bytes / 1024).toFixed(0)} KB (needed ≤ 200, aim 120)`)
  await page.context().close()
  for (const [rate, bounds] of [
    [1, "needed ≤ 500, aim 250"],
    [4, "needed ≤ 2000, aim 1000"],
  ] as const) {
    const times: number[] = []
    for (let i = 0; i < rounds; i += 1) times.push(await signInTime(from, server, rate))
    print(`sign-in to home drawn with 20 projects, CPU slowed ${rate} times: ${spread(times)} ms (${bounds})`)
  }
}

async function signInTime(from: Browser, { baseUrl, password }: ServerProcess, rate: number): Promise<number> {
  const context = await freshContext(from)
  const page = await context.newPage()
  const session = await context.newCDPSession(page)
  await session.send("Emulation.setCPUThrottlingRate", { rate })
  await page.goto(baseUrl)
  await page.getByLabel("User name").fill("admin")
  await page.getByLabel("Password").fill(password)
  const time = await timeOf(async () => {
    await page.getByRole("button", { name: "Sign in" }).click()
    // Looked at in each frame: Playwright looks for a locator at growing intervals, up to 500 ms.
    await page.waitForFunction(isDrawn, undefined, { polling: "raf" })
  })
  await context.close()
  return time
}

function isDrawn(): boolean {
  return [...document.querySelectorAll("main *")].some((element) => element.textContent === "project 8")
}

async function changingHome(from: Browser): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const count = Number(options.runs)
  const { server, client } = await startFake(stack)
  const projects = await createProjects(client, count)
  const ids: number[] = []
  for (let i = 0; i < count; i += 20) {
    const some = projects.slice(i, i + 20).map((ProjectID) => client.startRun({ body: { ProjectID, Cpus: 1, Memory: 8 } }))
    ids.push(...(await Promise.all(some)).map(({ ID }) => ID))
  }
  const page = await openHome(from, server)
  const session = await page.context().newCDPSession(page)
  await session.send("HeapProfiler.enable")
  const heapMiB = async () => {
    await session.send("HeapProfiler.collectGarbage")
    return (await session.send("Runtime.getHeapUsage")).usedSize / 2 ** 20
  }
  await page.evaluate(() => {
    const tasks: number[] = []
    Object.assign(globalThis, { tasks })
    new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration))).observe({ type: "longtask" })
  })
  const heap: number[] = []
  const endsAt = Date.now() + Number(options.minutes) * 60_000
  for (let i = 0; Date.now() < endsAt; i += 20) {
    const slice = pause(1_000)
    await Promise.all(Array.from({ length: 20 }, (_, n) => client.keepRun({ query: { ID: ids[(i + n) % count] ?? 0 } })))
    if (i % 600 === 0) heap.push(await heapMiB())
    await slice
  }
  heap.push(await heapMiB())
  const tasks = await page.evaluate(() => (globalThis as unknown as { tasks: number[] }).tasks)
  print(`home with ${count} runs, 20 changes a second: longest task ${Math.max(0, ...tasks).toFixed(0)} ms (needed ≤ 100)`)
  print(`its heap over ${options.minutes} minutes: ${heap.map((each) => each.toFixed(1)).join(" ")} MiB (needed: steady)`)
}

async function longList(from: Browser): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const rows = Number(options.rows)
  const { server } = await startFake(stack)
  await server.kill("SIGTERM")
  insertDatasets(join(server.directory, "data/quayside.db"), rows)
  await server.start()
  const page = await openHome(from, server)
  const drawn = (number: number) =>
    timeOf(async () => {
      await page.goto(`${server.baseUrl}/ui/datasets?page=${number}`)
      await page.locator("tbody tr").nth(10).waitFor()
    })
  const pageCount = Math.floor(rows / 25)
  const times = { first: [] as number[], middle: [] as number[], last: [] as number[] }
  await drawn(1)
  for (let i = 0; i < rounds; i += 1) {
    times.first.push(await drawn(1))
    times.middle.push(await drawn(Math.max(2, Math.floor(pageCount / 2) + i)))
    times.last.push(await drawn(pageCount - i))
  }
  const ratio = (kind: "middle" | "last") => (median(times[kind]) / median(times.first)).toFixed(2)
  print(`list of ${rows} datasets: first page ${spread(times.first)} ms; middle ${ratio("middle")}, last ${ratio("last")} (needed 0.8–1.2)`)
}

function insertDatasets(file: string, rows: number): void {
  using db = new DatabaseSync(file)
  db.exec("pragma synchronous = off; pragma temp_store = memory")
  db.exec(`insert into datasets (created_at, updated_at, version, type, name, comment, doc, user_id, access_info, is_published, name_fold, search, access_key)
    with recursive n(i) as (select 1 union all select i + 1 from n where i < ${rows})
    select 1767225600000 + i, 1767225600000 + i, 1, 'dir', 'dataset ' || i, '', '', 1, '/users/admin/datasets/d' || i, 0,
      'dataset ' || i, 'dataset ' || i || char(10), '/users/admin/datasets/d' || i
    from n`)
}

async function uploads(from: Browser): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const { server } = await startFake(stack)
  const directory = await mkdtemp(join(tmpdir(), "quayside-bench-"))
  stack.defer(() => rm(directory, { recursive: true, force: true }))
  const folder = join(directory, "many")
  await mkdir(folder)
  for (let i = 0; i < Number(options.files); i += 1) await writeFile(join(folder, `f${i}`), Buffer.alloc(4_096, i))
  const big = join(directory, "big")
  await writeFile(big, "")
  await truncate(big, Math.round(Number(options.gigabytes) * 2 ** 30))
  const home = `${server.filesUrl}/users/admin`
  const page = await openHome(from, server)
  page.setDefaultTimeout(1_800_000)
  const byBrowser = async (label: string, path: string) => {
    await page.goto(`${server.baseUrl}/ui/files`)
    await page.getByText("Upload", { exact: true }).waitFor()
    return timeOf(async () => {
      await page.getByLabel(label).setInputFiles(path)
      await page.getByText("All files are uploaded.").waitFor()
    })
  }
  const { stdout } = await run("rclone", ["obscure", server.password])
  const remote = [`--webdav-url=${home}`, "--webdav-user=admin", `--webdav-pass=${stdout.trim()}`, "--transfers=8"]
  const rclone = await timeOf(() => run("rclone", ["copy", folder, ":webdav:by-rclone", ...remote]))
  const many = await byBrowser("Upload a folder", folder)
  print(
    `upload of ${options.files} files of 4 KB: ${(rclone / many).toFixed(2)} of rclone copy (needed ≥ 0.5, aim 0.8; ${(many / 1_000).toFixed(1)} s)`,
  )
  const curl = await timeOf(() => run("curl", ["-sfT", big, "-u", `admin:${server.password}`, `${home}/by-curl`]))
  const one = await byBrowser("Upload files", big)
  print(
    `upload of one of ${options.gigabytes} GiB: ${(curl / one).toFixed(2)} of curl -T (needed ≥ 0.7, aim 0.9; ${(one / 1_000).toFixed(1)} s)`,
  )
}

async function callsPerPage(from: Browser): Promise<void> {
  await using server = await startTestServer()
  await fillInstallation(server)
  const { baseUrl } = server.quayside
  const page = await (await freshContext(from)).newPage()
  await page.goto(baseUrl)
  await signIn(page, adminPassword)
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor()
  let calls: string[] = []
  page.on("request", (request) => {
    const { origin, pathname } = new URL(request.url())
    if (origin === baseUrl && !pathname.startsWith("/ui/") && pathname !== "/events") calls.push(pathname)
  })
  const counts: { name: string; count: number }[] = []
  const polled = new Set<string>()
  for (const { name, path, isDrawn } of uiPages) {
    calls = []
    await page.goto(`${baseUrl}/ui/${path}`)
    await isDrawn(page)
    await pause(500)
    counts.push({ name, count: calls.length })
    if (calls.length > 6) print(`  ${name}: ${calls.join(" ")}`)
    calls = []
    await pause(name === "home" || name === "run" ? 25_000 : 0)
    for (const each of calls) polled.add(`${name} ${each}`)
  }
  const most = counts.reduce((one, other) => (other.count > one.count ? other : one))
  print(`API calls of a page: at most ${most.count}, by ${most.name} (needed ≤ 6)`)
  print(`calls of a page that nothing changes, in 25 s: ${[...polled].join(", ") || "none"} (needed: figures alone)`)
}
