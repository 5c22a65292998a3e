import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { startKubernetesEngine } from "../../../test/fixtures/kubernetes/kubernetes-engine.ts"
import { recordCluster } from "../../../test/fixtures/kubernetes/recorded-cluster.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import { observeUntil } from "../testing/engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}
const access = new URL("../../../deploy/kubernetes/access.yaml", import.meta.url)

/** The rights of the file, such as `pods/log get`; those for all namespaces begin with `all`. */
async function givenRights(): Promise<string[]> {
  const parts = (await readFile(access, "utf8")).split("\n---\n")
  return parts.flatMap((part) => {
    const where = part.includes("kind: ClusterRole\n") ? "all " : ""
    const rules = part.matchAll(/resources: \[([^\]]+)\], verbs: \[([^\]]+)\]/g)
    return [...rules].flatMap(([, resource = "", verbs = ""]) => verbs.split(", ").map((verb) => `${where}${resource} ${verb}`))
  })
}

test("with the rights of access.yaml all that an engine does works, and it uses each of them", async () => {
  await using rig = await startKubernetesEngine()
  await using recorded = await recordCluster(rig.kubeconfig)
  await using engine = await rig.open({ kubeconfig: recorded.kubeconfig, kubeletTls: "off" })
  await engine.prepare()
  await engine.check()
  assert.equal((await engine.capacity()).length > 0, true)

  const imagePolicy = { verifyAccess: false, allowLocal: true, credentials: { username: "ann", password: "x" } }
  const spec = specOf({ image: rig.image, command: ["sh", "-c", "echo said; exec sleep 1000"], nodes: 2, imagePolicy })
  await engine.start(spec, ignore, never)
  await observeUntil(engine, spec.key, ({ state }) => state === "running")
  assert.notEqual((await engine.recoverSpec(spec.key))?.env, undefined)
  for await (const { text } of engine.logs(spec.key, { follow: true })) if (text === "said") break
  const program = (await engine.exec(spec.key, { command: ["true"] })) ?? assert.fail()
  await Array.fromAsync(program.output)
  assert.equal(await program.exitCode, 0)
  const hasFigures = async () => (await engine.stats()).some(({ key, memory }) => key === spec.key && memory !== null)
  await eventually("the kubelet reports the run's usage", hasFigures, 60_000)
  await engine.stop(spec.key, { graceMs: 0 })

  // The kubelet itself answers these.
  const used = [...recorded.used, "all nodes/stats get"]
  assert.deepEqual(used.sort(), (await givenRights()).sort())
})

test("a start waits for its pods if the cluster's watch is late", async () => {
  await using rig = await startKubernetesEngine()
  await using late = await recordCluster(rig.kubeconfig, { watchDelayMs: 1_000 })
  await using engine = await rig.open({ kubeconfig: late.kubeconfig })
  await engine.observe()
  const spec = specOf({ image: rig.image, command: ["sleep", "1000"] })
  const { nodeNames } = await engine.start(spec, ignore, never)
  assert.equal(nodeNames.length, 1)
  await engine.stop(spec.key, { graceMs: 0 })
})
