import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { basic, createIdentityFixture, type IdentityFixture } from "../../test/fixtures/identity.ts"
import { type Caller, Refusal } from "./caller.ts"
import { sessionLifetimeMs } from "./credentials/sessions.ts"

const home = "127.0.0.1"
const second = 1_000
const minute = 60 * second

function caller(answer: Caller | Refusal | undefined): Caller {
  if (answer === undefined || answer instanceof Refusal) assert.fail(`a caller is wanted, got ${answer?.message}`)
  return answer
}

function refusal(answer: Caller | Refusal | undefined): Refusal {
  assert.ok(answer instanceof Refusal, "a refusal is wanted")
  return answer
}

async function tokenOf(world: IdentityFixture, who: Caller, wanted: { expiresAt?: number; scopes?: string[] } = {}) {
  const { scopes, expiresAt = null } = wanted
  return world.store.change((tx) => world.identity.tokens.create(tx, who, { name: "t", expiresAt, ...(scopes ? { scopes } : {}) }))
}

async function signIn(world: IdentityFixture, name: string, password: string, previous?: string) {
  const who = caller(await world.identity.checkPassword(name, password, home))
  return world.store.change((tx) => world.identity.sessions.create(tx, who, previous))
}

describe("a proof", () => {
  it("is a name with its password, a token, a name with its token, or a session", async () => {
    await using world = await createIdentityFixture()
    const { identity } = world
    const ann = await world.person("ann", "sesam")
    const byPassword = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    assert.equal(byPassword.userId, ann.id)
    assert.deepEqual(
      { ...byPassword, credential: byPassword.credential.kind },
      { ...byPassword, userName: "ann", isAdmin: false, groupIds: [], groupNames: [], scopes: ["read", "write"], credential: "password" },
    )
    const { token } = await tokenOf(world, byPassword)
    assert.match(token, /^qs_[A-Za-z0-9_-]{43}$/)
    for (const header of [`Bearer ${token}`, `bearer ${token}`, basic("ann", token)]) {
      const byToken = caller(await identity.authenticate(header, undefined, home))
      assert.deepEqual([byToken.userName, byToken.credential.kind], ["ann", "token"])
    }
    const { secret } = await signIn(world, "ann", "sesam")
    assert.equal(caller(await identity.authenticate(undefined, secret, home)).credential.kind, "session")
  })

  it("knows the person's groups", async () => {
    await using world = await createIdentityFixture()
    const ann = await world.person("ann", "sesam")
    caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home))
    await world.store.change(async (tx) => {
      const { limits } = ann
      const group = await tx.groups.insert({ groupName: "lab", comment: "", limits, totalLimits: limits })
      await tx.groups.setMembers(group.id, [ann.id])
      tx.afterCommit(() => world.identity.invalidateAll())
    })
    assert.deepEqual(caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home)).groupNames, ["lab"])
  })

  it("that is wrong is refused in the same words, whatever is wrong", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    await world.person("boss", "x", { isAdmin: true })
    await world.person("ann", "sesam")
    await world.person("elsewhere", null)
    await world.person("disabled", "sesam", { isDisabled: true })
    const gone = await world.person("gone", "sesam")
    const bob = await world.person("bob", "sesam")
    const { token } = await tokenOf(world, caller(await identity.authenticate(basic("bob", "sesam"), undefined, home)))
    await store.change((tx) => identity.accounts.delete(tx, gone.id))
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
      const answer = refusal(await identity.authenticate(header, undefined, home))
      assert.equal(answer.status, 401, what)
      words.add(answer.message)
    }
    assert.equal(words.size, 1)
    assert.match([...words].join(), /user name/)
    assert.equal(caller(await identity.authenticate(`Bearer ${token}`, undefined, home)).userId, bob.id)
  })

  it("that is missing, malformed or too long is refused with what is wanted", async () => {
    await using world = await createIdentityFixture()
    for (const header of [undefined, "Basic bm9jb2xvbg==", "Digest x", basic("ann", "x".repeat(64 * 1024))]) {
      const answer = refusal(await world.identity.authenticate(header, undefined, home))
      assert.equal(answer.status, 401)
      assert.match(answer.message, /user name/)
      if (header && header.length > 1000) assert.match(answer.message, /at most 1024 bytes/)
    }
  })

  it("in the header counts, right or wrong, whatever the session says", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    await world.person("bob", "sesam")
    const { secret } = await signIn(world, "ann", "sesam")
    assert.equal(caller(await world.identity.authenticate(basic("bob", "sesam"), secret, home)).userName, "bob")
    refusal(await world.identity.authenticate(basic("bob", "wrong"), secret, home))
  })

  it("of one kind is not taken for another", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    const { secret } = await signIn(world, "ann", "sesam")
    const { token } = await tokenOf(world, caller(await world.identity.authenticate(undefined, secret, home)))
    caller(await world.identity.authenticate(`Bearer ${token}`, undefined, home))
    for (const [header, session] of [
      [`Bearer ${secret}`, undefined],
      [basic("ann", secret), undefined],
      [undefined, token],
      [undefined, ""],
    ] as const) {
      refusal(await world.identity.authenticate(header, session, home))
    }
    refusal(await world.identity.checkPassword("ann", token, home))
  })

  it("is recalled by its own person alone", async () => {
    await using world = await createIdentityFixture()
    const { identity } = world
    const ann = await world.person("ann", "sesam")
    const bob = await world.person("bob", "sesam")
    const { secret } = await signIn(world, "ann", "sesam")
    const bySession = caller(await identity.authenticate(undefined, secret, home))
    const { token } = await tokenOf(world, bySession)
    const byToken = caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    const byPassword = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    for (const { credential } of [bySession, byToken, byPassword]) {
      assert.deepEqual((await identity.refreshCaller(ann.id, credential.id))?.credential, credential)
      assert.equal(await identity.refreshCaller(bob.id, credential.id), undefined, credential.kind)
    }
    for (const wrong of ["", "token:", "token:x", "session:", "files:", "files:9e99:", "nothing", "password:"]) {
      assert.equal(await identity.refreshCaller(ann.id, wrong), undefined, wrong)
    }
  })

  it("that is known is answered without waiting", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    const header = basic("ann", "sesam")
    const identity = world.another({ maxCacheAgeMs: 10 * minute })
    assert.equal(identity.authenticateCached(header, undefined, home), undefined)
    const who = caller(await identity.authenticate(header, undefined, home))
    assert.equal(identity.authenticateCached(header, undefined, home), who)
    assert.equal(identity.authenticateCached(basic("ann", "wrong"), undefined, home), undefined)
    assert.equal(identity.authenticateCached(undefined, undefined, home), undefined)
    await world.clock.advance(minute)
    assert.equal(identity.authenticateCached(header, undefined, home), undefined, "believed for 60 s")
  })

  it("of Basic that comes in many requests at once costs one hash", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam")
    // One hash at a time and nobody may wait: a second one would be refused.
    const identity = world.another({ hashing: { maxConcurrent: 1, maxQueued: 0 } })
    const answers = await Promise.all(Array.from({ length: 20 }, () => identity.authenticate(basic("ann", "sesam"), undefined, home)))
    assert.equal(new Set(answers.map((answer) => caller(answer).userName)).size, 1)
    const [one, two] = await Promise.all([
      identity.authenticate(basic("ann", "wrong one"), undefined, home),
      identity.authenticate(basic("ann", "wrong two"), undefined, home),
    ])
    assert.deepEqual([refusal(one).status, refusal(two).status].sort(), [401, 503])
  })

  it("of Basic costs one hash a minute, however often its person is read again", async () => {
    await using world = await createIdentityFixture()
    const { id } = await world.person("ann", "sesam")
    // One hash at a time and nobody may wait: while somebody else's is under way, another one is
    // refused.
    const identity = world.another({ hashing: { maxConcurrent: 1, maxQueued: 0 }, maxCacheAgeMs: 2_000 })
    const header = basic("ann", "sesam")
    const whileBusy = async () => {
      const other = identity.authenticate(basic("nobody", "any"), undefined, "192.0.2.7")
      const own = await identity.authenticate(header, undefined, home)
      await other
      return own
    }
    caller(await identity.authenticate(header, undefined, home))
    await world.clock.advance(59_000)
    assert.equal(identity.authenticateCached(header, undefined, home), undefined)
    caller(await whileBusy())
    await world.clock.advance(1_000)
    assert.equal(refusal(await whileBusy()).status, 503, "after a minute it is checked again")
    caller(await identity.authenticate(header, undefined, home))
    const another = await world.identity.hashPassword("another")
    await world.store.change((tx) => world.identity.accounts.update(tx, id, { passwordHash: another }))
    await world.clock.advance(2_000)
    assert.equal(refusal(await identity.authenticate(header, undefined, home)).status, 401, "another password ends it")
  })
})

