import assert from "node:assert/strict"
import { StatementSync } from "node:sqlite"
import { test } from "node:test"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { addImage, addProject, addUser, dataRow } from "../testing/samples.ts"

test("the 64 datasets of a project are stored by one statement", async (t) => {
  await using fixture = await createIdentityFixture()
  const { store } = fixture
  const ann = await addUser(store, "ann")
  const project = await addProject(store, { userId: ann.id, imageId: (await addImage(store, ann.id)).id })
  const data = await store.change((tx) =>
    Promise.all(Array.from({ length: 64 }, (_, i) => tx.data.insert(dataRow(ann.id, { name: `d${i}` })))),
  )
  const links = data.map(({ id }, i) => ({ dataId: id, mountPath: `/m${i}` }))
  const run = t.mock.method(StatementSync.prototype, "run").mock
  await store.change((tx) => tx.projects.setLinks(project.id, links))
  assert.ok(run.callCount() < 10, `${run.callCount()} statements`)
  assert.deepEqual(
    await store.projects.links([project.id]),
    links.map((link) => ({ projectId: project.id, ...link })),
  )
})
