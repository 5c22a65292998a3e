import assert from "node:assert/strict"
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { once } from "node:events"
import { readdirSync, readFileSync, statSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { basicAuth, bearerAuth, createClient } from "#client"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { freePorts } from "../fixtures/free-ports.ts"

/*
 * A whole life with passwords, tokens, cookies, tickets and keys that are looked for wherever they
 * should not be: in what the server writes, in its answers, errors and figures, in the arguments of
 * every process there is and the surroundings of every one below it, in the run's container, and in
 * all that lies in its data directory.
 */

const run = promisify(execFile)
const program = fileURLToPath(new URL("../../bin/quayside.js", import.meta.url))
const canary = "canary-Zq7"
const [adminPassword, annPassword] = [`${canary}-admin`, `${canary}-ann`]
/** Selects objects by this name: other tests use the engine at the same time. */
const annName = `ann-${process.pid}`
let directory: string
let server: ChildProcess
let output = ""
const [port, appsPort, filesPort] = (await freePorts(3)) as [number, number, number]
const [baseUrl, filesUrl] = [`http://localhost:${port}`, `http://localhost:${filesPort}`]
/**
 * Secrets that must not appear anywhere: passwords, also in `Authorization` form, and all issued
 * tokens, cookies and tickets.
 */
const secrets = [canary, btoa(`admin:${adminPassword}`), btoa(`${annName}:${annPassword}`)]
/**
 * Secrets that the server stores and that must not appear elsewhere: its keys, and those in a run's
 * environment.
 */
const remaining: string[] = []

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "quayside-secrets-"))
  const env = {
    ...process.env,
    QUAYSIDE_PORT: String(port),
    QUAYSIDE_APPS_PORT: String(appsPort),
    QUAYSIDE_FILES_PORT: String(filesPort),
    QUAYSIDE_DATA_DIR: join(directory, "data"),
    QUAYSIDE_ADMIN_PASSWORD: adminPassword,
    QUAYSIDE_LOG_LEVEL: "debug",
    QUAYSIDE_REGISTRY_CREDENTIALS: join(directory, "registries.json"),
    QUAYSIDE_OIDC_ISSUER: "http://127.0.0.1:9",
    QUAYSIDE_OIDC_CLIENT_ID: "quayside",
    QUAYSIDE_OIDC_CLIENT_SECRET: `${canary}-oidc`,
  }
  const entry = { registry: "registry.example.org", username: "reader", password: `${canary}-registry`, for: ["everyone"] }
  await writeFile(join(directory, "registries.json"), JSON.stringify([entry]), { mode: 0o600 })
  server = spawn(process.execPath, [program, "serve"], { env, cwd: directory, stdio: ["ignore", "pipe", "pipe"] })
  await new Promise<void>((resolve, reject) => {
    for (const stream of [server.stdout, server.stderr]) {
      stream?.on("data", (chunk) => {
        output += chunk
        if (output.includes("Quayside is ready")) resolve()
      })
    }
    server.once("exit", (code) => reject(new Error(`The server ended with ${code}: ${output}`)))
  })
})
after(async () => {
  if (server.exitCode === null) {
    const ended = once(server, "exit")
    server.kill("SIGTERM")
    await ended
  }
  await rm(directory, { recursive: true, force: true })
})

/** Samples arguments and environment of every process below the server. */
class Watch implements AsyncDisposable {
  readonly arguments = new Set<string>()
  readonly environments = new Set<string>()
  readonly #over = new AbortController()
  readonly #watching = this.#look()

  async #look(): Promise<void> {
    while (!this.#over.signal.aborted) {
      const own = textOf(`/proc/${server.pid}/cmdline`)
      for (const pid of below(server.pid ?? 0)) {
        const words = textOf(`/proc/${pid}/cmdline`)
        this.arguments.add(words)
        // Before its exec, a child shows its parent's environment.
        if (words !== own) this.environments.add(textOf(`/proc/${pid}/environ`))
      }
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#watching
  }
}

function below(pid: number): number[] {
  const children = textOf(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number)
  return [pid, ...children.flatMap(below)]
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1")
  } catch {
    return ""
  }
}

