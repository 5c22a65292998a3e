import assert from "node:assert/strict"
import { after, test } from "node:test"
import { postgresServer } from "../testing/postgres.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

test("indexes of words collect none for a later change", async () => {
  await using database = await server.make()
  await using _store = await database.open()
  const client = await server.connect(new URL(database.url).pathname.slice(1))
  const { rows } = await client.query(
    "select relname, reloptions from pg_class where relname like '%\\_search' and relkind = 'i' order by 1",
  )
  await client.end()
  assert.deepEqual(
    rows.map(({ relname, reloptions }) => [relname, reloptions]),
    ["datasets_search", "images_search", "projects_search"].map((name) => [name, ["fastupdate=off"]]),
  )
})
