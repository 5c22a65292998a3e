import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { promisify } from "node:util"
import { openExec } from "#channel"
import { basicAuth, bearerAuth, createClient } from "#client"
import { connectTo } from "../control/control-client.ts"
import { startServerProcess } from "../server-process.ts"
import { buildPackage, ensurePythonTools, installFresh } from "./environment.ts"

const count = 400
const directory = await mkdtemp(join(tmpdir(), "quayside-python-"))
after(() => rm(directory, { recursive: true, force: true }))
const clients = {
  synchronous: `
for line in quayside.Client().log_lines(ID, follow=True):
    show(line)
`,
  asynchronous: `
async def work():
    async with quayside.AsyncClient() as client:
        async for line in client.log_lines(ID, follow=True):
            show(line)
asyncio.run(work())
`,
}

test("a Python client that follows a run's output goes on after the server was killed, and sees each line once", async () => {
  const tools = await ensurePythonTools()
  const { wheel } = await buildPackage(tools, directory)
  const python = await installFresh(tools, join(directory, "venv"), wheel)
  await using server = await startServerProcess()
  const admin = createClient({ baseUrl: server.baseUrl, authorization: basicAuth("admin", server.password) })
  const { Token } = await admin.createToken({ body: { Name: "logs" } })
  const { ID: ImageID } = await admin.createImage({ body: { Name: "app", Image: "quayside/python-app:latest" } })
  const { ID: ProjectID } = await admin.createProject({ body: { ProjectName: "Fit", Type: "http", ImageID } })
  const { ID, ControlURL } = await admin.startRun({ body: { ProjectID } })
  const head = `
import asyncio, sys
import quayside
ID = ${ID}
def show(line):
    if line["text"].startswith("line "):
        print(line["text"], flush=True)
`
  const env = {
    PATH: process.env.PATH,
    QUAYSIDE_SERVER: server.baseUrl,
    QUAYSIDE_TOKEN: Token,
  }
  const followers = Object.values(clients).map((program) => promisify(execFile)(python, ["-c", head + program], { env }))
  for (const each of followers) each.catch(() => {})
  using connection = await connectTo(ControlURL, bearerAuth(Token))
  const print = `i=0; while [ $i -lt ${count} ]; do echo "line $i" > /proc/1/fd/$((1 + i % 2)); i=$((i + 1)); sleep 0.02; done`
  const printer = openExec(connection, { command: ["setsid", "sh", "-c", print] })
  await printer.started
  printer.exited.catch(() => {})
  const isPrinted = async (line: number) => {
    for await (const { text } of await admin.runLogs({ query: { ID, follow: true } })) if (text === `line ${line}`) return
  }
  await Promise.all(followers.map(({ child }) => child.stdout && once(child.stdout, "data")))
  await isPrinted(50)
  await server.kill("SIGKILL")
  await sleep(500)
  await server.start()
  await isPrinted(150)
  await server.kill("SIGTERM")
  await server.start()
  await isPrinted(count - 1)
  await admin.stopRun({ query: { ID } })
  const expected = Array.from({ length: count }, (_, i) => `line ${i}\n`)
  for (const { stdout } of await Promise.all(followers))
    assert.deepEqual(stdout.split(/(?<=\n)/).toSorted(), expected.toSorted(), "each line came once")
})
