import assert from "node:assert/strict"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import { after, before, suite, test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { createCertificate } from "../../../test/fixtures/kubernetes/certificate.ts"
import { startKubernetesEngine, type TestKubernetesEngine } from "../../../test/fixtures/kubernetes/kubernetes-engine.ts"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import type { RunSpec } from "../engine.ts"
import { findRun, observeUntil } from "../testing/engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}
const nodeLossMs = 120_000

suite("others who change a cluster", () => {
  let rig: TestKubernetesEngine

  before(async () => {
    rig = await startKubernetesEngine()
  })

  after(async () => {
    for (const run of await rig.engine.observe()) await rig.engine.stop(run.key, { graceMs: 0 })
    await rig[Symbol.asyncDispose]()
  })

  const specWith = (fields: Partial<RunSpec> = {}) => specOf({ image: rig.image, command: ["sleep", "1000"], ...fields })

  /** The words with which a start was refused; empty if it was not. */
  const refusalOf = () => {
    const spec = specWith()
    return rig.engine.start(spec, ignore, never).then(
      () => rig.engine.stop(spec.key, { graceMs: 0 }).then(() => ""),
      ({ message }: Error) => message,
    )
  }

  test("a webhook that refuses is named with its words, and one that does not answer is named", async () => {
    const { key, cert } = await createCertificate()
    const webhook = createServer({ key, cert }, async (request, response) => {
      const { request: review } = JSON.parse(Buffer.concat(await Array.fromAsync(request)).toString())
      const verdict = { uid: review.uid, allowed: false, status: { message: "runs need a cost centre" } }
      response.setHeader("content-type", "application/json")
      response.end(JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: verdict }))
    })
    await new Promise<void>((resolve) => webhook.listen(0, "127.0.0.1", resolve))
    const name = `${rig.instance}.example.com`
    const selector = { matchLabels: { "kubernetes.io/metadata.name": rig.namespace.name } }
    const rules = [{ apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["pods"] }]
    const clientConfig = { url: `https://127.0.0.1:${(webhook.address() as AddressInfo).port}/`, caBundle: cert.toString("base64") }
    const common = { name, sideEffects: "None", admissionReviewVersions: ["v1"], failurePolicy: "Fail", timeoutSeconds: 5 }
    const configuration = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name },
      webhooks: [{ ...common, namespaceSelector: selector, rules, clientConfig }],
    }
    await rig.namespace.kubectl(["apply", "--filename", "-"], configuration)
    try {
      let said = ""
      const isRefused = async () => {
        said = await refusalOf()
        return said !== ""
      }
      await eventually("the webhook is in force", isRefused, 30_000)
      assert.equal(said, `The cluster's webhook ${name} refused the run: runs need a cost centre`)
      webhook.closeAllConnections()
      await new Promise((resolve) => webhook.close(resolve))
      assert.equal(await refusalOf(), `The cluster's webhook ${name}, which has to allow the run, does not answer`)
    } finally {
      webhook.closeAllConnections()
      await rig.namespace.kubectl(["delete", "validatingwebhookconfiguration", name])
    }
    assert.deepEqual(await rig.engine.observe(), [], "nothing is left of what was refused")
  })

  test("another field manager that opens a policy loses it at the next start of a server, and what it adds to pods stays", async () => {
    const spec = specWith()
    await rig.engine.start(spec, ignore, never)
    const name = `quayside-${rig.instance}-runs`
    const taken = {
      apiVersion: "networking.k8s.io/v1",
      kind: "NetworkPolicy",
      metadata: { name },
      spec: { podSelector: {}, policyTypes: ["Ingress"], ingress: [{}] },
    }
    const apply = ["apply", "--server-side", "--force-conflicts", "--field-manager=somebody", "--filename", "-"]
    const before = JSON.parse(await rig.namespace.kubectl(["get", "networkpolicy", name, "--output", "json"]))
    await rig.namespace.kubectl(apply, taken)
    const pod = `quayside-${spec.key}-0`
    const labelled = { apiVersion: "v1", kind: "Pod", metadata: { name: pod, labels: { "example.com/team": "blue" } } }
    await rig.namespace.kubectl(apply, labelled)
    await using other = await rig.open()
    await other.prepare()
    const now = JSON.parse(await rig.namespace.kubectl(["get", "networkpolicy", name, "--output", "json"]))
    assert.deepEqual([now.spec.podSelector, now.spec.policyTypes], [before.spec.podSelector, before.spec.policyTypes])
    assert.equal((await findRun(rig.engine, spec.key))?.state, "running")
    const label = ["get", "pod", pod, "--output", "jsonpath={.metadata.labels.example\\.com/team}"]
    assert.equal(await rig.namespace.kubectl(label), "blue")
    await rig.engine.stop(spec.key, { graceMs: 0 })
  })

  test("the runs of a deleted node end as lost with it", { timeout: 2 * nodeLossMs }, async () => {
    const name = `${rig.instance}-node`
    const size = { cpu: "4", memory: "8Gi", pods: "10" }
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata: { name, labels: { only: name } },
      status: { allocatable: size, capacity: size },
    }
    const patch = (words: string[], status: object) =>
      rig.namespace.kubectl(["patch", ...words, "--subresource=status", "--type=merge", "--patch", JSON.stringify({ status })])
    await rig.namespace.kubectl(["create", "--filename", "-"], node)
    try {
      await patch(["node", name], { allocatable: size, capacity: size, conditions: [{ type: "Ready", status: "True", reason: "test" }] })
      await using engine = await rig.open({ pods: { nodeSelector: { only: name } } })
      const spec = specWith()
      const starting = engine.start(spec, ignore, never)
      const pod = `quayside-${spec.key}-0`
      const where = ["get", "pod", pod, "--ignore-not-found", "--output", "jsonpath={.spec.nodeName}"]
      await eventually("it has a node", async () => (await rig.namespace.kubectl(where)) === name, nodeLossMs)
      const startedAt = new Date().toISOString()
      const running = { name: "main", image: spec.image, imageID: "", ready: true, restartCount: 0, state: { running: { startedAt } } }
      await patch(["pod", pod], { phase: "Running", containerStatuses: [running] })
      await starting
      await rig.namespace.kubectl(["delete", "node", name])
      const { cause } = await observeUntil(engine, spec.key, ({ state }) => state === "exited")
      assert.deepEqual(cause, { code: "node_lost", msg: "The node of the run is gone" })
      await engine.stop(spec.key)
      assert.equal(await findRun(engine, spec.key), undefined)
    } finally {
      await rig.namespace.kubectl(["delete", "node", name, "--ignore-not-found"])
    }
  })
})
