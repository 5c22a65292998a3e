import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { promisify } from "node:util"
import { startDockerEngine, type TestDockerEngine } from "../fixtures/docker/docker-engine.ts"
import { specOf } from "../fixtures/run-spec.ts"

const run = promisify(execFile)
const image = "quayside/python-app:latest"
const never = new AbortController().signal

interface Told {
  refused: Record<string, string>
  other: Record<string, string>
  allowed: Record<string, unknown>
}

const skip = process.arch !== "x64" && "the calls are numbered as on x86-64"

describe("the kernel's calls from inside a run", { skip }, () => {
  let rig: TestDockerEngine
  let program: string
  before(async () => {
    program = await readFile(join(import.meta.dirname, "calls.py"), "utf8")
    rig = await startDockerEngine()
  })
  after(() => rig[Symbol.asyncDispose]())

  test("calls that reach outside the run fail, while threads, children and sockets work", async () => {
    const { refused, other, allowed } = JSON.parse(
      await rig.output('exec python3 -c "$PROGRAM"', { image, env: { PROGRAM: program } }),
    ) as Told
    assert.deepEqual(
      Object.entries(refused).filter(([, became]) => became !== "EPERM"),
      [],
    )
    assert.deepEqual(other, {
      clone3: "ENOSYS",
      "prctl(PR_SET_SECCOMP)": "EINVAL",
      "prctl(PR_SET_SECCOMP), with a bit that the kernel passes over": "EINVAL",
      "seccomp(SECCOMP_SET_MODE_FILTER)": "EINVAL",
      "poll of 1,025": "EINVAL",
      "ppoll of 1,025": "EINVAL",
      "select of 1,025": "EINVAL",
      "pselect6 of 1,025": "EINVAL",
      "the calls of x32": "signal 31",
      "the calls of 32 bits": "signal 31",
    })
    assert.deepEqual(allowed, {
      threads: ["ran"],
      "a child": 0,
      sockets: [true, true, true],
      "a pair": 2,
      "closing descriptors": "done",
      "calls on descriptors": [0, true],
      "waiting for 1,024": ["done", "done"],
      "options of sockets": ["EINVAL", "EINVAL", "EINVAL"],
      "a name and no new privileges": ["done", "done"],
      "a device call": "00000000",
    })
    const { stdout } = await run("docker", ["run", "--rm", "--security-opt", "seccomp=unconfined", image, "python3", "-c", program])
    const unconfined = JSON.parse(stdout.trim().split("\n").at(-1) ?? "{}") as Told
    assert.equal(unconfined.refused["socket(AF_VSOCK)"], "done", "it is open where nothing is confined")
  })

  test("the administrator's own profile replaces the default", async () => {
    const folder = await mkdtemp(join(tmpdir(), "quayside-calls-"))
    try {
      const seccompFile = join(folder, "profile.json")
      const own = JSON.parse(await readFile(new URL("../../src/engine/docker/containers/seccomp.json", import.meta.url), "utf8"))
      own.syscalls.push({ names: ["sethostname"], action: "SCMP_ACT_ERRNO", errnoRet: 95 })
      await writeFile(seccompFile, JSON.stringify(own))
      await using engine = await rig.open({ seccompFile })
      const spec = specOf({ image, command: ["python3", "-c", "import socket; socket.sethostname('x')"] })
      await engine.start(spec, () => {}, never)
      const lines = await Array.fromAsync(engine.logs(spec.key, { follow: true }))
      await engine.stop(spec.key, { graceMs: 0 })
      assert.match(lines.at(-1)?.text ?? "", /\[Errno 95\]/)
    } finally {
      await rm(folder, { recursive: true })
    }
  })
})
