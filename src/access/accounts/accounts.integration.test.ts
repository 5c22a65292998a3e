import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { clientAddress, expectCaller, expectFailure } from "../testing/identity-checks.ts"

describe("people", () => {
  it("begin with one administrator, whose generated password is announced before the account exists", async () => {
    await using fixture = await createIdentityFixture()
    const printedPasswords: string[] = []
    const both = await Promise.all([
      fixture.identity.ensureAdmin(undefined, (password) => printedPasswords.push(password)),
      fixture.another().ensureAdmin(undefined, (password) => printedPasswords.push(password)),
    ])
    const [password = ""] = both.filter((each) => each !== undefined)
    assert.equal(both.filter((each) => each !== undefined).length, 1)
    assert.ok(printedPasswords.includes(password))
    const admin = expectCaller(await fixture.identity.authenticate(basic("admin", password), undefined, clientAddress))
    assert.equal(admin.isAdmin, true)
    assert.equal(await fixture.identity.ensureAdmin("another"), undefined)
    expectFailure(await fixture.identity.authenticate(basic("admin", "another"), undefined, clientAddress))
  })

  it("begin with an administrator of the given password, and nothing is generated", async () => {
    await using fixture = await createIdentityFixture()
    assert.equal(await fixture.identity.ensureAdmin("sesam"), undefined)
    expectCaller(await fixture.identity.authenticate(basic("admin", "sesam"), undefined, clientAddress))
  })

  it("have valid names that are never reused", async () => {
    await using fixture = await createIdentityFixture()
    const ann = await fixture.person("ann", "sesam")
    for (const name of ["", "Ann", "a..b", "-a", ".a", "a/b", "a b", "ann\0", "аnn", "a".repeat(65)]) {
      await assert.rejects(fixture.person(name, null), { code: "invalid", field: "UserName" })
    }
    await assert.rejects(fixture.person("ann", null), { code: "conflict", field: "UserName" })
    await fixture.store.change((tx) => fixture.identity.accounts.delete(tx, ann.id))
    await assert.rejects(fixture.person("ann", null), { code: "conflict", field: "UserName" })
    await assert.rejects(
      fixture.store.change((tx) => fixture.identity.accounts.update(tx, ann.id, { comment: "x" })),
      { code: "not_found" },
    )
    await assert.rejects(
      fixture.store.change((tx) => fixture.identity.accounts.delete(tx, ann.id)),
      { code: "not_found" },
    )
    await assert.rejects(
      fixture.store.change((tx) => fixture.identity.accounts.delete(tx, 99)),
      { code: "not_found" },
    )
  })

  it("always keep an administrator who can sign in", async () => {
    await using fixture = await createIdentityFixture()
    const { identity, store } = fixture
    const boss = await fixture.person("boss", "x", { isAdmin: true })
    const idle = await fixture.person("idle", "x", { isAdmin: true, isDisabled: true })
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
    const spare = await fixture.person("spare", "x", { isAdmin: true, isDisabled: true })
    await store.change((tx) => identity.accounts.delete(tx, spare.id))
    await store.change((tx) => identity.accounts.update(tx, idle.id, { isDisabled: false }))
    await store.change((tx) => identity.accounts.delete(tx, boss.id))
    await assert.rejects(
      store.change((tx) => identity.accounts.update(tx, idle.id, { isAdmin: false })),
      { code: "conflict" },
    )
  })
})
