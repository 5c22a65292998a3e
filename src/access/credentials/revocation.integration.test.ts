import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { clientAddress, expectCaller, expectFailure, signIn, tokenOf } from "../testing/identity-checks.ts"
import { sessionLifetimeMs } from "./sessions.ts"

describe("credentials end", () => {
  it("at once when a token is revoked or a session is signed out", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    await fixture.person("ann", "sesam")
    const who = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const { token, row } = await tokenOf(fixture, who)
    const { secret } = await signIn(fixture, "ann", "sesam")
    expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    expectCaller(await identity.authenticate(basic("ann", token), undefined, clientAddress))
    expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    await store.change((tx) => identity.tokens.delete(tx, who, row.id))
    for (const header of [`Bearer ${token}`, basic("ann", token)]) {
      assert.equal(identity.authenticateCached(header, undefined, clientAddress), undefined)
      expectFailure(await identity.authenticate(header, undefined, clientAddress))
    }
    expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    await store.change((tx) => identity.sessions.endBySecret(tx, secret))
    expectFailure(await identity.authenticate(undefined, secret, clientAddress))
    await store.change((tx) => identity.sessions.endBySecret(tx, secret))
  })

  it("when the person is deleted, with their tokens and sessions", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const who = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const { token, row } = await tokenOf(fixture, who)
    const session = await signIn(fixture, "ann", "sesam")
    expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    await store.change((tx) => identity.accounts.delete(tx, ann.id))
    for (const header of [basic("ann", "sesam"), `Bearer ${token}`])
      expectFailure(await identity.authenticate(header, undefined, clientAddress))
    assert.equal(await store.tokens.get(row.id), undefined)
    assert.equal(await store.sessions.byHash(session.row.hash), undefined)
  })

  it("not when the change is rolled back", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const { secret } = await signIn(fixture, "ann", "sesam")
    const undone = store.change(async (tx) => {
      await identity.accounts.update(tx, ann.id, { isDisabled: true })
      throw new Error("no")
    })
    await assert.rejects(undone, /no/)
    expectCaller(await identity.authenticate(undefined, secret, clientAddress))
  })

  it("when the person is disabled; enabling restores the password, but no token and no session", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const password = basic("ann", "sesam")
    const who = expectCaller(await identity.authenticate(password, undefined, clientAddress))
    const { token } = await tokenOf(fixture, who)
    const { secret } = await signIn(fixture, "ann", "sesam")
    expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    assert.equal((await identity.refreshCaller(ann.id, who.credential.id))?.userName, "ann")
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: true }))
    assert.equal(await identity.refreshCaller(ann.id, who.credential.id), undefined)
    for (const header of [password, `Bearer ${token}`]) expectFailure(await identity.authenticate(header, undefined, clientAddress))
    expectFailure(await identity.authenticate(undefined, secret, clientAddress))
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: false }))
    expectCaller(await identity.authenticate(password, undefined, clientAddress))
    expectFailure(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    expectFailure(await identity.authenticate(undefined, secret, clientAddress))
  })

  it("when the password changes: the old password, and all sessions but the one that changed it", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const old = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const own = await signIn(fixture, "ann", "sesam")
    const other = await signIn(fixture, "ann", "sesam")
    for (const { secret } of [own, other]) expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    const passwordHash = await identity.hashPassword("geheim")
    await store.change((tx) => identity.accounts.update(tx, ann.id, { passwordHash }, { keepSession: own.row.hash }))
    expectFailure(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    expectFailure(await identity.authenticate(undefined, other.secret, clientAddress))
    assert.equal(await identity.refreshCaller(ann.id, old.credential.id), undefined)
    expectCaller(await identity.authenticate(undefined, own.secret, clientAddress))
    expectCaller(await identity.authenticate(basic("ann", "geheim"), undefined, clientAddress))
  })

  it("when the password changes while a check of the old one waits", async () => {
    await using fixture = await createIdentityFixture()
    const identity = fixture.another({ hashing: { maxConcurrent: 1 } })
    const passwordHash = await fixture.identity.hashPassword("geheim")
    // On a busy disk the change may take longer than ten hashes: then no check waited.
    for (let length = 10, hasWaited = false; !hasWaited; length *= 2) {
      let served = 0
      const userName = `ann${length}`
      const ann = await fixture.person(userName, "sesam")
      const ahead = Array.from({ length }, async (_, i) => {
        await identity.authenticate(basic(`nobody${i}`, "x"), undefined, `10.${length}.${i}.1`)
        served += 1
      })
      const inLine = identity.authenticate(basic(userName, "sesam"), undefined, clientAddress)
      const signingIn = identity.checkPassword(userName, "sesam", clientAddress)
      await new Promise((resolve) => setImmediate(resolve))
      await fixture.store.change((tx) => identity.accounts.update(tx, ann.id, { passwordHash }))
      hasWaited = served < length
      if (hasWaited) {
        expectFailure(await inLine)
        expectFailure(await signingIn)
      }
      await Promise.all([...ahead, inLine, signingIn])
    }
  })

  it("for a caller who was authenticated before a disabling and then asks for a session or token", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const ann = await fixture.person("ann", "sesam")
    const who = expectCaller(await identity.checkPassword("ann", "sesam", clientAddress))
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: true }))
    await assert.rejects(
      store.change((tx) => identity.sessions.create(tx, who, { address: clientAddress, browser: undefined })),
      { code: "unauthorized" },
    )
    await assert.rejects(tokenOf(fixture, who), { code: "unauthorized" })
  })

  it("in another process as soon as its cached callers expire", async () => {
    await using fixture = await createIdentityFixture()
    const elsewhere = fixture.another({ maxCacheAgeMs: 4_000 })
    await fixture.person("ann", "sesam")
    const who = expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const { token, row } = await tokenOf(fixture, who)
    expectCaller(await elsewhere.authenticate(`Bearer ${token}`, undefined, clientAddress))
    await fixture.store.change((tx) => fixture.identity.tokens.delete(tx, who, row.id))
    expectCaller(await elsewhere.authenticate(`Bearer ${token}`, undefined, clientAddress))
    await fixture.clock.advance(4_000)
    expectFailure(await elsewhere.authenticate(`Bearer ${token}`, undefined, clientAddress))
  })

  it("when a token expires, and seven days after a session's sign-in", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store, clock } = fixture
    await fixture.person("ann", "sesam")
    const { secret, row } = await signIn(fixture, "ann", "sesam")
    const who = expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    const { token } = await tokenOf(fixture, who, { expiresAt: clock.now() + 10_000 })
    expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    await clock.advance(9_999)
    expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    await clock.advance(1)
    assert.equal(identity.authenticateCached(`Bearer ${token}`, undefined, clientAddress), undefined)
    expectFailure(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    await clock.advance(sessionLifetimeMs - 10_001)
    expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    await clock.advance(1)
    expectFailure(await identity.authenticate(undefined, secret, clientAddress))
    const next = await signIn(fixture, "ann", "sesam")
    assert.equal(await store.sessions.byHash(row.hash), undefined, "what has expired is swept at the next sign-in")
    assert.ok(await store.sessions.byHash(next.row.hash))
  })

  it("with a call of the listeners that names the person", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const revocations: unknown[] = []
    const ann = await fixture.person("ann", "sesam")
    {
      using _listening = identity.onInvalidate((userIds) => revocations.push(userIds))
      await store.change((tx) => identity.accounts.update(tx, ann.id, { comment: "x" }))
      identity.invalidateAll()
    }
    identity.invalidateAll()
    assert.deepEqual(revocations, [[ann.id], undefined])
  })
})
