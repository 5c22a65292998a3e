import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { Failure } from "#contract"
import { AuthenticationFailure } from "../caller.ts"
import { checkNewPassword, dummyHash, PasswordHasher } from "./password-hasher.ts"

const options = { reputation: "clean", address: "192.0.2.1", name: undefined, begin: () => {} } as const

describe("a password's hash", () => {
  it("is an argon2id string with a salt of its own that only the password fits", async () => {
    const hasher = new PasswordHasher()
    const [one, two] = await Promise.all([hasher.hash("sesam"), hasher.hash("sesam")])
    assert.match(one, /^\$argon2id\$v=19\$m=33792,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    assert.notEqual(one, two)
    assert.equal(await hasher.verify(one, "sesam", options), true)
    assert.equal(await hasher.verify(one, "sesam ", options), false)
    assert.equal(await hasher.verify(dummyHash(), "sesam", options), false)
  })

  it("of an unknown name costs as much as a new one", async () => {
    for (const hasher of [new PasswordHasher(), new PasswordHasher({ cost: { memoryKiB: 256, passes: 1 } })]) {
      const [cost] = /m=\d+,t=\d+,p=1/.exec(await hasher.hash("sesam")) ?? []
      assert.ok(hasher.dummyHash().includes(`$${cost}$`))
    }
  })

  it("is the known one of the reference implementation", async () => {
    const spec = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
    assert.equal(await new PasswordHasher().verify(spec, "password", options), true)
  })

  it("fits however the letters of a password are composed", async () => {
    const hasher = new PasswordHasher()
    assert.equal(await hasher.verify(await hasher.hash("Käse"), "Ka\u0308se", options), true)
  })

  it("is refused in another form than its own", async () => {
    await assert.rejects(new PasswordHasher().verify("$2b$10$abc", "x", options), /not an argon2id string/)
  })

  it("is made for a maximum of callers at once, and refused beyond the queue", async () => {
    const hasher = new PasswordHasher({ maxConcurrent: 1, maxQueued: 2 })
    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => hasher.hash("x")))
    assert.deepEqual(answers.map((answer) => answer.status).sort(), ["fulfilled", "fulfilled", "fulfilled", "rejected", "rejected"])
    for (const answer of answers)
      if (answer.status === "rejected") assert.ok(answer.reason instanceof AuthenticationFailure && answer.reason.code === "unavailable")
    assert.ok(await hasher.hash("x"))
  })

  it("is refused to all waiting and later callers once the service stops", async () => {
    const hasher = new PasswordHasher({ maxConcurrent: 1 })
    const known = await hasher.hash("x")
    const under = hasher.verify(known, "x", options)
    const waiting = [hasher.hash("x"), hasher.verify(known, "x", options), hasher.verify(known, "x", { ...options, reputation: "suspect" })]
    const reported = Promise.all(waiting.map((each) => assert.rejects(each, { code: "unavailable", message: "The service is stopping" })))
    hasher.close()
    await reported
    await assert.rejects(hasher.hash("x"), { code: "unavailable" })
    assert.equal(await under, true)
  })

  it("lets a person without failures pass a crowd with failures", async () => {
    const hasher = new PasswordHasher({ maxConcurrent: 1 })
    const hash = dummyHash()
    const done: string[] = []
    const crowd = Array.from({ length: 8 }, (_, i) =>
      hasher.verify(hash, "x", { ...options, reputation: "suspect", begin: () => done.push(`suspect ${i}`) }),
    )
    await hasher.verify(hash, "x", { ...options, begin: () => done.push("clean") })
    assert.ok(done.indexOf("clean") <= 1, done.join())
    await Promise.all(crowd)
    assert.equal(done.length, 9)
  })
})

describe("a new password", () => {
  it("is anything of 1 to 1,024 bytes without NUL that has not the form of a token", () => {
    for (const good of ["x", "pä ß:wort", "a".repeat(1024), "qs_short"]) checkNewPassword(good)
    for (const bad of ["", "a".repeat(1025), "ä".repeat(513), "a\0b", `qs_${"a".repeat(43)}`]) {
      assert.throws(
        () => checkNewPassword(bad),
        (error) => error instanceof Failure && error.code === "invalid" && error.field === "Password",
      )
    }
  })
})
