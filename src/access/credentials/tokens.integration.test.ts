import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import type { Caller } from "../caller.ts"
import { clientAddress, expectCaller, expectFailure, minuteMs, secondMs, signIn, tokenOf } from "../testing/identity-checks.ts"

describe("a session", () => {
  it("gets a new secret at every sign-in, and the browser's earlier session ends", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    const first = await signIn(fixture, "ann", "sesam")
    const next = await signIn(fixture, "ann", "sesam", first.secret)
    assert.notEqual(first.secret, next.secret)
    expectFailure(await fixture.identity.authenticate(undefined, first.secret, clientAddress))
    expectCaller(await fixture.identity.authenticate(undefined, next.secret, clientAddress))
  })

  it("ends with all other sessions of the person on request", async () => {
    await using fixture = await createIdentityFixture()
    const ann = await fixture.person("ann", "sesam")
    await fixture.person("bob", "sesam")
    const sessions = [await signIn(fixture, "ann", "sesam"), await signIn(fixture, "ann", "sesam")]
    const other = await signIn(fixture, "bob", "sesam")
    for (const { secret } of sessions) expectCaller(await fixture.identity.authenticate(undefined, secret, clientAddress))
    await fixture.store.change((tx) => fixture.identity.sessions.endAll(tx, ann.id))
    for (const { secret } of sessions) expectFailure(await fixture.identity.authenticate(undefined, secret, clientAddress))
    expectCaller(await fixture.identity.authenticate(undefined, other.secret, clientAddress))
  })

  it("records its last use at most once a minute", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store, clock } = fixture
    await fixture.person("ann", "sesam")
    const { secret, row } = await signIn(fixture, "ann", "sesam")
    const lastUsed = async () => (await store.sessions.get(row.id))?.lastUsedAt
    const use = () => identity.authenticate(undefined, secret, clientAddress)
    const start = clock.now()
    assert.equal(await lastUsed(), null)
    await use()
    await clock.advance(30 * secondMs)
    await use()
    await clock.advance(2 * secondMs)
    await store.change(async () => {})
    assert.equal(await lastUsed(), start)
    await clock.advance(28 * secondMs)
    await use()
    await identity[Symbol.asyncDispose]()
    assert.equal(await lastUsed(), start + minuteMs)
  })

  it("ends alone, or with all others but the one that asks", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const [one, two, three] = [
      await signIn(fixture, "ann", "sesam"),
      await signIn(fixture, "ann", "sesam"),
      await signIn(fixture, "ann", "sesam"),
    ]
    const caller = async ({ secret }: { secret: string }) => identity.authenticate(undefined, secret, clientAddress)
    const { credential } = expectCaller(await caller(one))
    for (const session of [two, three]) expectCaller(await caller(session))
    await store.change((tx) => identity.sessions.end(tx, two.row))
    expectFailure(await caller(two))
    expectCaller(await caller(three))
    assert.deepEqual(await store.change((tx) => identity.sessions.endAll(tx, ann.id, credential)), [three.row.id])
    expectFailure(await caller(three))
    expectCaller(await caller(one))
  })
})

describe("a token", () => {
  it("has one of three sets of scopes, and an end in the future or none", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    const who = expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    for (const scopes of [["read"], ["read", "write"], ["write", "read"], ["run:12"]]) {
      const { token, row } = await tokenOf(fixture, who, { scopes })
      assert.deepEqual([...row.scopes].sort(), [...scopes].sort())
      assert.deepEqual(
        [...expectCaller(await fixture.identity.authenticate(`Bearer ${token}`, undefined, clientAddress)).scopes].sort(),
        [...scopes].sort(),
      )
    }
    for (const scopes of [[], ["write"], ["run:12", "read"], ["run:12", "run:13"], ["run:0"], ["run:x"], ["admin"]]) {
      await assert.rejects(tokenOf(fixture, who, { scopes }), { code: "invalid", field: "Scopes" })
    }
    await assert.rejects(tokenOf(fixture, who, { expiresAt: fixture.clock.now() }), { code: "invalid", field: "ExpiresAt" })
  })

  it("creates no token with more rights or a longer lifetime than its own", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    const who = expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const expiresAt = fixture.clock.now() + minuteMs
    const by = async (scopes: string[]) => {
      const { token } = await tokenOf(fixture, who, { scopes, expiresAt })
      return expectCaller(await fixture.identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    }
    const reader = await by(["read"])
    for (const scopes of [["read"], ["read", "write"]])
      await assert.rejects(tokenOf(fixture, reader, { scopes, expiresAt }), { code: "forbidden" })
    await assert.rejects(tokenOf(fixture, reader, { scopes: ["run:1"], expiresAt }), { code: "forbidden" })
    const opener = await by(["run:1"])
    await assert.rejects(tokenOf(fixture, opener, { scopes: ["run:1"], expiresAt }), { code: "forbidden" })
    const writer = await by(["read", "write"])
    await tokenOf(fixture, writer, { scopes: ["run:1"], expiresAt })
    await assert.rejects(tokenOf(fixture, writer, { expiresAt: expiresAt + 1 }), { code: "forbidden", field: "ExpiresAt" })
    await assert.rejects(tokenOf(fixture, writer), { code: "forbidden", field: "ExpiresAt" })
  })

  it("is deleted only by its owner", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    await fixture.person("boss", "sesam", { isAdmin: true })
    const ann = expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const boss = expectCaller(await fixture.identity.authenticate(basic("boss", "sesam"), undefined, clientAddress))
    const { row } = await tokenOf(fixture, ann)
    const { identity, store } = fixture
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

  it("records its last use at most once a minute", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store, clock } = fixture
    await fixture.person("ann", "sesam")
    const { token, row } = await tokenOf(
      fixture,
      expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress)),
    )
    const lastUsed = async () => (await store.tokens.get(row.id))?.lastUsedAt
    const use = () => identity.authenticate(`Bearer ${token}`, undefined, clientAddress)
    const start = clock.now()
    await use()
    await clock.advance(30 * secondMs)
    await use()
    await store.change(async () => {})
    assert.equal(await lastUsed(), start)
    await clock.advance(2 * secondMs)
    await store.change(async () => {})
    assert.equal(await lastUsed(), start)
    await clock.advance(28 * secondMs)
    await use()
    await identity[Symbol.asyncDispose]()
    assert.equal(await lastUsed(), start + minuteMs)
  })
})

