import assert from "node:assert/strict"
import { stat } from "node:fs/promises"
import { after, before, describe, test } from "node:test"
import { startDockerEngine, type TestDockerEngine } from "../fixtures/docker/docker-engine.ts"
import { specOf } from "../fixtures/run-spec.ts"

const never = new AbortController().signal
const ignore = () => {}

describe("a run that exhausts its limits", () => {
  let rig: TestDockerEngine
  before(async () => {
    rig = await startDockerEngine()
  })
  after(() => rig[Symbol.asyncDispose]())

  test("cannot start more processes than its limit, while others can", async () => {
    const bomb = specOf({
      image: rig.image,
      command: ["sh", "-c", "n=0; while [ $n -lt 4000 ]; do sleep 1000 & n=$((n+1)); done; sleep 1000"],
      memoryMiB: 1_024,
    })
    await rig.engine.start(bomb, ignore, never)
    const lines = rig.engine.logs(bomb.key, { follow: true })
    for await (const { text } of lines) if (/can't fork/.test(text)) break
    assert.equal(await rig.output("echo well", { user: "bob" }), "well")
    await rig.engine.stop(bomb.key, { graceMs: 0 })
  })

  test("is the only run killed when it exhausts its memory", async () => {
    const quiet = specOf({ image: rig.image, command: ["sleep", "1000"], user: "bob" })
    const bomb = specOf({ image: rig.image, command: ["tail", "/dev/zero"], memoryMiB: 32 })
    await rig.engine.start(quiet, ignore, never)
    await rig.engine.start(bomb, ignore, never)
    await Array.fromAsync(rig.engine.logs(bomb.key, { follow: true }))
    const seen = await rig.engine.observe()
    assert.deepEqual(
      [bomb, quiet].map(({ key }) => seen.find((each) => each.key === key)).map((each) => [each?.state, each?.oomKilled]),
      [
        ["exited", true],
        ["running", false],
      ],
    )
    for (const { key } of [quiet, bomb]) await rig.engine.stop(key, { graceMs: 0 })
  })

  test("writes at most two files of 10 MB with its output", async () => {
    const spec = specOf({
      image: rig.image,
      command: ["sh", "-c", "head -c 40000000 /dev/zero | tr '\\0' '\\n'; sleep 1000"],
      memoryMiB: 128,
    })
    await rig.engine.start(spec, ignore, never)
    const path = await rig.docker("inspect", "--format", "{{.LogPath}}", `quayside-${spec.key}`)
    const size = async (name: string) => (await stat(name).catch(() => undefined))?.size ?? 0
    let [sum, maxBytes] = [0, 0]
    while ((await size(`${path}.1`)) === 0 || sum < 11_000_000) {
      sum = (await size(path)) + (await size(`${path}.1`))
      maxBytes = Math.max(maxBytes, sum)
    }
    assert.ok(maxBytes < 21_000_000, `${maxBytes} bytes`)
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })

  test("sees nothing of the host in /proc and /sys that it could use", async () => {
    const masked = ["/proc/kcore", "/proc/keys", "/proc/timer_list"]
    assert.equal(
      await rig.output(
        `cat ${masked.join(" ")} 2>/dev/null | head -c 10; ls /proc/acpi /proc/scsi /sys/firmware 2>/dev/null | grep -v :`,
        {},
      ),
      "",
    )
    assert.match(
      await rig.output("for f in sysrq-trigger sys/kernel/panic; do (echo 0 > /proc/$f) 2>/dev/null || echo refused; done", {}),
      /^refused\nrefused$/,
    )
    assert.equal(await rig.output("ls -d /var/run/docker.sock /run/docker.sock /dev/sda /dev/vda /dev/kvm 2>/dev/null", {}), "")
  })

  test("leaves no volume that its image declared", async () => {
    const image = `quayside-test/volume:${rig.instance}`
    const id = await rig.docker("create", rig.image, "true")
    await rig.docker("commit", "--change", "VOLUME /volume", id, image)
    await rig.docker("rm", id)
    const spec = specOf({ image, command: ["sleep", "1000"] })
    await rig.engine.start(spec, ignore, never)
    const [volume] = JSON.parse(await rig.docker("inspect", "--format", "{{json .Mounts}}", `quayside-${spec.key}`)).filter(
      (each: { Type: string }) => each.Type === "volume",
    )
    await rig.engine.stop(spec.key, { graceMs: 0 })
    await assert.rejects(rig.docker("volume", "inspect", volume.Name))
    await rig.docker("rmi", image)
  })
})
