import assert from "node:assert/strict"
import { execFile, execFileSync, spawn, spawnSync } from "node:child_process"
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { startDockerEngine, type TestDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { type PrivateDaemon, privateDaemon } from "../../../../test/fixtures/docker/dockerd.ts"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"

const run = promisify(execFile)
const ignore = () => {}

/* A private daemon: without the check it hangs. */
let daemon: PrivateDaemon
let rig: TestDockerEngine
before(async () => {
  daemon = await privateDaemon({ dataMiB: 128 })
  await daemon.start()
  rig = await startDockerEngine({ socketPath: daemon.socketPath })
})
after(async () => {
  await rig[Symbol.asyncDispose]()
  await daemon[Symbol.asyncDispose]()
})

/** An image of busybox with additional files. */
async function imageWith(name: string, make: (root: string) => void, volumes: readonly string[] = []): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), "quayside-image-"))
  try {
    for (const folder of ["bin", "etc", "tmp"]) mkdirSync(join(root, folder))
    cpSync("/usr/bin/busybox", join(root, "bin/busybox"))
    symlinkSync("busybox", join(root, "bin/sleep"))
    make(root)
    await run("tar", ["-C", root, "-cf", `${root}.tar`, "."])
    const changes = volumes.length > 0 ? ["--change", `VOLUME ${JSON.stringify(volumes)}`] : []
    await rig.docker("import", ...changes, `${root}.tar`, `${name}:latest`)
    return `${name}:latest`
  } finally {
    rmSync(root, { recursive: true })
    rmSync(`${root}.tar`, { force: true })
  }
}

const startOf = (image: string) => {
  const spec = specOf({ image, command: ["sleep", "1000"] })
  return { spec, done: rig.engine.start(spec, ignore, AbortSignal.timeout(60_000)) }
}

const refused = { code: "image_unavailable", message: /^The image's \/etc\/(passwd|group) must be a file of at most 1 MiB/ }

test("an image with account files that block the daemon or fill its memory does not start", async () => {
  const hostile: Record<string, (root: string) => void> = {
    fifo: (root) => execFileSync("mkfifo", [join(root, "etc/passwd")]),
    "linked-fifo": (root) => {
      execFileSync("mkfifo", [join(root, "tmp/fifo")])
      symlinkSync("passwd", join(root, "etc/group"))
      symlinkSync("../tmp/fifo", join(root, "etc/passwd"))
    },
    device: (root) => execFileSync("mknod", [join(root, "etc/group"), "c", "1", "5"]),
    huge: (root) => {
      writeFileSync(join(root, "etc/group"), "")
      truncateSync(join(root, "etc/group"), 2 ** 21)
    },
  }
  for (const [name, make] of Object.entries(hostile)) {
    await assert.rejects(startOf(await imageWith(`hostile-${name}`, make)).done, refused, name)
    assert.deepEqual(await rig.engine.observe(), [], name)
  }
  assert.equal(await rig.docker("ps", "--all", "--quiet"), "")
})

test("an image cannot hide its account files with a volume", async () => {
  const hidden: Record<string, [fifo: string, link: string, to: string, volume: string]> = {
    directly: ["etc/passwd", "link", "etc", "/etc"],
    "behind-a-link": ["etc/passwd", "link", "etc", "/link"],
    "behind-a-link-above": ["etc/passwd", "link", ".", "/link/etc"],
    "through-a-link": ["tmp/fifo", "etc/passwd", "/tmp/fifo", "/tmp"],
  }
  for (const [name, [fifo, link, to, volume]] of Object.entries(hidden)) {
    const make = (root: string) => {
      execFileSync("mkfifo", [join(root, fifo)])
      symlinkSync(to, join(root, link))
    }
    await assert.rejects(startOf(await imageWith(`hidden-${name}`, make, [volume])).done, refused, name)
  }
  assert.equal(await rig.docker("volume", "ls", "--quiet"), "")
})

test("an image with linked or missing account files starts", async () => {
  const images = [
    await imageWith("linked", (root) => {
      writeFileSync(join(root, "tmp/accounts"), "root:x:0:0::/:/bin/sh\n")
      for (const name of ["passwd", "group"]) symlinkSync("/tmp/accounts", join(root, "etc", name))
    }),
    await imageWith("missing", ignore),
  ]
  for (const image of images) {
    const { spec, done } = startOf(image)
    await done
    await rig.engine.stop(spec.key, { graceMs: 0 })
  }
})

test("a container that hangs in the daemon does not hide the others", { timeout: 180_000 }, async () => {
  const good = startOf(rig.image)
  await good.done
  const image = await imageWith("hanging", (root) => execFileSync("mkfifo", [join(root, "etc/passwd")]))
  const key = "ab".repeat(16)
  const labels = [`quayside.instance=${rig.instance}`, `quayside.key=${key}`].flatMap((label) => ["--label", label])
  const id = await rig.docker("create", "--network", "none", ...labels, image, "sleep", "1000")
  const words = ["-H", `unix://${daemon.socketPath}`]
  const hanging = spawn("docker", [...words, "start", id], { stdio: "ignore" })
  const inspectionHangs = () => spawnSync("timeout", ["2", "docker", ...words, "inspect", id], { stdio: "ignore" }).status === 124
  await eventually("an inspection hangs", inspectionHangs, 60_000)
  const seen = await rig.engine.observe()
  assert.deepEqual(new Map(seen.map((each) => [each.key, each.state])), new Map([[good.spec.key, "running"] as const, [key, "created"]]))
  hanging.kill()
  await daemon.kill("SIGKILL")
  await daemon.start()
})
