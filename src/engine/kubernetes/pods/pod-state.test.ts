import assert from "node:assert/strict"
import { suite, test } from "node:test"
import type { V1Pod, V1PodCondition } from "@kubernetes/client-node"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { podLabels, specAnnotations } from "./names.ts"
import { ObservedRunCache, observedRun } from "./pod-state.ts"

const spec = specOf({ image: "tiny", nodes: 2 })
const labelsOf = (rank: number) => podLabels(spec, { instance: "test", rank, internet: "common" })

function podOf(
  rank: number,
  { reason, isDeleted = false, phase = "Running" }: { reason?: string; isDeleted?: boolean; phase?: string } = {},
): V1Pod {
  const disruption: V1PodCondition[] = reason === undefined ? [] : [{ type: "DisruptionTarget", status: "True", reason, message: "said" }]
  return {
    metadata: {
      labels: labelsOf(rank),
      annotations: specAnnotations(spec),
      ...(isDeleted && { deletionTimestamp: new Date(0) }),
    },
    spec: { nodeName: `node-${rank}`, containers: [] },
    status: {
      phase,
      conditions: disruption,
      containerStatuses: [
        { name: "main", image: "tiny", imageID: "", ready: true, restartCount: 0, state: { running: { startedAt: new Date(0) } } },
      ],
    },
  }
}

suite("what the pods of a run say", () => {
  test("a pod of a node that the cluster gave up counts as ended, whatever the node said last", () => {
    for (const disrupted of [
      podOf(1, { reason: "DeletionByPodGC", phase: "Failed" }),
      podOf(1, { reason: "DeletionByTaintManager", isDeleted: true }),
    ]) {
      const run = observedRun([podOf(0), disrupted])
      assert.deepEqual(
        [run?.state, run?.endedRank, run?.cause],
        ["exited", 1, { code: "node_lost", msg: "The node of the run is gone (rank 1)" }],
      )
    }
  })

  test("a pod that is about to be evicted still runs, and one that ended says why although it is deleted", () => {
    const evicted = podOf(0, { reason: "EvictionByEvictionAPI", isDeleted: true })
    assert.equal(observedRun([evicted, podOf(1)])?.state, "running")
    const ended = podOf(0, { reason: "EvictionByEvictionAPI", isDeleted: true, phase: "Failed" })
    assert.deepEqual(observedRun([ended])?.cause, { code: "evicted", msg: "The cluster ended the run (rank 0): said" })
    assert.equal(observedRun([podOf(0, { isDeleted: true, phase: "Failed" })]), undefined, "without a reason it is gone")
  })

  test("what was made of pods is kept until one of them changes", () => {
    const observed = new ObservedRunCache()
    const [first, second] = [podOf(0), podOf(1)]
    const run = observed.get([first, second])
    assert.equal(run?.state, "running")
    assert.equal(observed.get([first, second]), run)
    assert.equal(observed.get([first])?.state, "created")
    assert.equal(observed.get([first, second])?.state, "running")
    assert.equal(observed.get([first, podOf(1, { phase: "Failed" })])?.state, "exited")
  })
})
