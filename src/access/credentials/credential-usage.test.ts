import assert from "node:assert/strict"
import { test } from "node:test"
import { silentLogger } from "#kit"
import { createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { recordQueries } from "../../../test/fixtures/recorded-queries.ts"
import { CredentialUsageRecorder } from "./credential-usage.ts"

test("the last uses of any number of tokens and sessions are written by one query each", async () => {
  await using fixture = await createIdentityFixture()
  const { store, clock, person } = fixture
  const { id: userId } = await person("ann", "secret")
  const expiresAt = clock.now() + 3_600_000
  const stored = await store.change(async (tx) => {
    const ids: { kind: "token" | "session"; id: number }[] = []
    for (let i = 0; i < 20; i += 1) {
      const { id } = await tx.tokens.insert({ userId, name: "t", hash: `t${i}`, expiresAt: null, scopes: ["read"] })
      const session = await tx.sessions.insert({ userId, hash: `s${i}`, expiresAt, address: "", browser: "" })
      ids.push({ kind: "token", id }, { kind: "session", id: session.id })
    }
    return ids
  })
  const queries = await recordQueries(async () => {
    await using recorder = new CredentialUsageRecorder({ store, clock, logger: silentLogger })
    for (const each of stored) recorder.record({ ...each, recordedAt: 0 })
  })
  assert.equal(queries.filter((sql) => sql.startsWith("update")).length, 2)
  for (const { kind, id } of stored)
    assert.equal((await (kind === "token" ? store.tokens : store.sessions).get(id))?.lastUsedAt, clock.now())
})
