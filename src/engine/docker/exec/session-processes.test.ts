import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { readFileSync } from "node:fs"
import { test } from "node:test"
import { HeavyWorkQueue } from "#kit"
import { signalSession } from "./session-processes.ts"

test("many signals to programs of a container share the search for their processes, and reach their session only", async (t) => {
  // This process plays the container's init.
  const container = readFileSync("/proc/self/cgroup", "latin1").slice(0, 20)
  const search = t.mock.method(HeavyWorkQueue.prototype, "run")
  const [program, other] = [0, 1].map(() => spawn("sleep", ["60"], { detached: true, stdio: "ignore" })) as [
    ReturnType<typeof spawn>,
    ReturnType<typeof spawn>,
  ]
  const session = { container, init: process.pid, leader: program.pid as number }
  const found = await signalSession(session, 0)
  if (found === undefined) return t.skip("the control groups are not visible here")
  assert.equal(found, 1)
  const forOne = search.mock.callCount()
  assert.deepEqual(await Promise.all(Array.from({ length: 100 }, () => signalSession(session, 0))), Array(100).fill(1))
  assert.ok(search.mock.callCount() <= 4 * forOne, `${search.mock.callCount()} turns for 101 searches, ${forOne} for one`)
  const ended = once(program, "exit")
  await signalSession(session, "SIGKILL")
  assert.deepEqual(await ended, [null, "SIGKILL"])
  assert.equal(other.exitCode ?? other.signalCode, null)
  other.kill()
})
