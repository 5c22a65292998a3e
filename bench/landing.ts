// Compares the time from POST /running_project until Chromium has drawn the first page, for each
// type, with that of `docker run` of the same image and Chromium without Quayside between. Then the
// round trip of a cell `1` through the gateway with that directly to a container. Both sides
// alternate; images are present, and the browser's cache is empty each time.
// Usage: landing.ts [ROUNDS [TYPE]]
import { execFileSync } from "node:child_process"
import { randomUUID } from "node:crypto"
import { on, once } from "node:events"
import { fileURLToPath } from "node:url"
import type { BrowserContext } from "playwright-core"
import WebSocket from "ws"
import { basicAuth, bearerAuth, createClient } from "#client"
import type { ProjectType } from "#contract"
import { openBrowser, signIn } from "../test/e2e/browser.ts"
import { startServerProcess } from "../test/server-process.ts"
import { answers, median, spread } from "./tools.ts"

const rounds = Number(process.argv[2] ?? 5)
const only = process.argv[3]
const cells = 200
const memoryMiB = 2_048
const patience = { timeout: 120_000 }
const print = (line: string) => process.stdout.write(`${line}\n`)

interface Sample {
  image: string
  type: ProjectType
  port: number
  /** The command by hand, without a token or password. */
  command: string[]
  /** The path of the first page, and what shows that it is drawn. */
  path: string
  drawn: string
}

const jupyter = ["--ip=0.0.0.0", "--port=8888", "--no-browser", "--IdentityProvider.token="]
const lab = { image: "jupyterlab", port: 8888, command: ["jupyter", "lab", ...jupyter], path: "/lab", drawn: ".jp-Launcher" }
const samples: Sample[] = [
  { ...lab, type: "jupyter" },
  { ...lab, type: "jupyterlab" },
  {
    ...{ image: "notebook", type: "jupyternotebook", port: 8888, command: ["jupyter", "notebook", ...jupyter] },
    ...{ path: "/tree", drawn: ".jp-DirListing-content" },
  },
  { image: "vscode", type: "vscode", port: 8080, command: [], path: "/", drawn: ".monaco-workbench .explorer-folders-view" },
  {
    image: "desktop",
    type: "novnc",
    port: 6080,
    command: [],
    path: "/vnc.html?autoconnect=1&resize=remote",
    drawn: "canvas",
  },
  { image: "python-app", type: "http", port: 8000, command: [], path: "/", drawn: "h1" },
]

const script = fileURLToPath(new URL("../script/images", import.meta.url))
execFileSync(script, [...new Set(samples.map(({ image }) => image))], { stdio: "ignore" })

await using server = await startServerProcess({ QUAYSIDE_LOG_LEVEL: "error" })
await using browser = await openBrowser()
const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
const { Token } = await admin.createToken({ body: { Name: "bench" } })
const client = createClient({ baseUrl: server.baseUrl, authorization: bearerAuth(Token) })
const signedIn = await browser.newContext()
const page = await signedIn.newPage()
await page.goto(`${server.baseUrl}/ui/sign-in`)
await signIn(page, server.password)
await page.waitForURL((url) => !url.pathname.includes("sign-in"))
const { cookies } = await signedIn.storageState()
await signedIn.close()

const imageName = (name: string) => `quayside/${name}:latest`
const docker = (...words: string[]) => execFileSync("docker", words, { encoding: "utf8" }).trim()

/** Opens the page until it is drawn: a desktop's page gives up if its display is not there yet. */
async function drawn(context: BrowserContext, url: string, selector: string): Promise<void> {
  const opened = await context.newPage()
  for (let attempt = 0; ; attempt += 1) {
    await opened.goto(url, { waitUntil: "commit", ...patience })
    const isDrawn = await opened
      .locator(selector)
      .first()
      .waitFor(selector === "canvas" && attempt < 20 ? { timeout: 2_000 } : patience)
      .then(
        () => true,
        (error: unknown) => {
          if (attempt < 20 && selector === "canvas") return false
          throw error
        },
      )
    if (isDrawn) return
  }
}

async function byQuayside(ProjectID: number, sample: Sample): Promise<number> {
  await using context = await browser.newContext({ storageState: { cookies, origins: [] } })
  const startedAt = performance.now()
  const run = await client.startRun({ body: { ProjectID, Memory: memoryMiB, Cpus: 2 } })
  await drawn(context, run.URL, sample.drawn)
  const durationMs = performance.now() - startedAt
  await context.close()
  await client.stopRun({ query: { ID: run.ID } })
  return durationMs
}

