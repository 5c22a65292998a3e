import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { AuthenticationFailure } from "../caller.ts"
import { clientAddress, expectCaller, expectFailure, minuteMs, secondMs, tokenOf } from "../testing/identity-checks.ts"
import { defaultHashCost } from "./password-hasher.ts"

describe("wrong passwords", () => {
  it("return 429 after ten from an address, and lock nobody else out", async () => {
    await using fixture = await createIdentityFixture()
    const { identity } = fixture
    await fixture.person("ann", "sesam")
    const tries = async (password: string, from: string) => {
      const answer = await identity.authenticate(basic("ann", password), undefined, from)
      return answer instanceof AuthenticationFailure ? answer.status : 200
    }
    for (let i = 0; i < 10; i += 1) assert.equal(await tries("wrong", "10.0.0.66"), 401)
    assert.equal(await tries("wrong", "10.0.0.66"), 429)
    assert.equal(await tries("sesam", "10.0.0.66"), 429, "the correct password gets the same answer")
    assert.equal(await tries("sesam", "10.0.0.1"), 200)
    await fixture.clock.advance(minuteMs)
    assert.equal(await tries("sesam", "10.0.0.66"), 200)
  })

  it("cannot be distinguished from the right one by the cache", async () => {
    await using fixture = await createIdentityFixture()
    const { identity } = fixture
    const status = async (header: string, from: string) => {
      const answer = identity.authenticateCached(header, undefined, from) ?? (await identity.authenticate(header, undefined, from))
      return answer instanceof AuthenticationFailure ? answer.status : 200
    }
    for (const [name, from] of [
      ["ann", "10.0.0.66"],
      ["bob", clientAddress],
    ] as const) {
      await fixture.person(name, "sesam")
      const right = basic(name, "sesam")
      assert.equal(await status(right, clientAddress), 200)
      for (let i = 0; i < 10; i += 1) assert.equal(await status(basic(name, `wrong ${i}`), from), 401)
      assert.equal(identity.authenticateCached(right, undefined, from), undefined)
      assert.equal(await status(right, from), 429)
      assert.ok(identity.authenticateCached(right, undefined, "10.0.0.1"), "other addresses still sign in")
      identity.invalidateAll()
      assert.equal(await status(right, from), 429, "nor by a renewed read of the account")
    }
  })

  it("gain nothing from being sent all at once", async () => {
    await using fixture = await createIdentityFixture({ hashing: { maxConcurrent: 2 } })
    await fixture.person("ann", "sesam")
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => fixture.identity.authenticate(basic("ann", `wrong ${i}`), undefined, "10.0.0.66")),
    )
    const hashed = answers.filter((answer) => expectFailure(answer).status === 401).length
    assert.ok(hashed >= 10 && hashed <= 11, String(hashed))
    assert.ok(answers.every((answer) => [401, 429].includes(expectFailure(answer).status)))
  })

  it("include right passwords of disabled people", async () => {
    await using fixture = await createIdentityFixture()
    await fixture.person("ann", "sesam", { isDisabled: true })
    const statuses: number[] = []
    for (let i = 0; i < 11; i += 1)
      statuses.push(expectFailure(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress)).status)
    assert.deepEqual(statuses, [...Array(10).fill(401), 429])
  })

  it("are rejected without waiting in the queue", async () => {
    await using fixture = await createIdentityFixture({ hashing: { maxConcurrent: 1, maxQueued: 0 } })
    for (let i = 0; i < 10; i += 1) expectFailure(await fixture.identity.authenticate(basic("ann", "wrong"), undefined, "10.0.0.66"))
    const answers = await Promise.all([
      fixture.identity.authenticate(basic("bob", "wrong"), undefined, "10.0.0.1"),
      fixture.identity.authenticate(basic("carl", "wrong"), undefined, "10.0.0.2"),
      fixture.identity.authenticate(basic("ann", "wrong"), undefined, "10.0.0.66"),
    ])
    assert.deepEqual(
      answers.map((answer) => expectFailure(answer).status),
      [401, 503, 429],
    )
  })

  it("of a crowd do not delay the right one from an address without failures", async () => {
    await using fixture = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await fixture.person("ann", "sesam")
    expectFailure(await fixture.identity.authenticate(basic("nobody", "wrong"), undefined, "10.0.0.66"))
    let done = 0
    const crowd = Array.from({ length: 8 }, (_, i) =>
      fixture.identity.authenticate(basic(`nobody${i}`, "wrong"), undefined, "10.0.0.66").then(() => (done += 1)),
    )
    expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
    assert.ok(done <= 3, `${done} of the crowd were answered before`)
    await Promise.all(crowd)
  })

  it("of strangers neither slow a known device of the name nor fill its queue", async () => {
    await using fixture = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await fixture.person("ann", "sesam")
    expectCaller(await fixture.identity.checkPassword("ann", "sesam", clientAddress))
    for (let i = 0; i < 30; i += 1) {
      const failing = fixture.identity.checkPassword("ann", `wrong ${i}`, `10.0.1.${i}`)
      while ((await Promise.race([failing, fixture.clock.advance(100)])) === undefined)
        await new Promise((resolve) => setImmediate(resolve))
      expectFailure(await failing)
    }
    // The clock stands still, so delayed checks wait; an undelayed one returns.
    const crowd = Array.from({ length: 40 }, (_, i) => fixture.identity.checkPassword("ann", `wrong ${i}`, `10.0.2.${i}`))
    expectCaller(await fixture.identity.checkPassword("ann", "sesam", clientAddress))
    await fixture.clock.advance(2_000)
    const statuses = (await Promise.all(crowd)).map((answer) => expectFailure(answer).status)
    assert.deepEqual([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length], [16, 24])
  })

  it("and right ones of one name have a limit at a time, and equal checks share one hash", async () => {
    await using fixture = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await fixture.person("ann", "sesam")
    await fixture.person("bob", "sesam")
    const right = Array.from({ length: 300 }, () => fixture.identity.checkPassword("ann", "sesam", clientAddress))
    const wrong = Array.from({ length: 300 }, (_, i) => fixture.identity.checkPassword("ann", "sesam", `10.0.${1 + (i >> 8)}.${i & 255}`))
    let done = 0
    for (const each of wrong) void each.then((answer) => (done += answer instanceof AuthenticationFailure ? 0 : 1))
    expectCaller(await fixture.identity.checkPassword("bob", "sesam", "192.0.2.99"))
    assert.ok(done <= 4, `${done} of the crowd were answered before`)
    for (const answer of await Promise.all(right)) expectCaller(answer)
    const answers = await Promise.all(wrong)
    const refused = answers.filter((answer) => answer instanceof AuthenticationFailure)
    assert.ok(refused.length >= 284, String(refused.length))
    for (const each of refused) assert.deepEqual([each.status, each.retryAfterSeconds], [429, 1])
  })

  it("from many addresses slow the name, and the right password still succeeds", async () => {
    await using fixture = await createIdentityFixture({ hashing: { maxConcurrent: 1 } })
    await fixture.person("ann", "sesam")
    await fixture.person("bob", "sesam")
    for (let i = 0; i < 11; i += 1) expectFailure(await fixture.identity.authenticate(basic("ann", "wrong"), undefined, `10.0.${i}.1`))
    const slowed = fixture.identity.authenticate(basic("ann", "sesam"), undefined, "10.1.0.1")
    // One hash at a time, in order: without the delay the slowed one would be through by now.
    expectCaller(await fixture.identity.authenticate(basic("bob", "sesam"), undefined, "10.1.0.2"))
    assert.equal(await Promise.race([slowed, Promise.resolve("waits")]), "waits")
    await fixture.clock.advance(2 * secondMs)
    assert.equal(expectCaller(await slowed).userName, "ann")
  })
})