describe("a files token", () => {
  it("opens the files address alone, for five minutes", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, clock } = fixture
    await fixture.person("ann", "sesam")
    const who = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const { token, expiresAt } = identity.createFilesToken(who)
    assert.equal(expiresAt, clock.now() + 5 * minuteMs)
    expectFailure(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    const there = expectCaller(await identity.authenticateForFiles(`Bearer ${token}`, clientAddress))
    assert.deepEqual([there.userName, there.credential.kind], ["ann", "files"])
    assert.equal(
      expectCaller(await fixture.another().authenticateForFiles(`Bearer ${token}`, clientAddress)).userName,
      "ann",
      "any process with the key",
    )
    expectFailure(await identity.authenticateForFiles(`Bearer ${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`, clientAddress))
    await clock.advance(5 * minuteMs)
    expectFailure(await identity.authenticateForFiles(`Bearer ${token}`, clientAddress))
  })

  it("lets a request that began with it go on until the session ends", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, clock, store } = fixture
    await fixture.person("ann", "sesam")
    const { secret } = await signIn(fixture, "ann", "sesam")
    const header = `Bearer ${identity.createFilesToken(expectCaller(await identity.authenticate(undefined, secret, clientAddress))).token}`
    const began = expectCaller(await identity.authenticateForFiles(header, clientAddress))
    const begunAs = { userId: began.userId, credentialId: began.credential.id }
    const goesOn = () => identity.authenticateForFiles(header, clientAddress, { begunAs })
    await clock.advance(6 * minuteMs)
    assert.equal(expectCaller(await goesOn()).userName, "ann")
    expectFailure(await identity.authenticateForFiles(header, clientAddress))
    await store.change((tx) => identity.sessions.endBySecret(tx, secret))
    expectFailure(await goesOn())
  })

  it("ends with the credential that created it, and has the same scopes", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const { secret } = await signIn(fixture, "ann", "sesam")
    const bySession = expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    const { token } = await tokenOf(fixture, bySession, { scopes: ["read"] })
    const byToken = expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    const byPassword = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const created = [bySession, byToken, byPassword].map((who) => `Bearer ${identity.createFilesToken(who).token}`)
    for (const header of created) expectCaller(await identity.authenticateForFiles(header, clientAddress))
    assert.deepEqual(expectCaller(await identity.authenticateForFiles(created[1], clientAddress)).scopes, ["read"])
    await store.change((tx) => identity.sessions.endBySecret(tx, secret))
    expectFailure(await identity.authenticateForFiles(created[0], clientAddress))
    expectCaller(await identity.authenticateForFiles(created[1], clientAddress))
    const passwordHash = await identity.hashPassword("geheim")
    await store.change((tx) => identity.accounts.update(tx, ann.id, { passwordHash }))
    expectFailure(await identity.authenticateForFiles(created[2], clientAddress))
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: true }))
    for (const header of created) expectFailure(await identity.authenticateForFiles(header, clientAddress))
  })

  it("is optional for callers with other credentials; a run's token opens no files", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    const who = expectCaller(await fixture.identity.authenticateForFiles(basic("ann", "sesam"), clientAddress))
    const { token } = await tokenOf(fixture, who, { scopes: ["run:1"] })
    assert.equal(expectFailure(await fixture.identity.authenticateForFiles(`Bearer ${token}`, clientAddress)).status, 403)
    assert.equal(expectFailure(await fixture.identity.authenticateForFiles(undefined, clientAddress)).status, 401)
  })
})
