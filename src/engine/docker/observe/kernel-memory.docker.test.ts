import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { startDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"

const common = `import ctypes, fcntl, os, socket, struct, time
kept, netlink = [], struct.pack("IHHII", 20, 22, 5, 1, 0) + bytes(4)
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.bind(("127.0.0.1", 0))
libc = ctypes.CDLL(None)
def timestamps():
    """A socket full of its own messages, which came back with the time at which they were sent."""
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    opened.setsockopt(socket.SOL_SOCKET, 37, 0b10010)
    for _ in range(4): opened.sendto(bytes(50_000), receiver.getsockname())
    return opened
`
const programs = {
  "answers of netlink": `
for _ in range(120):
    opened = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    kept.append(opened)
    for _ in range(500): opened.send(netlink)`,
  "timestamps in sockets that are in no list of the kernel": `
for _ in range(120):
    kept.append(timestamps())
    libc.connect(kept[-1].fileno(), bytes(16), 16)`,
  "timestamps in sockets that wait in another socket": `
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
for _ in range(30):
    batch = [timestamps() for _ in range(20)]
    socket.send_fds(pair[0], [b"x"], [each.fileno() for each in batch])
    for each in batch: each.close()`,
  "timestamps in sockets of a process whose first thread ended": `
import threading
for _ in range(120): kept.append(timestamps())
threading.Thread(target=lambda: (print("ready", flush=True), time.sleep(1000))).start()
libc.pthread_exit(None)`,
  "connections that the kernel tracks": `
for at in range(80_000): receiver.sendto(b"x", (f"127.{1 + at // 62_500}.{at // 250 % 250}.{1 + at % 250}", 9))`,
  "locks on files": `
for file in range(150):
    kept.append(os.open(f"/tmp/{file}", os.O_RDWR | os.O_CREAT))
    for at in range(1000): fcntl.lockf(kept[-1], fcntl.LOCK_EX, 1, 2 * (1000 - at))`,
}
const ordinary = `
for _ in range(400): kept.append(socket.socketpair())
for at in range(400): kept.append(os.open(f"/tmp/{at}", os.O_RDWR | os.O_CREAT)); fcntl.lockf(kept[-1], fcntl.LOCK_EX)
for _ in range(200): kept.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)); kept[-1].sendto(b"x", receiver.getsockname())`

test("a run whose sockets or locks hold more of the kernel's memory than is allowed ends, and says why; others continue", async () => {
  await using rig = await startDockerEngine()
  const stop = new AbortController()
  const start = async (program: string) => {
    const command = ["python3", "-c", `${common}${program}\nprint("ready", flush=True)\ntime.sleep(1000)`]
    const spec = specOf({ image: "quayside/python-app:latest", memoryMiB: 64, command })
    await rig.engine.start(spec, () => {}, stop.signal)
    for await (const { text } of rig.engine.logs(spec.key, { follow: true })) if (text === "ready") return spec.key
    throw new Error(`It ended: ${program}`)
  }
  const keys = await Promise.all([...Object.values(programs), ordinary].map(start))
  const stateOf = async () => {
    const runs = await rig.engine.observe()
    return keys.map((key) => runs.find((run) => run.key === key)).map((run) => run?.cause ?? run?.state)
  }
  assert.deepEqual(new Set(await stateOf()), new Set(["running"]))
  const watching = rig.engine.watch(() => {}, stop.signal)
  const ended = keys.length - 1
  const used: Buffer[] = []
  await eventually(
    "they have ended",
    async () => {
      // Sockets that nobody can look at count once much memory is used up quickly.
      if (used.length < 6) used.push(Buffer.alloc(300 * 2 ** 20, 1))
      await pause(3_000)
      return (await stateOf()).filter((state) => state !== "running").length >= ended
    },
    90_000,
  )
  const states = await stateOf()
  for (const [at, program] of Object.keys(programs).entries()) {
    const state = states[at]
    assert.ok(typeof state === "object" && state.code === "oom_killed", `${program}: ${JSON.stringify(state)}`)
    const counted = program.includes("another socket") ? "more than can be counted" : "at least \\d\\d MiB"
    assert.match(state.msg, new RegExp(`^The kernel held ${counted} for`))
  }
  assert.equal(states.at(-1), "running")
  stop.abort()
  await watching
})
