import assert from "node:assert/strict"
import { randomUUID } from "node:crypto"
import { readdir, readFile, stat, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { startDockerEngine, type TestDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { EngineError } from "../../engine.ts"

let rig: TestDockerEngine
before(async () => {
  rig = await startDockerEngine()
})
after(() => rig[Symbol.asyncDispose]())

describe("rights in a run's container", () => {
  test("a program runs as the runs' user, with a name and a writable home", async () => {
    const output = await rig.output(
      "id -u; id -g; whoami; echo $HOME $USER; cd && touch x && pwd && stat -c %a:%u .; touch /tmp/x && echo written",
      {},
    )
    assert.deepEqual(output.split("\n"), ["1000", "1000", "ann", "/home/ann ann", "/home/ann", "700:1000", "written"])
  })

  test("a program can execute files in its home", async () => {
    assert.equal(await rig.output("cd; cp /bin/busybox echo && ./echo well", {}), "well")
  })

  test("a program's home is at the given path, in a mount if there is one", async () => {
    const source = await rig.directory("users/ann")
    assert.equal(
      await rig.output("cd; pwd; touch kept", { env: { HOME: "/work" }, mounts: [{ source, target: "/work", readOnly: false }] }),
      "/work",
    )
    assert.ok((await readdir(join(rig.filesRoot, source))).includes("kept"))
    assert.equal(await rig.output("cd; pwd; touch gone", { env: { HOME: "/somewhere/else" } }), "/somewhere/else")
  })

  test("a program has no capabilities, gains no privileges, and is confined by seccomp", async () => {
    const status = await rig.output("cat /proc/self/status", {})
    for (const set of ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]) assert.match(status, new RegExp(`${set}:\\s0+$`, "m"))
    assert.match(status, /NoNewPrivs:\s1/)
    assert.match(status, /Seccomp:\s2/)
  })

  test("a program cannot write to its root file system without `writableRoot`", async () => {
    assert.match(await rig.output("touch /www/x || echo refused", {}), /refused/)
    assert.match(await rig.output("mount | head -1", { writableRoot: true }), /\(rw,/)
    assert.match(await rig.output("mount | head -1", {}), /\(ro,/)
  })
})

describe("limits of a run's container", () => {
  test("a container has limits on memory, processes, processor time and shared memory, and no swap", async () => {
    const spec = specOf({ image: rig.image, command: ["sleep", "1000"], cpus: 3, memoryMiB: 128 })
    await rig.engine.start(spec, () => {}, new AbortController().signal)
    const { HostConfig } = JSON.parse(await rig.docker("inspect", "--format", "{{json .}}", `quayside-${spec.key}`))
    assert.equal(HostConfig.Memory, 128 * 2 ** 20)
    assert.equal(HostConfig.MemorySwap, HostConfig.Memory)
    assert.equal(HostConfig.ShmSize, 64 * 2 ** 20)
    assert.equal(HostConfig.CpuQuota / HostConfig.CpuPeriod, 3)
    assert.ok(HostConfig.CpuShares >= 3 && HostConfig.CpuShares <= 1024 / 3, "a service of the host, with 1,024, comes first")
    assert.ok(HostConfig.PidsLimit >= 256)
    assert.deepEqual(HostConfig.LogConfig, { Type: "json-file", Config: { "max-size": "10m", "max-file": "2" } })
    assert.deepEqual(HostConfig.PortBindings ?? {}, {})
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })

  test("a program sees its limits in the kernel's files", async () => {
    const one = (...files: string[]) => `cat ${files.map((file) => `/sys/fs/cgroup/${file}`).join(" ")} 2>/dev/null`
    const script = [
      "cat /proc/self/limits",
      `echo pids $(${one("pids/pids.max", "pids.max")})`,
      `echo memory $(${one("memory/memory.limit_in_bytes", "memory.max")})`,
      `echo swap $(${one("memory/memory.memsw.limit_in_bytes", "memory.swap.max")})`,
      `echo cpu $(${one("cpu/cpu.cfs_quota_us", "cpu.max")})`,
    ]
    const output = await rig.output(script.join("; "), { cpus: 2, memoryMiB: 96 })
    assert.match(output, /^Max core file size +0 +0 /m)
    const [, soft, hard] = /^Max open files +(\d+) +(\d+) /m.exec(output) ?? []
    assert.ok(soft === hard && Number(hard) <= 65_536, output)
    assert.match(output, /^pids 2048$/m)
    const bytes = 96 * 2 ** 20
    assert.match(output, new RegExp(`^memory ${bytes}$`, "m"))
    // Version 1 of control groups counts memory and swap together, version 2 swap alone.
    assert.match(output, new RegExp(`^swap (${bytes}|0)$`, "m"))
    assert.match(output, /^cpu 200000( 100000)?$/m)
  })

  test("a run starts with the daemon's own limit on open files if the daemon may not raise it", async () => {
    await using engine = await rig.open({ openFiles: 2 ** 30 - 1 })
    const spec = specOf({ image: rig.image, command: ["sh", "-c", "ulimit -n; sleep 1000"] })
    await engine.start(spec, () => {}, new AbortController().signal)
    assert.equal((await engine.observe()).find(({ key }) => key === spec.key)?.state, "running")
    await engine.stop(spec.key, { graceMs: 0 })
  })
})

describe("mounts in a run's container", () => {
  test("a program writes to writable mounts and only reads read-only ones", async () => {
    const data = await rig.directory("data")
    await writeFile(join(rig.filesRoot, data, "file"), "content")
    const mounts = [
      { source: data, target: "/ro", readOnly: true },
      { source: data, target: "/rw", readOnly: false },
    ]
    const output = await rig.output(
      "cat /ro/file; echo; touch /ro/x 2>/dev/null || echo refused; touch /rw/x && echo written; mount | grep ' /r[ow] '",
      {
        mounts,
      },
    )
    assert.match(output, /^content\nrefused\nwritten\n/m)
    assert.match(output, / \/ro .*\(ro,/)
    assert.match(output, / \/rw .*\(rw,nosuid,nodev/)
    assert.equal((await stat(join(rig.filesRoot, data, "x"))).uid, 1000)
  })

  test("a mount point inside another mount belongs to the runs' user", async () => {
    const [code, data] = [await rig.directory("code"), await rig.directory("inner")]
    await writeFile(join(rig.filesRoot, data, "file"), "content")
    const mounts = [
      { source: data, target: "/work/in/data", readOnly: true },
      { source: code, target: "/work", readOnly: false },
    ]
    assert.equal(await rig.output("cat /work/in/data/file", { mounts }), "content")
    assert.equal((await stat(join(rig.filesRoot, code, "in"))).uid, 1000)
  })

  async function imageWith({ script = "true", changes }: { script?: string; changes: string[] }): Promise<string> {
    const image = `quayside-test/paths-${randomUUID()}:latest`
    const id = await rig.docker("run", "--detach", rig.image, "sh", "-c", script)
    await rig.docker("wait", id)
    await rig.docker("commit", ...changes.flatMap((change) => ["--change", change]), id, image)
    await rig.docker("rm", id)
    return image
  }

  test("an image's working directory and volumes inside a mount belong to the runs' user", async () => {
    const image = await imageWith({ changes: ["WORKDIR /work/in/deep", "VOLUME /work/kept/deep", "VOLUME work/plain/deep"] })
    const code = await rig.directory("code")
    const mounts = [{ source: code, target: "/work", readOnly: false }]
    assert.equal(await rig.output("pwd", { image, mounts, workDir: undefined }), "/work/in/deep")
    for (const created of ["in", "in/deep", "kept", "kept/deep", "plain", "plain/deep"])
      assert.equal((await stat(join(rig.filesRoot, code, created))).uid, 1000, created)
    await rig.docker("rmi", image)
  })

  const ways: Record<string, { script: string; changes?: string[]; targets?: string[] }> = {
    "the working directory": { script: "ln -s work /app", changes: ["WORKDIR /app/x/y"] },
    "the working directory over another link, which the mount hides": {
      script: "mkdir /work && ln -s /opt /work/out && ln -s /work/out /app",
      changes: ["WORKDIR /app/x/y"],
    },
    "a volume": { script: "ln -s /work /kept", changes: ["VOLUME /kept/x/y"] },
    "another mount": { script: "ln -s /work/x/y /other", targets: ["/other"] },
    "a path into another mount that is itself behind a link": { script: "ln -s /opt/real /work", changes: ["WORKDIR /opt/real/x/y"] },
    "the engine's init": { script: "rm -rf /sbin && ln -s /work/x/y /sbin" },
  }
  for (const [what, { script, changes = [], targets = [] }] of Object.entries(ways)) {
    test(`an image whose links lead into a mount does not start: ${what}`, async () => {
      const image = await imageWith({ script, changes })
      const code = await rig.directory("linked")
      const mounts = ["/work", ...targets].map((target) => ({ source: code, target, readOnly: false }))
      await assert.rejects(rig.output("true", { image, mounts, workDir: undefined }), { code: "image_unavailable" })
      assert.deepEqual(await readdir(join(rig.filesRoot, code)), [])
      await rig.docker("rmi", image)
    })
  }

  test("an image whose working directory leads into the kernel's files does not start", async () => {
    const image = await imageWith({ script: "ln -s /proc/self/fd /app", changes: ["WORKDIR /app/7"] })
    await assert.rejects(rig.output("true", { image }), { code: "image_unavailable", message: /\/app\/7, which leads into \/proc/ })
    await rig.docker("rmi", image)
  })

  test("targets below the image's links and with spaces in their names are mounted", async () => {
    const image = `quayside-test/links:${rig.instance}`
    const id = await rig.docker("run", "--detach", rig.image, "sh", "-c", "mkdir -p /opt/real && ln -s /opt/real /linked")
    await rig.docker("wait", id)
    await rig.docker("commit", id, image)
    await rig.docker("rm", id)
    const source = await rig.directory("data")
    await writeFile(join(rig.filesRoot, source, "file"), "content")
    const mounts = ["/linked/in", "/with space"].map((target) => ({ source, target, readOnly: true }))
    assert.equal(await rig.output("cat /opt/real/in/file '/with space/file'", { image, mounts }), "contentcontent")
    await rig.docker("rmi", image)
  })
})

describe("mounts on the host", () => {
  test("a container mounts the source paths themselves when isolation is off", async () => {
    await using engine = await rig.open({ isolation: "off" })
    const source = await rig.directory("data")
    const spec = specOf({ image: rig.image, command: ["sleep", "1000"], mounts: [{ source, target: "/data", readOnly: true }] })
    await engine.start(spec, () => {}, new AbortController().signal)
    const [mount] = JSON.parse(await rig.docker("inspect", "--format", "{{json .Mounts}}", `quayside-${spec.key}`)).filter(
      (each: { Destination: string }) => each.Destination === "/data",
    )
    assert.equal(mount.Source, join(rig.filesRoot, source))
    await assert.rejects(
      engine.start(
        specOf({ ...spec, key: "e".repeat(32), mounts: [{ source: "/none", target: "/data", readOnly: true }] }),
        () => {},
        new AbortController().signal,
      ),
      { code: "mount_missing" },
    )
    await engine.stop(spec.key, { graceMs: 0 })
  })

  test("the host has no pins of a running program", async () => {
    const source = await rig.directory("data")
    const spec = specOf({ image: rig.image, command: ["sleep", "1000"], mounts: [{ source, target: "/data", readOnly: true }] })
    await rig.engine.start(spec, () => {}, new AbortController().signal)
    assert.doesNotMatch(await readFile("/proc/self/mountinfo", "utf8"), new RegExp(rig.stagingDir))
    assert.deepEqual(await readdir(rig.stagingDir), [])
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })
})

describe("network, output and exit of a run's container", () => {
  test("a run cannot reach another one on its network, while Quayside reaches both", async () => {
    const spec = specOf({ image: rig.image, command: ["sh", "-c", "exec httpd -f -p 8080 -h /www"] })
    await rig.engine.start(spec, () => {}, new AbortController().signal)
    const address = await rig.engine.address(spec.key, 8080)
    assert.equal((await fetch(`http://${address?.host}:8080/`)).status, 200)
    assert.match(await rig.output(`wget -q -T 2 -O - http://${address?.host}:8080/ || echo unreachable`, {}), /unreachable/)
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })

  test("lines over 16 KiB are split, on both streams", async () => {
    const output = await rig.output("head -c 40000 /dev/zero | tr '\\0' x; echo; echo to stderr >&2", {})
    const pieces = output.split("\n").filter((line) => line.startsWith("x"))
    assert.equal(pieces.join("").length, 40_000)
    assert.match(output, /to stderr/)
  })

  test("a program that exits with 127 is not reported as a missing command", async () => {
    assert.equal(await rig.output("echo here; exit 127", {}), "here")
  })

  test("a file that is not executable fails with command_not_found", async () => {
    const spec = specOf({ image: rig.image, command: ["/www/index.html"] })
    const start = rig.engine.start(spec, () => {}, new AbortController().signal)
    await assert.rejects(start, (error) => error instanceof EngineError && error.code === "command_not_found")
  })
})
