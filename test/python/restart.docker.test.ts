import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { randomUUID } from "node:crypto"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { basicAuth, createClient } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { startServerProcess } from "../server-process.ts"
import { buildPackage, ensurePythonTools, installFresh } from "./environment.ts"

const tools = await ensurePythonTools()
const directory = await mkdtemp(join(tmpdir(), "quayside-python-"))
after(() => rm(directory, { recursive: true, force: true }))
const { wheel } = await buildPackage(tools, directory)
const python = await installFresh(tools, join(directory, "venv"), wheel)
const server = await startServerProcess()
after(() => server[Symbol.asyncDispose]())

const program = `
import threading, quayside

client = quayside.connect()

def print_events():
    with quayside.connect() as other:
        for event in other.events():
            if event["event"] == "data.created":
                print(f"event {event['data']['ID']};", flush=True)

threading.Thread(target=print_events, daemon=True).start()
run = client.start("Fit", keep=True)
try:
    run.exec(["sh", "-c", "echo begun; sleep 600"], on_output=lambda name, data: print(name, data, flush=True))
except quayside.ConnectionFailed:
    print("lost", flush=True)
input()
print(run.exec(["echo", "again"]).text, flush=True)
input()
`

test("a Python program works on in its run after the server was killed, and misses no event", async () => {
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { Token } = await admin.createToken({ body: { Name: "python" } })
  const { ID: ImageID } = await admin.createImage({ body: { Name: "App", Image: "quayside/python-app", Port: "8000" } })
  await admin.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID } })
  const createData = async () => (await admin.createData({ body: { Name: randomUUID() } })).ID

  const child = spawn(python, ["-c", program], {
    env: { HOME: directory, QUAYSIDE_SERVER: server.baseUrl, QUAYSIDE_TOKEN: Token },
    stdio: ["pipe", "pipe", "inherit"],
  })
  after(() => child.kill())
  let printed = ""
  child.stdout.on("data", (chunk) => (printed += chunk))
  const prints = (text: string) => eventually(`Python prints ${text}`, () => printed.includes(text), 30_000)
  await prints("stdout b'begun\\n'")
  await eventually("Python hears events", async () => {
    await createData()
    return printed.includes("event ")
  })
  const heard = await createData()
  await prints(`event ${heard};`)

  await server.kill("SIGKILL")
  await prints("lost\n")
  await server.start()
  const missed = await createData()
  child.stdin.write("\n")
  await prints("again\n")
  await prints(`event ${missed};`)
  const ids = [...printed.matchAll(/event (\d+);/g)].map(([, id]) => Number(id))
  assert.deepEqual(
    ids,
    Array.from({ length: missed - (ids[0] ?? 0) + 1 }, (_, i) => (ids[0] ?? 0) + i),
  )
  child.stdin.end("\n")
})