describe("wrong passwords", () => {
  it("are refused with 429 after ten from an address, and nobody else is locked out by them", async () => {
    await using world = await createIdentityFixture()
    const { identity } = world
    await world.person("ann", "sesam")
    const tries = async (password: string, from: string) => {
      const answer = await identity.authenticate(basic("ann", password), undefined, from)
      return answer instanceof Refusal ? answer.status : 200
    }
    for (let i = 0; i < 10; i += 1) assert.equal(await tries("wrong", "10.0.0.66"), 401)
    assert.equal(await tries("wrong", "10.0.0.66"), 429)
    assert.equal(await tries("sesam", "10.0.0.66"), 429, "the right one does not tell itself")
    assert.equal(await tries("sesam", "10.0.0.1"), 200)
    await world.clock.advance(minute)
    assert.equal(await tries("sesam", "10.0.0.66"), 200)
  })

  it("are not told apart from the right one by what is remembered of it", async () => {
    await using world = await createIdentityFixture()
    const { identity } = world
    const status = async (header: string, from: string) => {
      const answer = identity.authenticateCached(header, undefined, from) ?? (await identity.authenticate(header, undefined, from))
      return answer instanceof Refusal ? answer.status : 200
    }
    for (const [name, from] of [
      ["ann", "10.0.0.66"],
      ["bob", home],
    ] as const) {
      await world.person(name, "sesam")
      const right = basic(name, "sesam")
      assert.equal(await status(right, home), 200)
      for (let i = 0; i < 10; i += 1) assert.equal(await status(basic(name, `wrong ${i}`), from), 401)
      assert.equal(identity.authenticateCached(right, undefined, from), undefined)
      assert.equal(await status(right, from), 429)
      assert.ok(identity.authenticateCached(right, undefined, "10.0.0.1"), "others are let in as before")
      identity.invalidateAll()
      assert.equal(await status(right, from), 429, "nor by what is read again")
    }
  })

  it("gain nothing from coming all at once", async () => {
    await using world = await createIdentityFixture({ hashing: { maxConcurrent: 2 } })
    await world.person("ann", "sesam")
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => world.identity.authenticate(basic("ann", `wrong ${i}`), undefined, "10.0.0.66")),
    )
    const hashed = answers.filter((answer) => refusal(answer).status === 401).length
    assert.ok(hashed >= 10 && hashed <= 11, String(hashed))
    assert.ok(answers.every((answer) => [401, 429].includes(refusal(answer).status)))
  })

  it("are those of the disabled, too, however right they are", async () => {
    await using world = await createIdentityFixture()
    await world.person("ann", "sesam", { isDisabled: true })
    const statuses: number[] = []
    for (let i = 0; i < 11; i += 1) statuses.push(refusal(await world.identity.authenticate(basic("ann", "sesam"), undefined, home)).status)
    assert.deepEqual(statuses, [...Array(10).fill(401), 429])
  })

  it("that are refused do not wait in line for it", async () => {
    await using world = await createIdentityFixture({ hashing: { maxConcurrent: 1, maxQueued: 0 } })
    for (let i = 0; i < 10; i += 1) refusal(await world.identity.authenticate(basic("ann", "wrong"), undefined, "10.0.0.66"))
    const answers = await Promise.all([
      world.identity.authenticate(basic("bob", "wrong"), undefined, "10.0.0.1"),
      world.identity.authenticate(basic("carl", "wrong"), undefined, "10.0.0.2"),
      world.identity.authenticate(basic("ann", "wrong"), undefined, "10.0.0.66"),
    ])
    assert.deepEqual(
      answers.map((answer) => refusal(answer).status),
      [401, 503, 429],
    )
  })

  it("from a crowd do not stand before the right one of somebody who has not failed", async () => {
    await using world = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await world.person("ann", "sesam")
    refusal(await world.identity.authenticate(basic("nobody", "wrong"), undefined, "10.0.0.66"))
    let done = 0
    const crowd = Array.from({ length: 8 }, (_, i) =>
      world.identity.authenticate(basic(`nobody${i}`, "wrong"), undefined, "10.0.0.66").then(() => (done += 1)),
    )
    caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home))
    assert.ok(done <= 3, `${done} of the crowd were before`)
    await Promise.all(crowd)
  })

  it("of strangers do not slow an address that signed in by this name before, nor fill the line before it", async () => {
    await using world = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await world.person("ann", "sesam")
    caller(await world.identity.checkPassword("ann", "sesam", home))
    for (let i = 0; i < 30; i += 1) {
      const failing = world.identity.checkPassword("ann", `wrong ${i}`, `10.0.1.${i}`)
      while ((await Promise.race([failing, world.clock.advance(100)])) === undefined) await new Promise((resolve) => setImmediate(resolve))
      refusal(await failing)
    }
    // They wait out their delay, and the clock stands still: whoever is not delayed is answered.
    const crowd = Array.from({ length: 40 }, (_, i) => world.identity.checkPassword("ann", `wrong ${i}`, `10.0.2.${i}`))
    caller(await world.identity.checkPassword("ann", "sesam", home))
    await world.clock.advance(2_000)
    const statuses = (await Promise.all(crowd)).map((answer) => refusal(answer).status)
    assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length], [16, 24])
  })

  it("and right ones of one name at once are few in number, and the same words cost one hash", async () => {
    await using world = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await world.person("ann", "sesam")
    await world.person("bob", "sesam")
    const right = Array.from({ length: 300 }, () => world.identity.checkPassword("ann", "sesam", home))
    const wrong = Array.from({ length: 300 }, (_, i) => world.identity.checkPassword("ann", "sesam", `10.0.${1 + (i >> 8)}.${i & 255}`))
    let done = 0
    for (const each of wrong) void each.then((answer) => (done += answer instanceof Refusal ? 0 : 1))
    caller(await world.identity.checkPassword("bob", "sesam", "192.0.2.99"))
    assert.ok(done <= 4, `${done} of the crowd were before`)
    for (const answer of await Promise.all(right)) caller(answer)
    const answers = await Promise.all(wrong)
    const refused = answers.filter((answer) => answer instanceof Refusal)
    assert.ok(refused.length >= 284, String(refused.length))
    for (const each of refused) assert.deepEqual([each.status, each.retryAfterSeconds], [429, 1])
  })

  it("from many addresses slow the name, and the right password still comes through", async () => {
    await using world = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await world.person("ann", "sesam")
    await world.person("bob", "sesam")
    for (let i = 0; i < 11; i += 1) refusal(await world.identity.authenticate(basic("ann", "wrong"), undefined, `10.0.${i}.1`))
    const slowed = world.identity.authenticate(basic("ann", "sesam"), undefined, "10.1.0.1")
    // One hash at a time, in order: without the delay the slowed one would be through by now.
    caller(await world.identity.authenticate(basic("bob", "sesam"), undefined, "10.1.0.2"))
    assert.equal(await Promise.race([slowed, Promise.resolve("waits")]), "waits")
    await world.clock.advance(2 * second)
    assert.equal(caller(await slowed).userName, "ann")
  })
})

