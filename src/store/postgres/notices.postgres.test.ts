import assert from "node:assert/strict"
import { after, test } from "node:test"
import { isDeepStrictEqual } from "node:util"
import { eventually } from "../../../test/fixtures/eventually.ts"
import type { Notice } from "../driver.ts"
import { postgresServer } from "../testing/postgres.ts"
import { addImage, addProject, addUser, groupRow, runRow } from "../testing/samples.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

test("a process is told what another one committed, and nothing that was rolled back", async () => {
  await using database = await server.make()
  await using writer = await database.open()
  await using reader = await database.open()
  const ann = await addUser(writer, "ann")
  const image = await addImage(writer, ann.id)
  const project = await addProject(writer, { userId: ann.id, imageId: image.id })
  const group = await writer.change((tx) => tx.groups.insert(groupRow("team")))
  const heard: Notice[] = []
  const since = () => heard.splice(0)
  const hears = (expected: Notice) =>
    eventually(JSON.stringify(expected), () => heard.some((notice) => isDeepStrictEqual(notice, expected)))
  using _ = reader.notices?.on((notice) => heard.push(notice))
  await hears({ kind: "gap" })
  assert.equal(reader.notices?.isListening, true)

  since()
  await assert.rejects(
    writer.change(async (tx) => {
      await tx.users.update(ann.id, { comment: "never" })
      throw new Error("rolled back")
    }),
    /rolled back/,
  )
  await writer.change((tx) => tx.journal({ event: "user.updated", data: {}, resource: { type: "user", id: ann.id } }))
  await hears({ kind: "journal" })
  assert.deepEqual(since(), [{ kind: "journal" }])

  const run = await writer.change((tx) => tx.runs.insert(runRow(ann.id, project.id)))
  await hears({ kind: "run", id: run.id, version: run.version })
  await writer.change((tx) => tx.users.update(ann.id, { comment: "changed" }))
  await hears({ kind: "person", id: ann.id })
  since()
  await writer.change((tx) => tx.groups.addMember(group.id, ann.id))
  await hears({ kind: "person", id: ann.id })
  since()
  await writer.change((tx) => tx.groups.update(group.id, { comment: "changed" }))
  await hears({ kind: "people" })
})

test("after a broken connection one notice says that some may be missing", async () => {
  await using database = await server.make()
  await using store = await database.open()
  const heard: Notice[] = []
  using _ = store.notices?.on((notice) => heard.push(notice))
  await eventually("it listens", () => heard.length === 1)
  const client = await server.connect()
  await client.query("select pg_terminate_backend(pid) from pg_stat_activity where query = 'listen quayside' or query = 'select 1'")
  await client.end()
  await eventually("it listens again", () => heard.length === 2)
  assert.deepEqual(heard, [{ kind: "gap" }, { kind: "gap" }])
  await addUser(store, "ann")
  await store.change((tx) => tx.journal({ event: "user.created", data: {}, resource: { type: "user", id: 1 } }))
  await eventually("the journal", () => heard.at(-1)?.kind === "journal")
})