function filesBelow(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

function assertClean(what: string, text: string, unwanted: readonly string[] = [...secrets, ...remaining]): void {
  for (const secret of unwanted) {
    const at = text.indexOf(secret)
    assert.equal(at, -1, `${what} contains a secret: ${text.slice(Math.max(0, at - 80), at + 40)}`)
  }
}

/** Returns 200 for every request, as the type's readiness check expects. */
const jupyter = JSON.stringify([
  "python3",
  "-c",
  `
import http.server as h
class S(h.BaseHTTPRequestHandler):
  def do_GET(s):
    s.send_response(200); s.end_headers(); s.wfile.write(b'[]')
h.ThreadingHTTPServer(('', 8888), S).serve_forever()
`,
])

function cookiesIn({ headers }: HttpAnswer): string[] {
  return (headers["set-cookie"] ?? []).map((line) => line.split(";")[0] ?? "")
}

/** The value of the setting, unless it is a flag. */
function valuesOf(cookies: readonly string[]): string[] {
  return cookies.map((cookie) => cookie.slice(cookie.indexOf("=") + 1)).filter((value) => value.length > 12)
}

/** Signs in and opens a run like a browser; every cookie and ticket becomes a secret. */
async function enter(id: number, key: string): Promise<void> {
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: annName, Password: annPassword } })
  const session = cookiesIn(signedIn)
  secrets.push(...valuesOf(session))
  const apps = `http://localhost:${appsPort}`
  const tab = { "sec-fetch-dest": "document", "sec-fetch-mode": "navigate", "sec-fetch-site": "none", accept: "text/html" }
  const host = `${key}.localhost:${appsPort}`
  const started = await sendRequest(apps, "GET", "/.quayside/start", { headers: { ...tab, host } })
  const open = new URL(started.headers.location ?? "")
  const opened = await sendRequest(baseUrl, "GET", open.pathname + open.search, { headers: { ...tab, cookie: session.join("; ") } })
  const ticket = new URL(opened.headers.location ?? "")
  secrets.push(...valuesOf(cookiesIn(started)), ticket.searchParams.get("ticket") ?? "")
  const entered = await sendRequest(apps, "GET", ticket.pathname + ticket.search, {
    headers: { ...tab, host, cookie: cookiesIn(started).join("; ") },
  })
  const own = cookiesIn(entered)
  secrets.push(...valuesOf(own))
  const page = await sendRequest(apps, "GET", `/run/${id}/lab`, { headers: { ...tab, host, cookie: own.join("; ") } })
  assert.equal(page.status, 200)
  assert.ok(secrets.every((secret) => secret.length > 8))
}

interface Targets {
  token: string
  runId: number
  /** A path of the run, at the gateway. */
  path: string
  /** A path of the dataset, at the files address. */
  directory: string
  imageId: number
}

/** The responses of all three addresses to valid and invalid credentials, in every position. */
async function requestEverywhere({ token, runId, path, directory, imageId }: Targets) {
  return [
    await sendRequest(`http://localhost:${appsPort}`, "GET", path, { as: bearerAuth(token) }),
    await sendRequest(`http://localhost:${appsPort}`, "GET", path, { as: basicAuth(annName, `${annPassword}x`) }),
    await sendRequest(`http://localhost:${appsPort}`, "GET", `${path}?token=${token}`),
    await sendRequest(filesUrl, "PUT", `${directory}/f`, { as: basicAuth(annName, annPassword), body: "text" }),
    await sendRequest(filesUrl, "PUT", `${directory}/no/f`, { as: bearerAuth(token), body: "text" }),
    await sendRequest(filesUrl, "GET", directory, { as: basicAuth(annName, `${annPassword}x`) }),
    await sendRequest(baseUrl, "GET", `/projects?token=${token}`, { as: bearerAuth(token) }),
    await sendRequest(baseUrl, "POST", "/session", { body: { UserName: annName, Password: `${annPassword}x` } }),
    await sendRequest(baseUrl, "POST", "/session", { body: { UserName: annName, Password: annPassword } }),
    await sendRequest(baseUrl, "POST", "/user", { as: bearerAuth(token), body: { UserName: "x", Password: annPassword } }),
    await sendRequest(baseUrl, "POST", "/user", { as: bearerAuth(token), body: `{"Password":"${annPassword}"` }),
    await sendRequest(baseUrl, "GET", "/nowhere", { as: `Bearer ${token}x` }),
    await sendRequest(baseUrl, "GET", "/metrics", { as: basicAuth("admin", adminPassword) }),
    await sendRequest(baseUrl, "GET", "/readyz"),
    await sendRequest(baseUrl, "GET", `/running_project/logs?ID=${runId}`, { as: bearerAuth(token) }),
    await sendRequest(baseUrl, "GET", `/running_project?ID=${runId}`, { as: bearerAuth(token) }),
    await sendRequest(baseUrl, "GET", `/audit`, { as: basicAuth("admin", adminPassword) }),
    await sendRequest(baseUrl, "GET", "/events", { as: bearerAuth(token) }),
    await sendRequest(baseUrl, "POST", `/image/pull?ID=${imageId}`, { as: bearerAuth(token) }),
    await sendRequest(baseUrl, "GET", `/image/check?ID=${imageId}`, { as: bearerAuth(token) }),
    await sendRequest(baseUrl, "GET", "/oidc/login"),
  ]
}