describe("two hundred people", () => {
  it("sign in at once, while others are served and memory stays within 300 MB", async () => {
    await using world = await createIdentityFixture()
    const hash = await world.identity.hashPassword("sesam")
    const names = Array.from({ length: 200 }, (_, i) => `user${i}`)
    await Promise.all(names.map((name) => world.person(name, null, { passwordHash: hash })))
    const first = caller(await world.identity.authenticate(basic("user0", "sesam"), undefined, home))
    const { token } = await tokenOf(world, first)
    const identity = world.another()
    const before = process.memoryUsage().rss
    let most = before
    let served = 0
    let over = false
    const signIns = Promise.all(names.map((name) => identity.authenticate(basic(name, "sesam"), undefined, home))).finally(
      () => (over = true),
    )
    while (!over) {
      caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
      await pause(10)
      most = Math.max(most, process.memoryUsage().rss)
      served += 1
    }
    assert.equal(new Set((await signIns).map((answer) => caller(answer).userName)).size, 200)
    assert.ok(served > 50, `${served} served meanwhile`)
    assert.ok(most - before < 300 * 1024 * 1024, `${(most - before) / 1024 / 1024} MB`)
  })
})

describe("what ends a proof", () => {
  it("ends it at once when a token is revoked or a session is signed out", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    await world.person("ann", "sesam")
    const who = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    const { token, row } = await tokenOf(world, who)
    const { secret } = await signIn(world, "ann", "sesam")
    caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    caller(await identity.authenticate(basic("ann", token), undefined, home))
    caller(await identity.authenticate(undefined, secret, home))
    await store.change((tx) => identity.tokens.delete(tx, who, row.id))
    for (const header of [`Bearer ${token}`, basic("ann", token)]) {
      assert.equal(identity.authenticateCached(header, undefined, home), undefined)
      refusal(await identity.authenticate(header, undefined, home))
    }
    caller(await identity.authenticate(undefined, secret, home))
    await store.change((tx) => identity.sessions.end(tx, secret))
    refusal(await identity.authenticate(undefined, secret, home))
    await store.change((tx) => identity.sessions.end(tx, secret))
  })

  it("is a deletion of the person, and their tokens and sessions are gone", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const ann = await world.person("ann", "sesam")
    const who = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    const { token, row } = await tokenOf(world, who)
    const session = await signIn(world, "ann", "sesam")
    caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    await store.change((tx) => identity.accounts.delete(tx, ann.id))
    for (const header of [basic("ann", "sesam"), `Bearer ${token}`]) refusal(await identity.authenticate(header, undefined, home))
    assert.equal(await store.tokens.get(row.id), undefined)
    assert.equal(await store.sessions.byHash(session.row.hash), undefined)
  })

  it("lets a change that is undone end nothing", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const ann = await world.person("ann", "sesam")
    const { secret } = await signIn(world, "ann", "sesam")
    const undone = store.change(async (tx) => {
      await identity.accounts.update(tx, ann.id, { isDisabled: true })
      throw new Error("no")
    })
    await assert.rejects(undone, /no/)
    caller(await identity.authenticate(undefined, secret, home))
  })

  it("is a disabling, for password, token and session, and enabling brings none of token and session back", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const ann = await world.person("ann", "sesam")
    const password = basic("ann", "sesam")
    const who = caller(await identity.authenticate(password, undefined, home))
    const { token } = await tokenOf(world, who)
    const { secret } = await signIn(world, "ann", "sesam")
    caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    caller(await identity.authenticate(undefined, secret, home))
    assert.equal((await identity.refreshCaller(ann.id, who.credential.id))?.userName, "ann")
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: true }))
    assert.equal(await identity.refreshCaller(ann.id, who.credential.id), undefined)
    for (const header of [password, `Bearer ${token}`]) refusal(await identity.authenticate(header, undefined, home))
    refusal(await identity.authenticate(undefined, secret, home))
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: false }))
    caller(await identity.authenticate(password, undefined, home))
    refusal(await identity.authenticate(`Bearer ${token}`, undefined, home))
    refusal(await identity.authenticate(undefined, secret, home))
  })

  it("is a new password, for the old password and all sessions but the one that changed it", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const ann = await world.person("ann", "sesam")
    const old = caller(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    const mine = await signIn(world, "ann", "sesam")
    const other = await signIn(world, "ann", "sesam")
    for (const { secret } of [mine, other]) caller(await identity.authenticate(undefined, secret, home))
    const passwordHash = await identity.hashPassword("geheim")
    await store.change((tx) => identity.accounts.update(tx, ann.id, { passwordHash }, { keepSession: mine.row.hash }))
    refusal(await identity.authenticate(basic("ann", "sesam"), undefined, home))
    refusal(await identity.authenticate(undefined, other.secret, home))
    assert.equal(await identity.refreshCaller(ann.id, old.credential.id), undefined)
    caller(await identity.authenticate(undefined, mine.secret, home))
    caller(await identity.authenticate(basic("ann", "geheim"), undefined, home))
  })

  it("is a new password even for who was let in line with the old one", async () => {
    await using world = await createIdentityFixture()
    const identity = world.another({ hashing: { maxConcurrent: 1 } })
    const ann = await world.person("ann", "sesam")
    const passwordHash = await world.identity.hashPassword("geheim")
    const ahead = Array.from({ length: 10 }, (_, i) => identity.authenticate(basic(`nobody${i}`, "x"), undefined, `10.0.${i}.1`))
    const inLine = identity.authenticate(basic("ann", "sesam"), undefined, home)
    const signingIn = identity.checkPassword("ann", "sesam", home)
    await new Promise((resolve) => setImmediate(resolve))
    await world.store.change((tx) => identity.accounts.update(tx, ann.id, { passwordHash }))
    refusal(await inLine)
    refusal(await signingIn)
    await Promise.all(ahead)
  })

  it("keeps who was checked before a disabling from making a session or token after it", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const ann = await world.person("ann", "sesam")
    const who = caller(await identity.checkPassword("ann", "sesam", home))
    await store.change((tx) => identity.accounts.update(tx, ann.id, { isDisabled: true }))
    await assert.rejects(
      store.change((tx) => identity.sessions.create(tx, who)),
      { code: "unauthorized" },
    )
    await assert.rejects(tokenOf(world, who), { code: "unauthorized" })
  })

  it("is seen by another process as soon as what it remembers is no longer fresh", async () => {
    await using world = await createIdentityFixture()
    const elsewhere = world.another({ maxCacheAgeMs: 4_000 })
    await world.person("ann", "sesam")
    const who = caller(await world.identity.authenticate(basic("ann", "sesam"), undefined, home))
    const { token, row } = await tokenOf(world, who)
    caller(await elsewhere.authenticate(`Bearer ${token}`, undefined, home))
    await world.store.change((tx) => world.identity.tokens.delete(tx, who, row.id))
    caller(await elsewhere.authenticate(`Bearer ${token}`, undefined, home))
    await world.clock.advance(4_000)
    refusal(await elsewhere.authenticate(`Bearer ${token}`, undefined, home))
  })

  it("is time: a token's own, and seven days for a session", async () => {
    await using world = await createIdentityFixture()
    const { identity, store, clock } = world
    await world.person("ann", "sesam")
    const { secret, row } = await signIn(world, "ann", "sesam")
    const who = caller(await identity.authenticate(undefined, secret, home))
    const { token } = await tokenOf(world, who, { expiresAt: clock.now() + 10_000 })
    caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    await clock.advance(9_999)
    caller(await identity.authenticate(`Bearer ${token}`, undefined, home))
    await clock.advance(1)
    assert.equal(identity.authenticateCached(`Bearer ${token}`, undefined, home), undefined)
    refusal(await identity.authenticate(`Bearer ${token}`, undefined, home))
    await clock.advance(sessionLifetimeMs - 10_001)
    caller(await identity.authenticate(undefined, secret, home))
    await clock.advance(1)
    refusal(await identity.authenticate(undefined, secret, home))
    const next = await signIn(world, "ann", "sesam")
    assert.equal(await store.sessions.byHash(row.hash), undefined, "what has expired is swept at the next sign-in")
    assert.ok(await store.sessions.byHash(next.row.hash))
  })

  it("tells listeners whose it was", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const told: unknown[] = []
    const ann = await world.person("ann", "sesam")
    {
      using _listening = identity.onInvalidate((userIds) => told.push(userIds))
      await store.change((tx) => identity.accounts.update(tx, ann.id, { comment: "x" }))
      identity.invalidateAll()
    }
    identity.invalidateAll()
    assert.deepEqual(told, [[ann.id], undefined])
  })
})

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

