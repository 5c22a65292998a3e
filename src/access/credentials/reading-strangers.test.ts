import assert from "node:assert/strict"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import { currentReader, type Store } from "#store"
import { createIdentity } from "../identity.ts"

test("tokens and sessions that nobody knows are looked up as their address, and use few of the connections to PostgreSQL", async () => {
  const readers: unknown[] = []
  const byHash = async () => void readers.push(currentReader())
  const store = { tokens: { byHash }, sessions: { byHash } } as unknown as Store
  await using identity = createIdentity({ store, clock: systemClock, logger: silentLogger, keys: { files: Buffer.alloc(32) } })
  const token = `qs_${"a".repeat(43)}`
  await identity.authenticate(`Bearer ${token}`, undefined, "10.0.0.1")
  await identity.authenticate(`Basic ${btoa(`ann:${token}`)}`, undefined, "10.0.0.2")
  await identity.authenticate(undefined, "b".repeat(43), "2001:db8::1")
  assert.deepEqual(readers, ["address 10.0.0.1", "address 10.0.0.2", "address 2001:db8:0:0::/64"])
})
