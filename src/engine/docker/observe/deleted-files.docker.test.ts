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
