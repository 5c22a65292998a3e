import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { after, before, describe, test } from "node:test"
import { promisify } from "node:util"
import { silentLogger } from "#kit"
import { startDockerEngine, type TestDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { type PrivateDaemon, privateDaemon } from "../../../../test/fixtures/docker/dockerd.ts"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"

const run = promisify(execFile)
const never = new AbortController().signal
const ignore = () => {}
const mib = 2 ** 20

/** Writes this many MiB and prints the number of bytes written. */
const writing = (count: number) => `dd if=/dev/zero of=/room/x bs=1048576 count=${count} 2>&1; stat -c '%s bytes are there' /room/x`
const bytesIn = (output: string) => Number(/(\d+) bytes are there/.exec(output)?.[1])

/**
 * An engine on a private daemon with this file system, with the engine's log, and with images whose
 * programs can write to `/room`.
 */
async function openOn(disk: "xfs" | "btrfs") {
  const daemon: PrivateDaemon = await privateDaemon({ disk, dataMiB: 1_024 })
  await daemon.start()
  const logged: string[] = []
  const log = (_: object, text: string) => void logged.push(text)
  const logger = { ...silentLogger, info: log, warn: log }
  const rig: TestDockerEngine = await startDockerEngine({ socketPath: daemon.socketPath, logger })
  const imageOf = async (name: string, script: string, ...changes: string[]) => {
    const image = `quayside-test/${name}:latest`
    const container = await rig.docker("create", "--network=none", rig.image, "sh", "-c", `mkdir -m 777 /room && ${script}`)
    await rig.docker("start", "--attach", container)
    await rig.docker("commit", ...changes, container, image)
    await rig.docker("rm", container)
    return image
  }
  return {
    rig,
    logged,
    imageOf,
    room: { image: await imageOf("room", "true"), writableRoot: true },
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]()
      await daemon[Symbol.asyncDispose]()
    },
  }
}

describe("a daemon that can limit a container's file system", () => {
  let it: Awaited<ReturnType<typeof openOn>>
  before(async () => {
    it = await openOn("btrfs")
  })
  after(() => it[Symbol.asyncDispose]())

  test("a program can write up to its limit, and writes well beyond fail", async () => {
    assert.equal(bytesIn(await it.rig.output(writing(60), { ...it.room, diskMiB: 60 })), 60 * mib)
    const small = "i=0; while [ $i -lt 8000 ]; do echo 0123456789 > /room/$i || break; i=$((i + 1)); done; echo $i files"
    assert.equal(await it.rig.output(small, { ...it.room, diskMiB: 1 }), "8000 files")
    const beyond = await it.rig.output(writing(300), { ...it.room, diskMiB: 60 })
    assert.match(beyond, /Disk quota exceeded|No space left on device/)
    assert.ok(bytesIn(beyond) >= 60 * mib && bytesIn(beyond) < 120 * mib, beyond)
    assert.equal(bytesIn(await it.rig.output(writing(300), it.room)), 300 * mib, "a run without `diskMiB` has no limit")
    assert.deepEqual(it.logged, [])
  })

  test("a small limit is left entirely to the program, however large the image is", async () => {
    const image = await it.imageOf("large", "dd if=/dev/urandom of=/filling bs=1048576 count=100")
    const output = await it.rig.output(writing(10), { ...it.room, image, diskMiB: 10 })
    assert.equal(bytesIn(output), 10 * mib, output)
    assert.deepEqual(it.logged, [])
  })

  test("`writableLayers` has the limit and the bytes written, image volumes included, which a stop removes", async () => {
    const image = await it.imageOf("volume", "true", "--change", "VOLUME /room")
    const script = "dd if=/dev/zero of=/room/x bs=1048576 count=20; echo written; exec sleep 1000"
    const spec = specOf({ image, command: ["sh", "-c", script], diskMiB: 30 })
    await it.rig.engine.start(spec, ignore, never)
    for await (const { text } of it.rig.engine.logs(spec.key, { follow: true })) if (text === "written") break
    const layer = (await it.rig.engine.writableLayers()).get(spec.key)
    assert.equal(layer?.maxMiB, 30)
    assert.ok(layer.bytes >= 20 * mib && layer.bytes < 22 * mib, String(layer.bytes))
    const volume = await it.rig.docker(
      "inspect",
      "--format",
      '{{range .Mounts}}{{if eq .Type "volume"}}{{.Source}}{{end}}{{end}}',
      `quayside-${spec.key}`,
    )
    await run("ls", [volume])
    await it.rig.engine.stop(spec.key, { graceMs: 0 })
    await assert.rejects(run("ls", [volume]))
  })
})

test("a run starts without a disk limit, logged once, when the daemon's file system has no quotas", async () => {
  await using it = await openOn("xfs")
  for (let round = 0; round < 2; round += 1) {
    assert.equal(bytesIn(await it.rig.output(writing(150), { ...it.room, diskMiB: 20 })), 150 * mib)
  }
  assert.deepEqual(it.logged, ["Docker cannot limit what a run writes to its own file system here: MaxDisk is only monitored"])
  let free = 0
  // The file system frees the space of removed containers in the background.
  await eventually("the space of the removed runs is free", async () => {
    free = (await it.rig.engine.freeDisk()) ?? 0
    return free > 850 * mib
  })
  assert.ok(free < 1_024 * mib, "not of the disk with the daemon's data")
  const spec = specOf({ ...it.room, command: ["sh", "-c", `${writing(100)}; sync; echo written; exec sleep 1000`], diskMiB: 20 })
  await it.rig.engine.start(spec, ignore, never)
  for await (const { text } of it.rig.engine.logs(spec.key, { follow: true })) if (text === "written") break
  assert.equal((await it.rig.engine.writableLayers()).get(spec.key)?.maxMiB, null)
  const left = await it.rig.engine.freeDisk()
  assert.ok(left !== null && left < free - 90 * mib, `${left} of ${free} bytes are free`)
})