describe("people", () => {
  it("begin with one administrator, whose generated password is told before it counts", async () => {
    await using world = await createIdentityFixture()
    const told: string[] = []
    const both = await Promise.all([
      world.identity.ensureAdmin(undefined, (password) => told.push(password)),
      world.another().ensureAdmin(undefined, (password) => told.push(password)),
    ])
    const [password = ""] = both.filter((each) => each !== undefined)
    assert.equal(both.filter((each) => each !== undefined).length, 1)
    assert.ok(told.includes(password))
    const admin = caller(await world.identity.authenticate(basic("admin", password), undefined, home))
    assert.equal(admin.isAdmin, true)
    assert.equal(await world.identity.ensureAdmin("another"), undefined)
    refusal(await world.identity.authenticate(basic("admin", "another"), undefined, home))
  })

  it("begin with an administrator of the given password, and nothing is generated", async () => {
    await using world = await createIdentityFixture()
    assert.equal(await world.identity.ensureAdmin("sesam"), undefined)
    caller(await world.identity.authenticate(basic("admin", "sesam"), undefined, home))
  })

  it("have names of the right form that are never given again", async () => {
    await using world = await createIdentityFixture()
    const ann = await world.person("ann", "sesam")
    for (const name of ["", "Ann", "a..b", "-a", ".a", "a/b", "a b", "ann\0", "аnn", "a".repeat(65)]) {
      await assert.rejects(world.person(name, null), { code: "invalid", field: "UserName" })
    }
    await assert.rejects(world.person("ann", null), { code: "conflict", field: "UserName" })
    await world.store.change((tx) => world.identity.accounts.delete(tx, ann.id))
    await assert.rejects(world.person("ann", null), { code: "conflict", field: "UserName" })
    await assert.rejects(
      world.store.change((tx) => world.identity.accounts.update(tx, ann.id, { comment: "x" })),
      { code: "not_found" },
    )
    await assert.rejects(
      world.store.change((tx) => world.identity.accounts.delete(tx, ann.id)),
      { code: "not_found" },
    )
    await assert.rejects(
      world.store.change((tx) => world.identity.accounts.delete(tx, 99)),
      { code: "not_found" },
    )
  })

  it("always keep an administrator who can sign in", async () => {
    await using world = await createIdentityFixture()
    const { identity, store } = world
    const boss = await world.person("boss", "x", { isAdmin: true })
    const idle = await world.person("idle", "x", { isAdmin: true, isDisabled: true })
    for (const fields of [{ isAdmin: false }, { isDisabled: true }]) {
      await assert.rejects(
        store.change((tx) => identity.accounts.update(tx, boss.id, fields)),
        { code: "conflict" },
      )
    }
    await assert.rejects(
      store.change((tx) => identity.accounts.delete(tx, boss.id)),
      { code: "conflict" },
    )
    const spare = await world.person("spare", "x", { isAdmin: true, isDisabled: true })
    await store.change((tx) => identity.accounts.delete(tx, spare.id))
    await store.change((tx) => identity.accounts.update(tx, idle.id, { isDisabled: false }))
    await store.change((tx) => identity.accounts.delete(tx, boss.id))
    await assert.rejects(
      store.change((tx) => identity.accounts.update(tx, idle.id, { isAdmin: false })),
      { code: "conflict" },
    )
  })
})
