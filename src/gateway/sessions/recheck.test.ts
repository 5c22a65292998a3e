import assert from "node:assert/strict"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import type { RunDirectory } from "../run-directory.ts"
import { aRunTarget, keyA } from "../testing/gateway-fixture.ts"
import { ConnectionRegistry } from "./connection-registry.ts"

test("other work is done while the connections of thousands of credentials are rechecked", async () => {
  const target = aRunTarget(1, keyA)
  const pairs = 20
  let checks = 0
  const canOpen = async () => {
    checks += 1
    const until = performance.now() + 2
    while (performance.now() < until);
    return true
  }
  const runs = { byKey: () => target, canOpen } as unknown as RunDirectory
  const registry = new ConnectionRegistry({ runs, clock: systemClock, logger: silentLogger })
  for (let i = 0; i < pairs; i += 1) {
    registry.add({ userId: 1, credentialId: `token:${i}` }, target, { stalledSince: undefined, abort: () => {} })
  }
  const rechecking = registry.recheck()
  await new Promise((resolve) => setImmediate(resolve))
  assert.ok(checks < pairs, `${checks} checks before anything else`)
  await rechecking
  assert.equal(checks, pairs)
})
