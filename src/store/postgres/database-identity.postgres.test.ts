import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, test } from "node:test"
import { testDatabase } from "../testing/databases.ts"
import { postgresServer } from "../testing/postgres.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

async function administer(statement: string): Promise<void> {
  const client = await server.connect()
  await client.query(statement).finally(() => client.end())
}

async function instanceOf(url: string): Promise<string> {
  await using store = await testDatabase(url, async () => {}).open()
  return store.instance
}

test("a copy beside the original gets a new name; a replacement of the original keeps its name", async () => {
  await using database = await server.make()
  const instance = await instanceOf(database.url)
  const name = new URL(database.url).pathname.slice(1)
  const other = `quayside_copy_${randomBytes(6).toString("hex")}`
  await administer(`create database ${other} template ${name}`)
  const copied = await instanceOf(server.urlOf(other))
  assert.notEqual(copied, instance)
  assert.equal(await instanceOf(server.urlOf(other)), copied)
  assert.equal(await instanceOf(database.url), instance)
  await administer(`drop database ${other}`)

  await administer(`create database ${other} template ${name}`)
  await administer(`drop database ${name}`)
  await administer(`alter database ${other} rename to ${name}`)
  assert.equal(await instanceOf(database.url), instance)
})
