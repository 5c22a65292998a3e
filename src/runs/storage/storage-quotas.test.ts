import assert from "node:assert/strict"
import { test } from "node:test"
import { defaultLimits } from "#contract"
import { RunsFixture } from "../testing/runs-fixture.ts"
import { StorageQuotas } from "./storage-quotas.ts"

test("the released code of a deleted project counts for its owner, since it stays for a restored one", async () => {
  await using fixture = await RunsFixture.open()
  const project = fixture.projectId
  await fixture.store.change((tx) => tx.projects.setDeleted(project, true))
  const quota = await new StorageQuotas(fixture.store, defaultLimits).quotaOf("person0")
  assert.deepEqual(quota?.account.roots, ["/users/person0", `/projects/${project}/release`])
})
