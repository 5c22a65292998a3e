import assert from "node:assert/strict"
import { test } from "node:test"
import type { DockerClient } from "../client/docker-client.ts"
import { AccountFileCheck } from "./account-file-check.ts"

test("the checks of the latest thousand images are remembered", async () => {
  const client = { call: async () => undefined } as unknown as DockerClient
  const checks = new AccountFileCheck(client)
  for (let i = 0; i <= 1_000; i += 1) await checks.check({ imageId: `sha256:${i}`, id: "c" }, {} as never)
  assert.deepEqual(
    ["sha256:0", "sha256:1", "sha256:1000"].map((imageId) => checks.hasPassed(imageId)),
    [false, true, true],
  )
})