describe("thirty people", () => {
  it("sign in at once while others are served, and memory stays within 300 MB", async () => {
    await using fixture = await createIdentityFixture({ hashing: { cost: defaultHashCost } })
    const hash = await fixture.identity.hashPassword("sesam")
    const names = Array.from({ length: 30 }, (_, i) => `user${i}`)
    await Promise.all(names.map((name) => fixture.person(name, null, { passwordHash: hash })))
    const first = expectCaller(await fixture.identity.authenticate(basic("user0", "sesam"), undefined, clientAddress))
    const { token } = await tokenOf(fixture, first)
    const identity = fixture.another()
    const rssBefore = process.memoryUsage().rss
    let maxRss = rssBefore
    let signedIn = 0
    const answers = Promise.all(
      names.map((name) => identity.authenticate(basic(name, "sesam"), undefined, clientAddress).finally(() => (signedIn += 1))),
    )
    while (signedIn < names.length) {
      const signedInBefore = signedIn
      expectCaller(await identity.authenticate(`Bearer ${token}`, undefined, clientAddress))
      assert.ok(signedIn - signedInBefore < 10, `a request with a token waited for ${signedIn - signedInBefore} sign-ins`)
      maxRss = Math.max(maxRss, process.memoryUsage().rss)
      await pause(10)
    }
    assert.equal(new Set((await answers).map((answer) => expectCaller(answer).userName)).size, 30)
    assert.ok(maxRss - rssBefore < 300 * 1024 * 1024, `${(maxRss - rssBefore) / 1024 / 1024} MB`)
  })
})
