import assert from "node:assert/strict"
import promises from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { test } from "node:test"
import { startDockerEngine } from "../../../../test/fixtures/docker/docker-engine.ts"
import { specOf } from "../../../../test/fixtures/run-spec.ts"

const kib = 1_024
const mib = 1_024 * kib

test("empty files count, in a run's own file system and in its image's volumes, since they use inodes", async () => {
  await using rig = await startDockerEngine()
  const image = `quayside-test/volume-${rig.instance}`
  const builder = `builder-${rig.instance}`
  await rig.docker("run", "--name", builder, rig.image, "mkdir", "-m", "777", "/own", "/volume")
  await rig.docker("commit", "--change", "VOLUME /volume", builder, image)
  await rig.docker("rm", builder)
  try {
    const script = "cd /own && touch $(seq 2000) && cd /volume && touch $(seq 3000) && echo ready && exec sleep 1000"
    const spec = specOf({ image, command: ["sh", "-c", script], writableRoot: true })
    await rig.engine.start(spec, () => {}, new AbortController().signal)
    for await (const { text } of rig.engine.logs(spec.key, { follow: true })) if (text === "ready") break
    await rig.engine.observe()
    const { bytes = 0 } = (await rig.engine.writableLayers()).get(spec.key) ?? {}
    assert.ok(bytes >= 5_000 * kib && bytes < 5_500 * kib, String(bytes))
  } finally {
    for (const { key } of await rig.engine.observe()) await rig.engine.stop(key, { graceMs: 0 })
    await rig.docker("rmi", image)
  }
})

test("the holes of sparse files count nothing, of which a sum of the daemon could become negative", async () => {
  await using rig = await startDockerEngine()
  const script = "cd /var/tmp && truncate -s 15T sparse && dd if=/dev/zero of=full bs=1M count=8 && echo ready && exec sleep 1000"
  const spec = specOf({ image: "quayside/python-app", command: ["sh", "-c", script], writableRoot: true })
  try {
    await rig.engine.start(spec, () => {}, new AbortController().signal)
    for await (const { text } of rig.engine.logs(spec.key, { follow: true })) if (text === "ready") break
    await rig.engine.observe()
    const { bytes = 0 } = (await rig.engine.writableLayers()).get(spec.key) ?? {}
    assert.ok(bytes >= 8 * mib && bytes < 9 * mib, String(bytes))
  } finally {
    await rig.engine.stop(spec.key, { graceMs: 0 })
  }
})

test("what a run writes counts also where its process is visible, and its files are not", async (t) => {
  await using rig = await startDockerEngine()
  const script = "dd if=/dev/zero of=/var/tmp/full bs=1M count=8 && echo ready && exec sleep 1000"
  const spec = specOf({ image: "quayside/python-app", command: ["sh", "-c", script], writableRoot: true })
  const { readFile } = promises
  const hidden = async (path: string, encoding: BufferEncoding) =>
    (await readFile(path, encoding)).replaceAll("upperdir=", "upperdir=/hidden")
  try {
    await rig.engine.start(spec, () => {}, new AbortController().signal)
    for await (const { text } of rig.engine.logs(spec.key, { follow: true })) if (text === "ready") break
    await rig.engine.observe()
    t.mock.method(promises, "readFile", hidden as typeof readFile)
    syncBuiltinESMExports()
    const { bytes = 0 } = (await rig.engine.writableLayers()).get(spec.key) ?? {}
    assert.ok(bytes >= 8 * mib && bytes < 9 * mib, String(bytes))
  } finally {
    t.mock.restoreAll()
    syncBuiltinESMExports()
    await rig.engine.stop(spec.key, { graceMs: 0 })
  }
})