/** Starts a container of the image, and returns its name and address: localhost, as for runs. */
function startContainer({ image, command, port }: Sample): { name: string; url: string } {
  const name = `bench-${randomUUID()}`
  const limits = ["--cpus", "2", "--memory", `${memoryMiB}m`]
  docker("run", "--detach", "--name", name, "--init", ...limits, "--publish", `127.0.0.1::${port}`, imageName(image), ...command)
  return { name, url: `http://localhost:${docker("port", name, String(port)).split(":").at(-1)}` }
}

async function byHand(sample: Sample): Promise<number> {
  await using context = await browser.newContext()
  const startedAt = performance.now()
  const { name, url } = startContainer(sample)
  await answers(`${url}${sample.path}`)
  await drawn(context, `${url}${sample.path}`, sample.drawn)
  const durationMs = performance.now() - startedAt
  docker("rm", "--force", name)
  return durationMs
}

for (const sample of samples.filter(({ type }) => only === undefined || type === only)) {
  const { ID: ImageID } = await client.createImage({ body: { Name: sample.type, Image: imageName(sample.image) } })
  const { ID } = await client.createProject({ body: { ProjectName: sample.type, Type: sample.type, ImageID } })
  const quayside: number[] = []
  const hand: number[] = []
  for (let round = 0; round < rounds; round += 1) {
    quayside.push(await byQuayside(ID, sample))
    hand.push(await byHand(sample))
  }
  const ratio = (median(quayside) / median(hand)).toFixed(2)
  print(`${sample.type}: ${spread(quayside)} ms; docker run: ${spread(hand)} ms; ratio ${ratio} (needed ≤ 1.25, aim 1.1)`)
}

/** A kernel at this address, which computes cells one after another. */
async function openKernel(url: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(`${url}/api/kernels`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: "{}",
  })
  const { id } = (await response.json()) as { id: string }
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/kernels/${id}/channels`, { headers })
  await once(socket, "open")
  const messages = on(socket, "message")
  const session = randomUUID()
  return {
    async compute(): Promise<number> {
      const header = { msg_id: randomUUID(), session, username: "", msg_type: "execute_request", version: "5.3", date: "" }
      const content = { code: "1", silent: false, store_history: false, user_expressions: {}, allow_stdin: false }
      const startedAt = performance.now()
      socket.send(JSON.stringify({ channel: "shell", header, parent_header: {}, metadata: {}, content }))
      for (;;) {
        const message = JSON.parse(String((await messages.next()).value?.[0]))
        if (message.parent_header.msg_id === header.msg_id && message.msg_type === "execute_reply") return performance.now() - startedAt
      }
    },
    [Symbol.dispose]: () => socket.terminate(),
  }
}

const { ID: LabImage } = await client.createImage({ body: { Name: "kernels", Image: imageName(lab.image) } })
const { ID: ProjectID } = await client.createProject({ body: { ProjectName: "kernels", Type: "jupyterlab", ImageID: LabImage } })
const run = await client.startRun({ body: { ProjectID, Memory: memoryMiB, Cpus: 2 } })
const direct = startContainer({ ...lab, type: "jupyterlab", command: [...lab.command, "--ServerApp.disable_check_xsrf=True"] })
await answers(`${direct.url}/lab`)
{
  using through = await openKernel(`${server.appsUrl}/run/${run.ID}`, { authorization: bearerAuth(Token) })
  using straight = await openKernel(direct.url, {})
  const times: Record<"through" | "straight", number[]> = { through: [], straight: [] }
  for (let i = 0; i < 20; i += 1) for (const kernel of [through, straight]) await kernel.compute()
  for (let i = 0; i < cells; i += 1) {
    times.through.push(await through.compute())
    times.straight.push(await straight.compute())
  }
  const ratio = (median(times.through) / median(times.straight)).toFixed(2)
  print(`kernel: ${spread(times.through)} ms; directly: ${spread(times.straight)} ms; ratio ${ratio} (needed ≤ 1.3, aim 1.1)`)
}
docker("rm", "--force", direct.name)
await client.stopRun({ query: { ID: run.ID } })
