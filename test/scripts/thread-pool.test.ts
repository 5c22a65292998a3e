import assert from "node:assert/strict"
import { readdirSync, readFileSync } from "node:fs"
import { test } from "node:test"
import { bounds } from "#contract"
import { startServerProcess } from "../server-process.ts"

test("the thread pool has more threads than starts may look up directories", async () => {
  await using server = await startServerProcess({ QUAYSIDE_ENGINE: "fake" })
  // The page of the web UI is read from its file.
  await (await fetch(`${server.baseUrl}/ui/`)).arrayBuffer()
  const tasks = `/proc/${server.child.pid}/task`
  const names = readdirSync(tasks).map((id) => readFileSync(`${tasks}/${id}/comm`, "utf8").trim())
  const pool = names.filter((name) => name === "libuv-worker").length
  assert.ok(pool > bounds.containers.mountPins.value, `${pool} threads`)
})
