import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { after, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { openExec } from "#channel"
import { connectTo } from "../control/control-client.ts"
import { startTestServer } from "../test-server.ts"

const server = await startTestServer({ engine: "docker" })
after(() => server[Symbol.asyncDispose]())

test("a program that holds the lock of the pipe of its input delays nobody", async () => {
  const ann = await server.person("ann")
  const image = await server.admin.createImage({ body: { Name: "app", Image: "quayside/python-app", IsPublished: true } })
  const project = await ann.client.createProject({ body: { ProjectName: "p", Type: "http", ImageID: image.ID } })
  const run = await ann.client.startRun({ body: { ProjectID: project.ID } })
  using connection = await connectTo(run.ControlURL, ann.authorization)
  const script = await readFile(join(import.meta.dirname, "held-pipe.py"), "utf8")
  const program = openExec(connection, { command: ["python3", "-c", script] })
  await program.started
  const delay = monitorEventLoopDelay({ resolution: 10 })
  let held = 0
  let printed = ""
  for await (const { data } of program.stream) {
    printed += new TextDecoder().decode(data)
    if (printed.includes("ready")) delay.enable()
    held = printed.split("held").length - 1
    if (held >= 5) break
    await program.stream.write(new Uint8Array(64))
    await sleep(50)
  }
  assert.ok(held >= 5, `The program held the lock ${held} times: ${printed}`)
  const longest = delay.max / 1e6
  assert.ok(longest < 300, `Everybody waited ${longest} ms`)
  await ann.client.stopRun({ query: { ID: run.ID } })
})
