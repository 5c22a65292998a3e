import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { clientAddress, expectCaller, expectFailure, minuteMs, signIn, tokenOf } from "../testing/identity-checks.ts"
import { TwoGenerationCache } from "../two-generation-cache.ts"

describe("authentication", () => {
  it("accepts a name with its password, a token, a name with its token, or a session", async () => {
    await using fixture = await createIdentityFixture()
    const { identity } = fixture
    const ann = await fixture.person("ann", "sesam")
    const byPassword = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    assert.equal(byPassword.userId, ann.id)
    assert.deepEqual(
      { ...byPassword, credential: byPassword.credential.kind },
      { ...byPassword, userName: "ann", isAdmin: false, groupIds: [], groupNames: [], scopes: ["read", "write"], credential: "password" },
    )
    const { token } = await tokenOf(fixture, byPassword)
    assert.match(token, /^qs_[A-Za-z0-9_-]{43}$/)
    for (const header of [`Bearer ${token}`, `bearer ${token}`, basic("ann", token)]) {
      const byToken = expectCaller(await identity.authenticate(header, undefined, clientAddress))
      assert.deepEqual([byToken.userName, byToken.credential.kind], ["ann", "token"])
    }
    const { secret } = await signIn(fixture, "ann", "sesam")
    assert.equal(expectCaller(await identity.authenticate(undefined, secret, clientAddress)).credential.kind, "session")
  })

  it("remembers credentials once, however many spellings of a header carry them", async (t) => {
    await using fixture = await createIdentityFixture()
    const { identity } = fixture
    await fixture.person("ann", "sesam")
    const byPassword = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    const { token } = await tokenOf(fixture, byPassword)
    const known = t.mock.method(TwoGenerationCache.prototype, "set").mock
    for (const header of [basic("ann", "sesam"), basic("ann", token), `Bearer ${token}`]) {
      const [scheme = "", value = ""] = header.split(" ")
      expectCaller(await identity.authenticate(header, undefined, clientAddress))
      const before = known.callCount()
      for (const each of [scheme, scheme.toLowerCase(), scheme.toUpperCase()]) {
        for (const other of [value, value.replace(/=+$/, "")])
          expectCaller(await identity.authenticate(`${each}   ${other}`, undefined, clientAddress))
      }
      assert.equal(known.callCount(), before, scheme)
    }
  })

  it("returns the person's groups", async () => {
    await using fixture = await createIdentityFixture()
    const ann = await fixture.person("ann", "sesam")
    expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    await fixture.store.change(async (tx) => {
      const { limits } = ann
      const group = await tx.groups.insert({ groupName: "lab", comment: "", limits, totalLimits: limits })
      await tx.groups.setMembers(group.id, [ann.id])
      tx.afterCommit(() => fixture.identity.invalidateAll())
    })
    assert.deepEqual(expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress)).groupNames, ["lab"])
  })

  it("rejects all wrong credentials with the same message", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    await fixture.person("boss", "x", { isAdmin: true })
    await fixture.person("ann", "sesam")
    await fixture.person("elsewhere", null)
    await fixture.person("disabled", "sesam", { isDisabled: true })
    const deletedUser = await fixture.person("gone", "sesam")
    const bob = await fixture.person("bob", "sesam")
    const { token } = await tokenOf(fixture, expectCaller(await identity.authenticate(basic("bob", "sesam"), undefined, clientAddress)))
    await store.change((tx) => identity.accounts.delete(tx, deletedUser.id))
    const wrong = {
      "wrong password": basic("ann", "Sesam"),
      "empty password": basic("ann", ""),
      "unknown person": basic("nobody", "sesam"),
      "another case": basic("Ann", "sesam"),
      "no name": basic("", "sesam"),
      "no password there": basic("elsewhere", ""),
      disabled: basic("disabled", "sesam"),
      deleted: basic("gone", "sesam"),
      "token of another": basic("ann", token),
      "unknown token": `Bearer qs_${"A".repeat(43)}`,
      "unknown token with a name": basic("ann", `qs_${"A".repeat(43)}`),
      "files token": "Bearer qf_AAAA.BBBB",
    }
    const words = new Set<string>()
    for (const [what, header] of Object.entries(wrong)) {
      const answer = expectFailure(await identity.authenticate(header, undefined, clientAddress))
      assert.equal(answer.status, 401, what)
      words.add(answer.message)
    }
    assert.equal(words.size, 1)
    assert.match([...words].join(), /user name/)
    assert.equal(expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress)).userId, bob.id)
  })

  it("rejects missing, malformed and too long credentials with a message that says what is expected", async () => {
    await using fixture = await createIdentityFixture()
    for (const header of [undefined, "Basic bm9jb2xvbg==", "Digest x", basic("ann", "x".repeat(64 * 1024))]) {
      const answer = expectFailure(await fixture.identity.authenticate(header, undefined, clientAddress))
      assert.equal(answer.status, 401)
      assert.match(answer.message, /user name/)
      if (header && header.length > 1000) assert.match(answer.message, /at most 1024 bytes/)
    }
  })

  it("uses the header, right or wrong, instead of the session", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    await fixture.person("bob", "sesam")
    const { secret } = await signIn(fixture, "ann", "sesam")
    assert.equal(expectCaller(await fixture.identity.authenticate(basic("bob", "sesam"), secret, clientAddress)).userName, "bob")
    expectFailure(await fixture.identity.authenticate(basic("bob", "wrong"), secret, clientAddress))
  })

  it("never accepts one kind of credential as another", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    const { secret } = await signIn(fixture, "ann", "sesam")
    const { token } = await tokenOf(fixture, expectCaller(await fixture.identity.authenticate(undefined, secret, clientAddress)))
    expectCaller(await fixture.identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    for (const [header, session] of [
      [`Bearer ${secret}`, undefined],
      [basic("ann", secret), undefined],
      [undefined, token],
      [undefined, ""],
    ] as const) {
      expectFailure(await fixture.identity.authenticate(header, session, clientAddress))
    }
    expectFailure(await fixture.identity.checkPassword("ann", token, clientAddress))
  })

  it("refreshes a caller only for the credential's owner", async () => {
    await using fixture = await createIdentityFixture()
    const { identity } = fixture
    const ann = await fixture.person("ann", "sesam")
    const bob = await fixture.person("bob", "sesam")
    const { secret } = await signIn(fixture, "ann", "sesam")
    const bySession = expectCaller(await identity.authenticate(undefined, secret, clientAddress))
    const { token } = await tokenOf(fixture, bySession)
    const byToken = expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
    const byPassword = expectCaller(await identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    for (const { credential } of [bySession, byToken, byPassword]) {
      assert.deepEqual((await identity.refreshCaller(ann.id, credential.id))?.credential, credential)
      assert.equal(await identity.refreshCaller(bob.id, credential.id), undefined, credential.kind)
    }
    for (const wrong of ["", "token:", "token:x", "session:", "files:", "files:9e99:", "nothing", "password:"]) {
      assert.equal(await identity.refreshCaller(ann.id, wrong), undefined, wrong)
    }
  })

  it("returns cached callers synchronously", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    const header = basic("ann", "sesam")
    const identity = fixture.another({ maxCacheAgeMs: 10 * minuteMs })
    assert.equal(identity.authenticateCached(header, undefined, clientAddress), undefined)
    const who = expectCaller(await identity.authenticate(header, undefined, clientAddress))
    assert.equal(identity.authenticateCached(header, undefined, clientAddress), who)
    assert.equal(identity.authenticateCached(basic("ann", "wrong"), undefined, clientAddress), undefined)
    assert.equal(identity.authenticateCached(undefined, undefined, clientAddress), undefined)
    await fixture.clock.advance(minuteMs)
    assert.equal(identity.authenticateCached(header, undefined, clientAddress), undefined, "believed for 60 s")
  })

  it("costs one hash for a Basic header in many simultaneous requests", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam")
    // One hash at a time and nobody may wait: a second one would be refused.
    const identity = fixture.another({ hashing: { maxConcurrent: 1, maxQueued: 0 } })
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => identity.authenticate(basic("ann", "sesam"), undefined, clientAddress)),
    )
    assert.equal(new Set(answers.map((answer) => expectCaller(answer).userName)).size, 1)
    const [one, two] = await Promise.all([
      identity.authenticate(basic("ann", "wrong one"), undefined, clientAddress),
      identity.authenticate(basic("ann", "wrong two"), undefined, clientAddress),
    ])
    assert.deepEqual([expectFailure(one).status, expectFailure(two).status].sort(), [401, 503])
  })

  it("costs one hash a minute for a Basic header, however often the person is read again", async () => {
    await using fixture = await createIdentityFixture()
    const { id } = await fixture.person("ann", "sesam")
    // One hash at a time and nobody may wait: while somebody else's is under way, another one is
    // refused.
    const identity = fixture.another({ hashing: { maxConcurrent: 1, maxQueued: 0 }, maxCacheAgeMs: 2_000 })
    const header = basic("ann", "sesam")
    const whileBusy = async () => {
      const other = identity.authenticate(basic("nobody", "any"), undefined, "192.0.2.7")
      const own = await identity.authenticate(header, undefined, clientAddress)
      await other
      return own
    }
    expectCaller(await identity.authenticate(header, undefined, clientAddress))
    await fixture.clock.advance(59_000)
    assert.equal(identity.authenticateCached(header, undefined, clientAddress), undefined)
    expectCaller(await whileBusy())
    await fixture.clock.advance(1_000)
    assert.equal(expectFailure(await whileBusy()).status, 503, "after a minute it is checked again")
    expectCaller(await identity.authenticate(header, undefined, clientAddress))
    const another = await fixture.identity.hashPassword("another")
    await fixture.store.change((tx) => fixture.identity.accounts.update(tx, id, { passwordHash: another }))
    await fixture.clock.advance(2_000)
    assert.equal(expectFailure(await identity.authenticate(header, undefined, clientAddress)).status, 401, "another password ends it")
  })
})
