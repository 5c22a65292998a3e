import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { clientAddress, expectCaller, expectFailure } from "../testing/identity-checks.ts"

describe("people", () => {
  it("begin with one administrator, whose generated password is announced before the account exists", async () => {
    await using world = await createIdentityFixture()
    const told: string[] = []
    const both = await Promise.all([
      world.identity.ensureAdmin(undefined, (password) => told.push(password)),
      world.another().ensureAdmin(undefined, (password) => told.push(password)),
    ])
    const [password = ""] = both.filter((each) => each !== undefined)
    assert.equal(both.filter((each) => each !== undefined).length, 1)
    assert.ok(told.includes(password))
    const admin = expectCaller(await world.identity.authenticate(basic("admin", password), undefined, clientAddress))
    assert.equal(admin.isAdmin, true)
    assert.equal(await world.identity.ensureAdmin("another"), undefined)
    expectFailure(await world.identity.authenticate(basic("admin", "another"), undefined, clientAddress))
  })

  it("begin with an administrator of the given password, and nothing is generated", async () => {
    await using world = await createIdentityFixture()
    assert.equal(await world.identity.ensureAdmin("sesam"), undefined)
    expectCaller(await world.identity.authenticate(basic("admin", "sesam"), undefined, clientAddress))
  })

  it("have valid names that are never reused", async () => {
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
