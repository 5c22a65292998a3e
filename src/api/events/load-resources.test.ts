import assert from "node:assert/strict"
import { test } from "node:test"
import { recordQueries } from "../../../test/fixtures/recorded-queries.ts"
import { aStoredProject } from "../../../test/fixtures/stored-project.ts"
import { loadDataResources, loadImageResources, loadProjectResources, loadRunResources } from "./load-resources.ts"

test("events load the resources that they are about without their texts", async () => {
  await using stored = await aStoredProject()
  const { store, owner, image, dataset, project, run } = stored
  const loads = [
    () => loadImageResources(store, [image.id]),
    () => loadDataResources(store, [dataset.id]),
    () => loadProjectResources(store, [project.id]),
    () => loadRunResources(store, [run.id]),
  ]
  for (const load of loads) {
    const queries = await recordQueries(async () => assert.equal((await load())[0]?.ownerId, owner.id))
    assert.ok(queries.length > 0)
    assert.deepEqual(
      queries.filter((sql) => /"(doc|env|comment|user_path)"/.test(sql)),
      [],
    )
  }
})
