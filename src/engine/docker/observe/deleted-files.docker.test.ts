import assert from "node:assert/strict"
import { test } from "node:test"
import { startDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"

const mib = 2 ** 20
/** Keeps deleted files open: one through two descriptors, one as a mapping alone, one in `/tmp`. */
const holds = `use Fcntl; sub held { my ($path, $size) = @_; open my $file, "+>", $path or die; unlink $path; syswrite $file, "x" x $size; $file }
my $stored = held("/data/stored", 3 * ${mib}); open my $again, ">&", $stored; my $memory = held("/tmp/memory", 5 * ${mib}); my $layer = held("/var/tmp/layer", 2 * ${mib});
print "ready\\n"; STDOUT->flush; sleep 1000`

test("deleted files that a run has open count once, in its mounts and in its own file system, but not in memory", async () => {
  await using rig = await startDockerEngine()
  const mounts = [{ source: await rig.directory("data"), target: "/data", readOnly: false }]
  const command = ["perl", "-MIO::Handle", "-e", holds]
  const spec = specOf({ image: "debian:bookworm", command, mounts, writableRoot: true })
  const other = specOf({ image: rig.image, command: ["sleep", "1000"], mounts })
  for (const each of [spec, other]) await rig.engine.start(each, () => {}, new AbortController().signal)
  for await (const { text } of rig.engine.logs(spec.key, { follow: true })) if (text === "ready") break
  await eventually("both are seen", async () => (await rig.engine.observe()).length === 2 && (await rig.engine.deletedFiles()).size === 2)
  const found = await rig.engine.deletedFiles()
  assert.deepEqual(
    [spec, other].map(({ key }) => Math.floor((found.get(key) ?? -1) / mib)),
    [3, 0],
  )
  const layers = await rig.engine.writableLayers()
  assert.deepEqual(
    [spec, other].map(({ key }) => Math.floor((layers.get(key)?.bytes ?? -1) / mib)),
    [2, 0],
  )
})

/** Each holds a deleted file where the list of its process's descriptors does not show it. */
const hiding = {
  "a thread whose process's first thread ended": `threading.Thread(target=lambda: (show("ready"), time.sleep(1000))).start(); libc.pthread_exit(None)`,
  "a socket that nobody reads": `pair = socket.socketpair(); socket.send_fds(pair[0], [b"x"], [held]); os.close(held); show("ready"); time.sleep(1000)`,
}
const hold = `import ctypes, os, socket, threading, time
libc = ctypes.CDLL(None)
show = lambda word: print(word, flush=True)
held = os.open("/data/" + os.urandom(8).hex(), os.O_RDWR | os.O_CREAT)
os.write(held, bytes(${3 * mib})); os.unlink(os.readlink(f"/proc/self/fd/{held}"))
`

test("deleted files that a run hides from the list of its descriptors count, or it counts as one that cannot be examined", async () => {
  await using rig = await startDockerEngine()
  const mounts = [{ source: await rig.directory("data"), target: "/data", readOnly: false }]
  const specs = Object.values(hiding).map((how) =>
    specOf({ image: "quayside/python-app:latest", command: ["python3", "-c", hold + how], mounts }),
  )
  for (const each of specs) {
    await rig.engine.start(each, () => {}, new AbortController().signal)
    for await (const { text } of rig.engine.logs(each.key, { follow: true })) if (text === "ready") break
  }
  await eventually(
    "all are seen",
    async () => (await rig.engine.observe()).length === specs.length && (await rig.engine.deletedFiles()).size === specs.length,
  )
  const found = await rig.engine.deletedFiles()
  assert.deepEqual(
    specs.map(({ key }) => (found.get(key) ?? -1) / mib),
    [3, Number.POSITIVE_INFINITY],
  )
})
