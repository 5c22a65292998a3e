import assert from "node:assert/strict"
import { after, test } from "node:test"
import { StoreError } from "../errors.ts"
import { migrations } from "../migrations/index.ts"
import type { TestDatabase } from "../testing/databases.ts"
import { postgresServer } from "../testing/postgres.ts"
import { assertUpgraded, fixture, fixtureVersions } from "../testing/upgrades.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

async function send(database: TestDatabase, statement: string) {
  const client = await server.connect(new URL(database.url).pathname.slice(1))
  return client.query(statement).finally(() => client.end())
}

for (const version of fixtureVersions) {
  test(`A database of version ${version} is brought to the newest, with all that is in it, by one of several who start`, async () => {
    await using database = await server.make()
    await send(database, await fixture("postgres", version))
    const stores = await Promise.all([database.open(), database.open(), database.open()])
    const [store] = stores
    assert.ok(store)
    await assertUpgraded(store)
    const { rows } = await send(database, "select version from public.migrations order by version")
    assert.deepEqual(
      rows.map((row) => Number(row.version)),
      migrations.map((migration) => migration.version),
    )
    await Promise.all(stores.map((one) => one[Symbol.asyncDispose]()))
  })
}

test("a migration that fails leaves the database unchanged", async () => {
  await using database = await server.make()
  await send(database, await fixture("postgres", 1))
  await send(database, "create table counters (in_the_way int)")
  await assert.rejects(
    database.open(),
    (error) => error instanceof StoreError && error.kind === "migration" && /version 2/.test(error.message),
  )
  const { rows } = await send(database, "select max(version) as version from migrations")
  assert.equal(Number(rows[0].version), 1)
})
