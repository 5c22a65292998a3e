import assert from "node:assert/strict"
import { after, test } from "node:test"
import { query } from "../queries/query.ts"
import { QueryCompiler } from "../queries/query-compiler.ts"
import { postgresServer } from "../testing/postgres.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

test("datasets below a path are not each compared with each of a viewer's grants", async () => {
  await using database = await server.make()
  await using _store = await database.open()
  const client = await server.connect(new URL(database.url).pathname.slice(1))
  const { sql, parameters } = new QueryCompiler("postgres").compile(query("visibleBetween", "some"))
  const args: Record<string, unknown> = { from: "/a/", until: "/a0", prefix: "/a/", length: 3, user_id: 1, groups: [1], now: 1 }
  const { rows } = await client.query(
    `explain ${sql}`,
    parameters.map((name) => args[name]),
  )
  await client.end()
  const plan = rows.map((row) => row["QUERY PLAN"]).join("\n")
  assert.match(plan, /hashed SubPlan/)
  assert.doesNotMatch(plan, /Join/)
})
