import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import type { Caller } from "../caller.ts"
import { caller, home, minute, refusal, second, signIn, tokenOf } from "../testing/identity-checks.ts"

describe("a session", () => {
  it("gets a new secret at every sign-in, and the one that the browser came with ends", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    const first = await signIn(world, "ann", "sesam")
    const next = await signIn(world, "ann", "sesam", first.secret)
    assert.notEqual(first.secret, next.secret)
    refusal(await world.identity.authenticate(undefined, first.secret, home))
    caller(await world.identity.authenticate(undefined, next.secret, home))
  })

  it("ends with all others of the person on request", async () => {
    await using world = await createIdentityFixture()
    const ann = await world.person("ann", "sesam")
    await world.person("bob", "sesam")
    const sessions = [await signIn(world, "ann", "sesam"), await signIn(world, "ann", "sesam")]
    const other = await signIn(world, "bob", "sesam")
    for (const { secret } of sessions) caller(await world.identity.authenticate(undefined, secret, home))
    await world.store.change((tx) => world.identity.sessions.endAll(tx, ann.id))
    for (const { secret } of sessions) refusal(await world.identity.authenticate(undefined, secret, home))
    caller(await world.identity.authenticate(undefined, other.secret, home))
  })
})

describe("a token", () => {
  it("has one of three sets of scopes, and an end in the future or none", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    const who = caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home))
    for (const scopes of [["read"], ["read", "write"], ["write", "read"], ["run:12"]]) {
      const { token, row } = await tokenOf(world, who, { scopes })
      assert.deepEqual([...row.scopes].sort(), [...scopes].sort())
      assert.deepEqual([...caller(await world.identity.authenticate(`Bearer ${token}`, undefined, home)).scopes].sort(), [...scopes].sort())
    }
    for (const scopes of [[], ["write"], ["run:12", "read"], ["run:12", "run:13"], ["run:0"], ["run:x"], ["admin"]]) {
      await assert.rejects(tokenOf(world, who, { scopes }), { code: "invalid", field: "Scopes" })
    }
    await assert.rejects(tokenOf(world, who, { expiresAt: world.clock.now() }), { code: "invalid", field: "ExpiresAt" })
  })

  it("gives no other token more than it has, nor a longer life", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    const who = caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home))
    const expiresAt = world.clock.now() + minute
    const by = async (scopes: string[]) => {
      const { token } = await tokenOf(world, who, { scopes, expiresAt })
      return caller(await world.identity.authenticate(`Bearer ${token}`, undefined, home))
    }
    const reader = await by(["read"])
    for (const scopes of [["read"], ["read", "write"]])
      await assert.rejects(tokenOf(world, reader, { scopes, expiresAt }), { code: "forbidden" })
    await assert.rejects(tokenOf(world, reader, { scopes: ["run:1"], expiresAt }), { code: "forbidden" })
    const opener = await by(["run:1"])
    await assert.rejects(tokenOf(world, opener, { scopes: ["run:1"], expiresAt }), { code: "forbidden" })
    const writer = await by(["read", "write"])
    await tokenOf(world, writer, { scopes: ["run:1"], expiresAt })
    await assert.rejects(tokenOf(world, writer, { expiresAt: expiresAt + 1 }), { code: "forbidden", field: "ExpiresAt" })
    await assert.rejects(tokenOf(world, writer), { code: "forbidden", field: "ExpiresAt" })
  })

  it("is deleted by its person only", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    await world.person("boss", "sesam", { isAdmin: true })
    const ann = caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home))
    const boss = caller(await world.identity.authenticate(basic("boss", "sesam"), undefined, home))
    const { row } = await tokenOf(world, ann)
    const { identity, store } = world
    await assert.rejects(
      store.change((tx) => identity.tokens.delete(tx, boss, row.id)),
      { code: "not_found" },
    )
    const reader: Caller = { ...ann, scopes: ["read"] }
    await assert.rejects(
      store.change((tx) => identity.tokens.delete(tx, reader, row.id)),
      { code: "forbidden" },
    )
    await store.change((tx) => identity.tokens.delete(tx, ann, row.id))
    await assert.rejects(
      store.change((tx) => identity.tokens.delete(tx, ann, row.id)),
      { code: "not_found" },
    )
  })

  it("remembers its last use, written at most once a minute", async () => {
    await using world = await createIdentityFixture()
    const { identity, store, clock } = world
    await world.person("ann", "sesam")
    const { token, row } = await tokenOf(world, caller(await identity.authenticate(basic("ann", "sesam"), undefined, home)))
    const lastUsed = async () => (await store.tokens.get(row.id))?.lastUsedAt
    const use = () => identity.authenticate(`Bearer ${token}`, undefined, home)
    const start = clock.now()
    await use()
    await clock.advance(30 * second)
    await use()
    await store.change(async () => {})
    assert.equal(await lastUsed(), start)
    await clock.advance(2 * second)
    await store.change(async () => {})
    assert.equal(await lastUsed(), start)
    await clock.advance(28 * second)
    await use()
    await identity[Symbol.asyncDispose]()
    assert.equal(await lastUsed(), start + minute)
  })
})

describe("a files token", () => {
  it("opens the files address alone, for five minutes", async () => {
    await using world = await createIdentityFixture()
    const { identity, clock } = world
    await world.person("ann", "sesam")
    const who = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    const { token, expiresAt } = identity.createFilesToken(who)
    assert.equal(expiresAt, clock.now() + 5 * minute)
    refusal(await identity.authenticate(`Bearer ${token}`, undefined, home))
    const there = caller(await identity.authenticateForFiles(`Bearer ${token}`, home))
    assert.deepEqual([there.userName, there.credential.kind], ["ann", "files"])
    assert.equal(caller(await world.another().authenticateForFiles(`Bearer ${token}`, home)).userName, "ann", "any process with the key")
    refusal(await identity.authenticateForFiles(`Bearer ${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`, home))
    await clock.advance(5 * minute)
    refusal(await identity.authenticateForFiles(`Bearer ${token}`, home))
  })

  it("ends with the proof that it was made by, and has its scopes", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const ann = await world.person("ann", "sesam")
    const { secret } = await signIn(world, "ann", "sesam")
    const bySession = caller(await identity.authenticate(undefined, secret, home))
    const { token } = await tokenOf(world, bySession, { scopes: ["read"] })
    const byToken = caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    const byPassword = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    const made = [bySession, byToken, byPassword].map((who) => `Bearer ${identity.createFilesToken(who).token}`)
    for (const header of made) caller(await identity.authenticateForFiles(header, home))
    assert.deepEqual(caller(await identity.authenticateForFiles(made[1], home)).scopes, ["read"])
    await store.change((tx) => identity.sessions.end(tx, secret))
    refusal(await identity.authenticateForFiles(made[0], home))
    caller(await identity.authenticateForFiles(made[1], home))
    const passwordHash = await identity.hashPassword("geheim")
    await store.change((tx) => identity.accounts.update(tx, ann.id, { passwordHash }))
    refusal(await identity.authenticateForFiles(made[2], home))
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: true }))
    for (const header of made) refusal(await identity.authenticateForFiles(header, home))
  })

  it("is not needed there by who has another proof, but a run's token opens no files", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    const who = caller(await world.identity.authenticateForFiles(basic("ann", "sesam"), home))
    const { token } = await tokenOf(world, who, { scopes: ["run:1"] })
    assert.equal(refusal(await world.identity.authenticateForFiles(`Bearer ${token}`, home)).status, 403)
    assert.equal(refusal(await world.identity.authenticateForFiles(undefined, home)).status, 401)
  })
})
