import assert from "node:assert/strict"
import { existsSync, readFileSync } from "node:fs"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { eventually } from "../fixtures/eventually.ts"
import { processes, runMutants } from "../fixtures/mutants.ts"

test("a mutant that blocks its tests is caught at the deadline and leaves no process or file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-hanging-"))
  try {
    const { code, said } = await runMutants(["--part", "hanging", "--no-docker", "--deadline", "4"], folder)
    assert.match(said, /^caught .*a process is blocked and has started another\n +by: The tests did not end within 4 s$/m)
    assert.equal(code, 0)
    assert.deepEqual(await readdir(folder), [])
    assert.deepEqual(
      processes(({ cwd }) => cwd.startsWith(folder)),
      [],
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test("stopping the script ends its processes and removes its files", async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-hanging-"))
  try {
    const isThere = () => processes(({ cwd, words }) => cwd.startsWith(folder) && words.startsWith("sleep")).length > 0
    const { code, said } = await runMutants(["--part", "hanging", "--no-docker"], folder, async (child) => {
      await eventually("its tests hang, and have started something", isThere, 60_000)
      child.kill("SIGTERM")
    })
    assert.equal(code, 1)
    assert.equal(said, "")
    assert.deepEqual(await readdir(folder), [])
    assert.deepEqual(
      processes(({ cwd }) => cwd.startsWith(folder)),
      [],
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})

test("a mutant that blocks tests with containers leaves no container, network, rule, mount, group or file", {
  timeout: 300_000,
}, async () => {
  const folder = await mkdtemp(join(tmpdir(), "quayside-hanging-"))
  const inContainers = () => processes(({ groups }) => /\/quayside-isolated-\w+\/[0-9a-f]{64}/.test(groups))
  try {
    let isOver = false
    let most = 0
    const running = runMutants(["--part", "hanging", "--docker", "--deadline", "40"], folder).finally(() => (isOver = true))
    while (!isOver) {
      most = Math.max(most, inContainers().length)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    const { code, said } = await running
    assert.match(said, /^caught .*a process is blocked and has started containers\n +by: The tests did not end within 40 s$/m)
    assert.equal(code, 0)
    assert.ok(most > 0, "there were containers")
    assert.deepEqual(inContainers(), [])
    assert.deepEqual(await readdir(folder), [])
    assert.ok(!readFileSync("/proc/self/mountinfo", "utf8").includes(folder))
    // A network and its rules end with its last process, and it has none.
    assert.deepEqual(
      processes(({ cwd }) => cwd.startsWith(folder)),
      [],
    )
    for (const root of ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"])
      if (existsSync(root)) assert.ok(!(await readdir(root)).some((name) => name.startsWith("quayside-isolated-")), root)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
