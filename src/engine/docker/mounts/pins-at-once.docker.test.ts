import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { startDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { MountPins } from "./mount-pins.ts"

const pinMs = 300

test("few starts of one person look up directories at once, and wait for that before their authorization", async (t) => {
  await using rig = await startDockerEngine()
  const source = await rig.directory("data")
  let running = 0
  let mostRunning = 0
  const authorizedAt = new Map<string, number>()
  const waitedMs: number[] = []
  const { pin } = MountPins.prototype
  t.mock.method(MountPins.prototype, "pin", async function (this: MountPins, ...args: Parameters<MountPins["pin"]>) {
    waitedMs.push(performance.now() - (authorizedAt.get(args[0].key) ?? 0))
    running += 1
    mostRunning = Math.max(mostRunning, running)
    await sleep(pinMs)
    return await pin.apply(this, args).finally(() => (running -= 1))
  })
  const mounts = [{ source, target: "/data", readOnly: true }]
  const specs = Array.from({ length: 5 }, () => specOf({ image: rig.image, command: ["sleep", "1000"], mounts }))
  const start = ({ key }: { key: string }, n: number) =>
    rig.engine.start(
      specs[n] as (typeof specs)[number],
      () => {},
      new AbortController().signal,
      async () => {
        authorizedAt.set(key, performance.now())
        return { mounts }
      },
    )
  await Promise.all(specs.map(start))
  await Promise.all(specs.map(({ key }) => rig.engine.stop(key, { graceMs: 0 })))
  assert.ok(mostRunning <= 2, `${mostRunning} at once`)
  assert.ok(Math.max(...waitedMs) < pinMs, `${Math.max(...waitedMs)} ms`)
})
