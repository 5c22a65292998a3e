import assert from "node:assert/strict"
import { test } from "node:test"
import { startDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { EngineError } from "../../engine.ts"

/** The daemon on a machine of tests may have fewer files open. */
const depth = 25_000

test("a run with more directories in each other than the daemon may have files open is removed", async () => {
  await using rig = await startDockerEngine()
  const script = `import os, time
os.chdir("/var/tmp")
for _ in range(${depth}): os.mkdir("a"); os.chdir("a")
print("made", flush=True)
time.sleep(1000)`
  const spec = specOf({ image: "quayside/python-app", command: ["python3", "-c", script], writableRoot: true })
  await rig.engine.start(spec, () => {}, new AbortController().signal)
  for await (const { text } of rig.engine.logs(spec.key, { follow: true })) if (text === "made") break
  // On a busy machine one call does not suffice: the next one goes on.
  const isTooLate = (error: unknown) => error instanceof EngineError && error.code === "timeout_stopping"
  const stop = () =>
    rig.engine.stop(spec.key, { graceMs: 0 }).then(
      () => true,
      (error: unknown) => {
        if (isTooLate(error)) return false
        throw error
      },
    )
  await eventually("the run is removed", stop, 600_000)
  assert.deepEqual(await rig.engine.observe(), [])
})
