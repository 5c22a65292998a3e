import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import type { PodDefaults } from "../kubernetes-options.ts"
import { runName } from "./names.ts"
import { podManifest } from "./pod-manifest.ts"

function manifestOf(nodes: number, pods: PodDefaults) {
  const options = { instance: "test", filesRoot: "/files", volume: "files", uid: 1000, pods }
  const spec = specOf({ image: "tiny", nodes })
  const parts = { spec, rank: 0, image: "tiny", isPreloaded: false, internet: "common", hasCredentials: false, volumes: [] }
  const { metadata, spec: pod } = podManifest({ options, uid: 1000, gid: 1000 }, parts)
  const kueue = (all: Record<string, string> = {}) => Object.fromEntries(Object.entries(all).filter(([name]) => name.startsWith("kueue")))
  return { key: spec.key, pod, labels: kueue(metadata?.labels), annotations: kueue(metadata?.annotations) }
}

test("with a queue, the pods of a run on several nodes are a group of that queue", () => {
  const { key, labels, annotations } = manifestOf(3, { queue: "research" })
  assert.deepEqual(labels, { "kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/pod-group-name": runName(key) })
  assert.deepEqual(annotations, { "kueue.x-k8s.io/pod-group-total-count": "3" })
})

test("with a queue, a run on one node is admitted by itself, and without one nothing says so", () => {
  const alone = manifestOf(1, { queue: "research" })
  assert.deepEqual([alone.labels, alone.annotations], [{ "kueue.x-k8s.io/queue-name": "research" }, {}])
  const without = manifestOf(3, {})
  assert.deepEqual([without.labels, without.annotations], [{}, {}])
})

test("a scheduler is named in the pod, and by default it is the cluster's", () => {
  assert.deepEqual(
    [manifestOf(1, { scheduler: "volcano" }).pod?.schedulerName, manifestOf(1, {}).pod?.schedulerName],
    ["volcano", undefined],
  )
})

/** Replaces variables as the kubelet does. Source: `third_party/forked/golang/expansion`. */
function expanded(word: string, variables: Readonly<Record<string, string>>): string {
  return word.replace(/\$(?:\$|\((\w*)\))/g, (all, name?: string) => (name === undefined ? "$" : (variables[name] ?? all)))
}

test("a command arrives as it was written, whatever dollars it has", () => {
  const command = ["sh", "-c", "echo $$ $(HOME) $$(HOME) $HOME $", "$$$(HOME)"]
  const spec = specOf({ image: "tiny", command, entryPoint: command })
  const parts = { spec, rank: 0, image: "tiny", isPreloaded: false, internet: "common", hasCredentials: false, volumes: [] }
  const options = { instance: "test", filesRoot: "/files", volume: "files", uid: 1000 }
  const container = podManifest({ options, uid: 1000, gid: 1000 }, parts).spec?.containers[0]
  for (const words of [container?.args, container?.command])
    assert.deepEqual(
      words?.map((word) => expanded(word, { HOME: "/secret" })),
      command,
    )
})

test("an image for one kind of processor gets a node of that kind, besides what the settings select", () => {
  const selectorOf = (architecture: string | undefined, nodeSelector?: Record<string, string>) => {
    const options = { instance: "test", filesRoot: "/files", volume: "files", uid: 1000, pods: { ...(nodeSelector && { nodeSelector }) } }
    const parts = { rank: 0, image: "tiny", isPreloaded: false, internet: "common", hasCredentials: false, volumes: [] }
    return podManifest({ options, uid: 1000, gid: 1000 }, { ...parts, spec: specOf({ image: "tiny" }), architecture }).spec?.nodeSelector
  }
  assert.equal(selectorOf(undefined), undefined)
  assert.deepEqual(selectorOf(undefined, { pool: "runs" }), { pool: "runs" })
  assert.deepEqual(selectorOf("arm64", { pool: "runs" }), { pool: "runs", "kubernetes.io/arch": "arm64" })
})
