import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { bounds } from "#contract"
import { startDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { MountPins } from "./mount-pins.ts"

/** Long enough for the other starts to come as far as they may. */
const pinMs = 300

test("few starts of one person look up directories at once, and wait for that before their authorization", async (t) => {
  await using rig = await startDockerEngine()
  const source = await rig.directory("data")
  /** The starts whose mounts are authorized and not yet looked up. */
  let authorized = 0
  let mostAuthorized = 0
  const { pin } = MountPins.prototype
  t.mock.method(MountPins.prototype, "pin", async function (this: MountPins, ...args: Parameters<MountPins["pin"]>) {
    await sleep(pinMs)
    return await pin.apply(this, args).finally(() => (authorized -= 1))
  })
  const mounts = [{ source, target: "/data", readOnly: true }]
  const authorize = async () => {
    authorized += 1
    mostAuthorized = Math.max(mostAuthorized, authorized)
    return { mounts }
  }
  const specs = Array.from({ length: 5 }, () => specOf({ image: rig.image, command: ["sleep", "1000"], mounts }))
  await Promise.all(specs.map((spec) => rig.engine.start(spec, () => {}, new AbortController().signal, authorize)))
  await Promise.all(specs.map(({ key }) => rig.engine.stop(key, { graceMs: 0 })))
  assert.equal(mostAuthorized, bounds.containers.mountPinsOfPerson.value)
})
