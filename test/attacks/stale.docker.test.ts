import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { test } from "node:test"
import { promisify } from "node:util"
import { basic, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { startServer } from "../server.ts"

const exec = promisify(execFile)
const docker = async (...words: string[]) => (await exec("docker", words)).stdout.trim()

/** A server that says a name to whoever reaches it. */
const saying = (name: string) => {
  const lines = [
    "import http.server as h",
    "class S(h.BaseHTTPRequestHandler):",
    "  def do_GET(s):",
    `    s.send_response(200); s.end_headers(); s.wfile.write(b"program ${name}")`,
    "h.ThreadingHTTPServer(('', 8000), S).serve_forever()",
  ]
  return JSON.stringify(["python3", "-c", lines.join("\n")])
}

test("whoever may open a run reaches no other one by its URL once it is gone, even where the next one could have its address", async () => {
  await using server = await startServer({ QUAYSIDE_ENGINE: "docker", QUAYSIDE_NETWORK_POOL: "10.214.9.0/24", QUAYSIDE_LOG_LEVEL: "error" })
  const { baseUrl } = server
  const admin = createClient({ baseUrl, authorization: basic("admin", server.password) })
  const person = async (UserName: string) => {
    await admin.createUser({ body: { UserName, Password: "choose a better one" } })
    const authorization = basic(UserName, "choose a better one")
    return { authorization, client: createClient({ baseUrl, authorization }) }
  }
  // Docker is asked by name, and others may be at work on it.
  const names = [`ann-${process.pid}`, `bob-${process.pid}`] as const
  const [ann, bob] = [await person(names[0]), await person(names[1])]
  const make = async (who: typeof ann, name: string) => {
    const image = await admin.createImage({
      body: { Name: name, Image: "quayside/http-sample", Command: saying(name), Port: "8000", IsPublished: true },
    })
    return who.client.createProject({ body: { ProjectName: name, Type: "http", ImageID: image.ID } })
  }
  const first = await make(ann, "shared")
  const others = [await make(ann, "private"), await make(bob, "foreign")]
  const run = await ann.client.startRun({ body: { ProjectID: first.ID } })
  await ann.client.createGrant({ body: { RunID: run.ID, UserName: names[1], Access: "use" } })
  const url = String(run.URL)
  const said = async () => {
    const response = await fetch(url, {
      headers: { authorization: bob.authorization },
      redirect: "manual",
      signal: AbortSignal.timeout(10_000),
    }).catch(() => undefined)
    return response?.text().catch(() => "") ?? ""
  }
  assert.equal(await said(), "program shared")
  const heard = new Set<string>()
  let isOver = false
  const asking = (async () => {
    while (!isOver) heard.add(await said())
  })()
  await using _ = {
    async [Symbol.asyncDispose]() {
      isOver = true
      await asking
    },
  }
  // Behind the server's back, so that it believes for a moment that the run is there.
  await docker("kill", await docker("ps", "--quiet", "--filter", `label=quayside.user=${names[0]}`))
  const started = await Promise.all([
    ann.client.startRun({ body: { ProjectID: others[0]?.ID ?? 0 } }),
    bob.client.startRun({ body: { ProjectID: others[1]?.ID ?? 0 } }),
  ])
  await eventually("the first run is over", async () => (await ann.client.readRun({ query: { ID: run.ID } })).State !== "ready", 60_000)
  for (let n = 0; n < 20; n += 1) heard.add(await said())
  isOver = true
  await asking
  assert.deepEqual(
    started.map(({ State }) => State),
    ["ready", "ready"],
  )
  assert.deepEqual(
    [...heard].filter((text) => /program (?:private|foreign)/.test(text)),
    [],
  )
  assert.ok(
    [...heard].some((text) => !text.startsWith("program")),
    "it was refused in the end",
  )
})
