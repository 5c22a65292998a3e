import assert from "node:assert/strict"
import { test } from "node:test"
import type { ReasonCode } from "#contract"
import { isOpenFilesLimitRefused, toEngineError } from "./errors.ts"

/** Messages of daemons from 20.10 on. */
const refusals: [ReasonCode, number | undefined, string][] = [
  ["disk_full", 500, "mkdir /var/lib/docker/overlay2/4f: no space left on device"],
  ["insufficient_gpu", 500, 'could not select device driver "nvidia" with capabilities: [[gpu]]'],
  ["mount_missing", 400, 'invalid mount config for type "bind": bind source path does not exist: /x'],
  [
    "command_not_found",
    400,
    'failed to create shim task: OCI runtime create failed: exec: "nope": executable file not found in $PATH: unknown',
  ],
  ["command_not_found", 400, 'exec: "/app": stat /app: no such file or directory: unknown'],
  ["command_not_found", 400, "No command specified"],
  ["image_not_found", 404, "No such image: sha256:12"],
  ["engine_unreachable", 503, "service unavailable"],
  ["engine_error", 500, "something that nobody has seen"],
]

for (const [code, statusCode, message] of refusals) {
  test(`the daemon's "${message.slice(0, 60)}" is ${code}`, () => {
    const error = toEngineError(Object.assign(new Error(`(HTTP code ${statusCode}) server error - ${message} `), { statusCode }))
    assert.equal(error.code, code)
    assert.ok(error.detail?.includes(message) && !error.message.includes(message))
  })
}

test("failures of NVIDIA's container runtime have a sentence each", () => {
  const hook = "OCI runtime create failed: error running hook #0: exit status 1, stdout: , stderr: nvidia-container-cli:"
  for (const [message, sentence] of [
    [`could not select device driver "nvidia" with capabilities: [[gpu]]`, /The container engine has no working driver/],
    [`${hook} device error: GPU-d2d12cfb-eb9e-03f0-b007-785d32aed1b2: unknown device: unknown`, /The run's GPU has disappeared/],
    ["CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=GPU-1", /The run's GPU has disappeared/],
    [`${hook} initialization error: nvml error: driver not loaded: unknown`, /NVIDIA driver does not work/],
    [`${hook} initialization error: driver error: failed to process request: unknown`, /NVIDIA driver does not work/],
    [`${hook} initialization error: load library failed: libnvidia-ml.so.1: cannot open shared object file`, /NVIDIA driver does not work/],
    [`${hook} ldcache error: process /sbin/ldconfig failed with error code: 127`, /The container engine has no working driver/],
  ] as const) {
    const error = toEngineError(Object.assign(new Error(message), { statusCode: 500 }))
    assert.equal(error.code, "insufficient_gpu", message)
    assert.match(error.message, sentence, message)
    assert.match(error.hint ?? "", /^Start without GPUs/, message)
  }
})

test("a missing, refusing, forbidden or broken socket is engine_unreachable", () => {
  for (const code of ["ENOENT", "ECONNREFUSED", "EACCES", "ECONNRESET"]) {
    assert.equal(toEngineError(Object.assign(new Error("connect"), { code })).code, "engine_unreachable")
  }
})

test("a limit that the daemon may not set is recognized", () => {
  const message =
    "OCI runtime create failed: runc create failed: error setting rlimits for ready process: error setting rlimit type 7: operation not permitted"
  assert.ok(isOpenFilesLimitRefused(toEngineError(Object.assign(new Error(message), { statusCode: 400 }))))
  assert.ok(!isOpenFilesLimitRefused(toEngineError(new Error("operation not permitted"))))
})