test("passwords, tokens, cookies, tickets and keys never appear outside the answers that return them", async () => {
  await using watch = new Watch()
  for (const file of filesBelow(join(directory, "data", "secrets"))) remaining.push(readFileSync(file, "utf8").trim())
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", adminPassword) })
  await admin.createUser({ body: { UserName: annName, Password: annPassword } })
  const { Token: token } = await createClient({ baseUrl, authorization: basicAuth(annName, annPassword) }).createToken({
    body: { Name: "session" },
  })
  secrets.push(token)
  const ann = createClient({ baseUrl, authorization: bearerAuth(token) })
  const image = await admin.createImage({
    body: { Name: "web", Image: "quayside/python-app", Command: jupyter, Port: "8888", IsPublished: true },
  })
  const elsewhere = await admin.createImage({ body: { Name: "elsewhere", Image: "registry.example.org/x/y", IsPublished: true } })
  const data = await ann.createData({ body: { Name: "d" } })
  const project = await ann.createProject({
    body: { ProjectName: "p", Type: "jupyterlab", ImageID: image.ID, TrainData: [{ ID: data.ID }] },
  })
  const started = await ann.startRun({ body: { ProjectID: project.ID } as never })
  try {
    const container = await run("docker", [
      "ps",
      "--all",
      "--format",
      "{{.ID}}",
      "--filter",
      `label=quayside.run=${started.ID}`,
      "--filter",
      `label=quayside.user=${annName}`,
    ])
    const inspected = await run("docker", ["inspect", ...container.stdout.trim().split("\n")])
    assertClean("The container", inspected.stdout)
    const [{ Config, Name }] = JSON.parse(inspected.stdout)
    const own = (Config.Env as string[]).find((word) => word.startsWith("JUPYTER_TOKEN="))?.slice("JUPYTER_TOKEN=".length) ?? ""
    assert.ok(own.length > 20)
    remaining.push(own)
    for (const pid of readdirSync("/proc").filter((name) => /^\d+$/.test(name))) watch.arguments.add(textOf(`/proc/${pid}/cmdline`))
    await enter(started.ID, String(Name).slice(-32))

    const path = new URL(String(started.URL)).pathname
    const answers = await requestEverywhere({ token, runId: started.ID, path, directory: data.AccessInfo, imageId: elsewhere.ID })
    assert.equal(answers[0]?.status, 200)
    assert.equal(answers[3]?.status, 201)
    for (const { text, headers } of answers) assertClean("An answer", text + JSON.stringify({ ...headers, "set-cookie": "" }))
  } finally {
    await ann.stopRun({ query: { ID: started.ID } })
  }
  await admin.deleteUser({ query: { UserName: annName } } as never).catch(() => {})

  assert.ok([...watch.arguments].some((words) => words.includes("iptables")) && watch.environments.size > 2, "short processes were seen")
  assertClean("A process's arguments", [...watch.arguments].join("\n"))
  assertClean("A process's environment", [...watch.environments].join("\n"))
  assertClean("The log", output)
  for (const file of filesBelow(join(directory, "data"))) assertClean(file, readFileSync(file, "latin1"), secrets)
})

test("only the owner can enter the data directory and read the secrets in it", () => {
  const data = join(directory, "data")
  assert.equal(statSync(data).mode & 0o777, 0o700)
  assert.equal(statSync(join(data, "secrets")).mode & 0o777, 0o700)
  const files = filesBelow(join(data, "secrets"))
  assert.ok(files.length >= 2)
  for (const file of files) assert.equal(statSync(file).mode & 0o777, 0o600, file)
})
