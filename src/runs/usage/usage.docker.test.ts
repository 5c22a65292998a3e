import assert from "node:assert/strict"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import type { UsagePoint } from "../index.ts"
import { DockerFixture } from "../testing/docker-fixture.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"

const mib = 2 ** 20

test("a container's processor, memory, traffic and memory that ran out are stored and stay after its end", async () => {
  const usageDir = await mkdtemp(join(tmpdir(), "quayside-usage-"))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(usageDir, { recursive: true }))
  const docker = stack.use(await DockerFixture.open())
  const settings = { graceMs: 500, observeEveryMs: 1_000, sampleEveryMs: 200, usageDir }
  const fixture = stack.use(await RunsFixture.open({ settings }))
  const runs = stack.use(await fixture.runs({ engine: await docker.engine() }))
  const script = "cd /tmp && head -c 4194304 /dev/zero > zeros && (python3 -m http.server 8000 & while :; do :; done)"
  const request = fixture.request("quayside/python-app", { memoryMiB: 128, plan: docker.plan({ command: ["sh", "-c", script] }) })
  const run = await runs.waitUntilSettled((await runs.start(request)).id)
  assert.equal(run.state, "ready", JSON.stringify(run.reason))

  const usage = () => runs.usage(run, { from: 0, to: Date.now(), stepMs: 10_000 })
  const seen = (what: string, test: (point: UsagePoint) => boolean) =>
    eventually(what, async () => (await usage()).points.some(test), 60_000)
  // A busy machine gives the loop less than its processor.
  await seen("the processor is busy", ({ cpus }) => cpus !== null && cpus > 0.2 && cpus < 1.5)
  await seen(
    "memory is used",
    ({ memory, maxMemory }) => memory !== null && maxMemory !== null && memory > 4 * mib && maxMemory < 128 * mib,
  )
  const address = runs.target(run.id)?.address
  const download = await fetch(`http://${address?.host}:${address?.port}/zeros`)
  assert.equal((await download.arrayBuffer()).byteLength, 4 * mib)
  await seen("the download is counted", ({ networkOut }) => networkOut !== null && networkOut > 4 * mib)
  const container = await docker.containerOf(run.key)
  await docker.docker("exec", container, "python3", "-c", "b'x' * (512 << 20)").catch(() => {})
  await eventually("memory ran out", async () => (await usage()).marks.some(({ kind }) => kind === "out_of_memory"), 60_000)
  await runs.stop(run.id, { by: "stopped_by_user" })
  const { points, marks } = await runs.usage(await fixture.row(run.id), { from: 0, to: Date.now(), stepMs: 10_000 })
  assert.deepEqual([marks[0]?.kind, marks.at(-1)?.kind], ["out_of_memory", "exit"])
  assert.ok(points.some(({ networkOut }) => (networkOut ?? 0) > 4 * mib))
})
