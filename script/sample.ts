// Creates the sample through the public HTTP API and WebDAV, as any client would: a dataset, two
// images, a project, its run. Existing objects are left unchanged.
// Usage: node script/sample.ts BASE_URL FILES_URL PASSWORD_FILE

import { readFile } from "node:fs/promises"
import { relative } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"

const root = new URL("../", import.meta.url)
const [base = "", files = "", passwordFile = ""] = process.argv.slice(2)
if (passwordFile === "") throw new Error("Usage: node script/sample.ts BASE_URL FILES_URL PASSWORD_FILE")

const user = "admin"
const password = (await readFile(passwordFile, "utf8")).trim()
const proof = `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`

type Row = Record<string, unknown> & { ID: number }
type Failed = { msg?: string; code?: string }

try {
  await sample()
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}

async function sample(): Promise<void> {
  const data = await ensure("/data", "/data", {
    Name: "penguins",
    Type: "dir",
    IsPublished: true,
    Comment: "A small table to try things with",
  })
  await ensureFile(`${data.AccessInfo}/penguins.csv`, "samples/penguins/penguins.csv")
  await ensure("/image", "/images", { Name: "HTTP sample", Image: "quayside/python-app:latest", Port: "8000", IsPublished: true })
  const image = await ensure("/image", "/images", { Name: "JupyterLab", Image: "quayside/jupyterlab:latest", IsPublished: true })
  const project = await ensureProject(image, data)
  const url = await ensureRun(project)
  say("")
  say(`Quayside   ${base}`)
  const near = relative(process.cwd(), passwordFile)
  say(`Sign in    ${user} with the password ${password} (in ${near.startsWith("..") ? passwordFile : near})`)
  say(`penguins   ${url}`)
}

/**
 * Publishes the project after its notebook is there: a release contains the code of that moment.
 */
async function ensureProject(image: Row, data: Row): Promise<Row> {
  const project = await ensure("/project", "/projects", {
    ProjectName: "penguins",
    Type: "jupyterlab",
    ImageID: image.ID,
    TrainData: [{ ID: data.ID, MountPath: "/data/penguins" }],
    Comment: "Reads the dataset and plots it",
  })
  const added = await ensureFile(`/users/${user}/projects/${project.ID}/code/penguins.ipynb`, "samples/penguins/penguins.ipynb")
  if (added) await call("PUT", "/project", { ID: project.ID, IsPublic: true })
  return project
}

/** The address of the project's run. One that is still starting or stopping is waited for. */
async function ensureRun(project: Row): Promise<string> {
  const deadline = AbortSignal.timeout(120_000)
  while (!deadline.aborted) {
    const run = (await list("/running_projects")).find((row) => row.ProjectID === project.ID)
    if (run?.State === "ready") return String(run.URL)
    if (!run) await startRun(project)
    else await sleep(500)
  }
  throw new Error(`The project ${project.ProjectName} is not ready after two minutes; ${base} tells its state`)
}

async function startRun(project: Row): Promise<void> {
  say(`Starting the project ${project.ProjectName}`)
  const response = await request(base, "POST", "/running_project", { Project: { ID: project.ID } })
  const answer = (await response.json()) as Failed
  if (!response.ok && answer.code !== "already_running") throw new Error(`The project did not start: ${answer.msg}`)
}

/** The object of the same name and image that is ours, or a new one. */
async function ensure(path: string, plural: string, wanted: Record<string, unknown>): Promise<Row> {
  const key = "ProjectName" in wanted ? "ProjectName" : "Name"
  const found = (await list(plural)).find((row) => row[key] === wanted[key])
  if (found) return found
  say(`Making ${path.slice(1)} ${wanted[key]}`)
  return (await call("POST", path, wanted)) as Row
}

/** All rows of ours, over all pages. */
async function list(plural: string): Promise<Row[]> {
  const rows: Row[] = []
  for (let page = 1, pageCount = 1; page <= pageCount; page++) {
    const answer = (await call("GET", `${plural}?UserName=${user}&pageSize=200&page=${page}`)) as { data: Row[]; pageCount: number }
    rows.push(...answer.data)
    pageCount = answer.pageCount
  }
  return rows
}

/**
 * Puts a file by WebDAV where there is none, with the directories above it. True when it was put.
 */
async function ensureFile(path: string, source: string): Promise<boolean> {
  const there = await request(files, "HEAD", path)
  if (there.ok) return false
  if (there.status !== 404) await refuse(there, `HEAD ${path}`)
  say(`Uploading ${path}`)
  await ensureDirectory(path.slice(0, path.lastIndexOf("/")))
  const put = await request(files, "PUT", path, await readFile(new URL(source, root)))
  if (!put.ok) await refuse(put, `PUT ${path}`)
  return true
}

async function ensureDirectory(path: string): Promise<void> {
  if ((await request(files, "PROPFIND", `${path}/`)).ok) return
  await ensureDirectory(path.slice(0, path.lastIndexOf("/")))
  const made = await request(files, "MKCOL", `${path}/`)
  if (!made.ok && made.status !== 405) await refuse(made, `MKCOL ${path}`)
}

async function call(method: string, path: string, body?: object): Promise<unknown> {
  const response = await request(base, method, path, body)
  if (!response.ok) await refuse(response, `${method} ${path}`)
  return response.json()
}

async function request(origin: string, method: string, path: string, body?: object | Buffer): Promise<Response> {
  const isFile = Buffer.isBuffer(body)
  const headers = {
    Authorization: proof,
    ...(body && { "Content-Type": isFile ? "application/octet-stream" : "application/json" }),
    ...(method === "PROPFIND" && { Depth: "0" }),
  }
  const payload = body === undefined ? null : isFile ? new Uint8Array(body) : JSON.stringify(body)
  try {
    return await fetch(origin + path, { method, headers, body: payload, signal: AbortSignal.timeout(180_000) })
  } catch (error) {
    throw new Error(`${method} ${origin}${path} got no answer: ${error instanceof Error ? (error.cause ?? error.message) : error}`)
  }
}

async function refuse(response: Response, what: string): Promise<never> {
  const text = await response.text()
  const { msg = text } = text.startsWith("{") ? (JSON.parse(text) as Failed) : {}
  const hint =
    response.status === 401
      ? ` Is the password in ${passwordFile} still the one of ${user}? Write the right one there and run this again.`
      : ""
  throw new Error(`${what} was refused (${response.status}): ${msg}${hint}`)
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}
