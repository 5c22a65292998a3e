import assert from "node:assert/strict"
import { test } from "node:test"
import type { V1ContainerStateWaiting, V1Pod } from "@kubernetes/client-node"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import type { EngineError } from "../../engine.ts"
import { assertCanStart } from "./start-failures.ts"

const spec = specOf({
  image: "registry.example/app:1",
  mounts: [{ source: "users/anna/rows", target: "/work/data/rows", readOnly: true }],
})

const waitingPod = (waiting: V1ContainerStateWaiting) =>
  ({ status: { phase: "Pending", containerStatuses: [{ name: "run", state: { waiting } }] } }) as V1Pod

const failureOf = (reason: string, message: string): string | undefined => {
  try {
    assertCanStart(waitingPod({ reason, message }), spec)
    return undefined
  } catch (error) {
    return (error as EngineError).code
  }
}

test("what the kubelet tries again by itself does not end a start", () => {
  assert.equal(failureOf("CreateContainerConfigError", "failed to sync secret cache: timed out waiting for the condition"), undefined)
  assert.equal(failureOf("CreateContainerError", "context deadline exceeded"), undefined)
  assert.equal(failureOf("ContainerCreating", ""), undefined)
  assert.equal(failureOf("ErrImagePull", "dial tcp: lookup registry.example: i/o timeout"), undefined)
})

test("what no further try can mend ends a start with its reason", () => {
  const failures: [reason: string, message: string, code: string][] = [
    ["CreateContainerConfigError", 'failed to prepare subPath for volumeMount "users/anna/rows"', "mount_missing"],
    ["CreateContainerError", "write /var/lib/containerd: no space left on device", "disk_full"],
    ["CreateContainerError", "something unheard of", "engine_error"],
    ["CreateContainerError", 'cannot load seccomp profile "/seccomp/none.json": no such file or directory', "engine_error"],
    ["RunContainerError", 'exec: "serve": executable file not found in $PATH', "command_not_found"],
    ["RunContainerError", "exec format error", "wrong_architecture"],
    ["ImagePullBackOff", "dial tcp: lookup registry.example: i/o timeout", "image_pull_failed"],
    ["ErrImagePull", "pull access denied: 401 Unauthorized", "image_pull_denied"],
    ["ErrImagePull", "manifest unknown", "image_not_found"],
    ["CrashLoopBackOff", "", "exited"],
  ]
  for (const [reason, message, code] of failures) assert.equal(failureOf(reason, message), code, `${reason}: ${message}`)
})
