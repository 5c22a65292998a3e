import assert from "node:assert/strict"
import { after, before, suite, test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { openClusterProxy } from "../../../test/fixtures/kubernetes/cluster-proxy.ts"
import { startKubernetesEngine, type TestKubernetesEngine } from "../../../test/fixtures/kubernetes/kubernetes-engine.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import type { RunSpec } from "../engine.ts"
import { findRun } from "../testing/engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}

suite("a cluster that fails or refuses", () => {
  let rig: TestKubernetesEngine

  before(async () => {
    rig = await startKubernetesEngine()
  })

  after(async () => {
    for (const run of await rig.engine.observe()) await rig.engine.stop(run.key, { graceMs: 0 })
    await rig[Symbol.asyncDispose]()
  })

  const specWith = (fields: Partial<RunSpec> = {}) => specOf({ image: rig.image, command: ["sleep", "1000"], ...fields })

  test("without the API server nothing is observed as ended, and a start that began goes on when it is back", async () => {
    await using proxy = await openClusterProxy(rig.kubeconfig)
    await using engine = await rig.open({ kubeconfig: proxy.kubeconfig })
    const running = specWith()
    await engine.start(running, ignore, never)
    const before = await findRun(engine, running.key)
    const beginning = specWith()
    const created = Promise.withResolvers<void>()
    const starting = engine.start(beginning, ({ progress }) => progress && created.resolve(), never)
    await created.promise
    proxy.cut()
    await eventually("it is seen", () =>
      engine.observe().then(
        () => false,
        ({ code }: { code: string }) => code === "engine_unreachable",
      ),
    )
    await assert.rejects(engine.start(specWith(), ignore, never), { code: "engine_unreachable" })
    await assert.rejects(engine.stop(running.key), { code: "engine_unreachable" })
    await assert.rejects(engine.check(), { code: "engine_unreachable" })
    proxy.restore()
    assert.equal((await starting).nodeNames.length, 1)
    assert.deepEqual(await findRun(engine, running.key), before)
    for (const { key } of [running, beginning]) await engine.stop(key, { graceMs: 0 })
  })

  test("a pod that somebody deletes is gone, and so is all that belonged to it", async () => {
    const spec = specWith()
    await rig.engine.start(spec, ignore, never)
    await rig.namespace.kubectl(["delete", "pod", `quayside-${spec.key}-0`, "--grace-period=1"])
    assert.equal(await findRun(rig.engine, spec.key), undefined)
    const left = ["get", "secrets", "--selector", `quayside.io/key=${spec.key}`, "--output", "name"]
    await eventually("its secret is gone", async () => (await rig.namespace.kubectl(left)) === "")
  })

  test("more than any node has fails with the amounts, and words of the scheduler for administrators", async () => {
    const { cpus = 0, memoryMiB = 0 } = (await rig.engine.capacity())[0] ?? {}
    const message = `No node has ${cpus + 1} CPUs for runs; the largest has ${cpus}`
    await using exact = await rig.open({ cpuOvercommit: 1 })
    await assert.rejects(exact.start(specWith({ cpus: cpus + 1 }), ignore, never), {
      code: "insufficient_cpu",
      message,
    })
    await assert.rejects(rig.engine.start(specWith({ memoryMiB: memoryMiB + 1 }), ignore, never), { code: "insufficient_memory" })
    await assert.rejects(rig.engine.start(specWith({ gpuRequest: { count: 1, memoryMiB: 0 } }), ignore, never), {
      code: "insufficient_gpu",
    })
    assert.deepEqual(await rig.engine.observe(), [])
  })

  test("a quota and an admission policy of the cluster are named", async () => {
    const quota = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "small" },
      spec: { hard: { "requests.memory": "100Mi" } },
    }
    await rig.namespace.kubectl(["apply", "--filename", "-"], quota)
    await eventually("the quota is in force", async () =>
      (await rig.namespace.kubectl(["get", "resourcequota", "small", "--output", "jsonpath={.status.hard}"])).includes("100Mi"),
    )
    await assert.rejects(rig.engine.start(specWith({ memoryMiB: 128 }), ignore, never), {
      code: "quota_exceeded",
      message: /^The cluster's quota for runs is used up: small, requested: requests\.memory=128Mi/,
    })
    await rig.namespace.kubectl(["delete", "resourcequota", "small"])
    const name = `${rig.instance}.example.com`
    const group = { apiVersion: "admissionregistration.k8s.io/v1" }
    const selector = { matchLabels: { "kubernetes.io/metadata.name": rig.namespace.name } }
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }]
    const validations = [{ expression: "false", message: "runs need a cost centre" }]
    const policy = {
      ...group,
      kind: "ValidatingAdmissionPolicy",
      metadata: { name },
      spec: { matchConstraints: { namespaceSelector: selector, resourceRules: rules }, validations },
    }
    const binding = {
      ...group,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name },
      spec: { policyName: name, validationActions: ["Deny"] },
    }
    await rig.namespace.kubectl(["apply", "--filename", "-"], { apiVersion: "v1", kind: "List", items: [policy, binding] })
    try {
      const refused = async () => {
        const key = specWith()
        return rig.engine.start(key, ignore, never).then(
          () => rig.engine.stop(key.key, { graceMs: 0 }).then(() => ""),
          ({ message }: Error) => message,
        )
      }
      let message = ""
      const isRefused = async () => {
        message = await refused()
        return message !== ""
      }
      await eventually("the policy is in force", isRefused, 30_000)
      assert.equal(message, `The cluster's policy ${name} refused the run: runs need a cost centre`)
    } finally {
      await rig.namespace.kubectl(["delete", "validatingadmissionpolicy,validatingadmissionpolicybinding", name])
    }
  })

  test("a missing claim, one for a single node, and missing rights are told in one sentence each", async () => {
    const { name } = rig.namespace
    await assert.rejects((await rig.open({ volume: "none" })).prepare(), {
      message: `The namespace ${name} has no volume claim none, or does not exist itself`,
    })
    const claim = {
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: "single" },
      spec: { accessModes: ["ReadWriteOnce"], storageClassName: "", resources: { requests: { storage: "1Gi" } } },
    }
    await rig.namespace.kubectl(["apply", "--filename", "-"], claim)
    await assert.rejects((await rig.open({ volume: "single" })).prepare(), {
      message: "The volume claim single has the access mode ReadWriteOnce; runs on several nodes need ReadWriteMany",
    })
    await assert.rejects((await rig.open({ namespace: "kube-system" })).prepare(), {
      message: "The cluster does not allow Quayside to read the claim of the files' volume",
    })
  })
})
