import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { it } from "node:test"
import { bounds } from "#contract"
import { basic, createIdentityFixture } from "../../../test/fixtures/identity.ts"
import { clientAddress, expectCaller, signIn } from "../testing/identity-checks.ts"

const verifier = "v".repeat(43)
const challenge = createHash("sha256").update(verifier).digest("base64url")

async function fixtureWithCode() {
  const fixture = await createIdentityFixture()
  await fixture.person("ann", "sesam")
  const { tokenCodes } = fixture.identity
  const caller = expectCaller(await fixture.identity.authenticate(basic("ann", "sesam"), undefined, clientAddress))
  const create = (by = caller) =>
    fixture.store.change((tx) => tokenCodes.create(tx, by, { name: "n", expiresAt: null, scopes: ["read"], challenge }))
  const use = (code: string, text = verifier) => fixture.store.change((tx) => tokenCodes.use(tx, code, text))
  return { fixture, create, use, [Symbol.asyncDispose]: () => fixture[Symbol.asyncDispose]() }
}

it("a code ends a minute after it was made", async () => {
  await using each = await fixtureWithCode()
  const { fixture, create, use } = each
  const [first, second] = [await create(), await create()]
  assert.equal(first.expiresAt, fixture.clock.now() + bounds.accounts.tokenCodeMs.value)
  await fixture.clock.advance(bounds.accounts.tokenCodeMs.value - 1)
  assert.deepEqual((await use(first.code))?.wanted, { name: "n", expiresAt: null, scopes: ["read"] })
  await fixture.clock.advance(1)
  assert.equal(await use(second.code), undefined)
})

it("a new code removes all that have expired", async () => {
  await using each = await fixtureWithCode()
  const { fixture, create } = each
  const { code } = await create()
  const isWaiting = () => fixture.identity.tokenCodes.isWaiting(fixture.store, code)
  assert.equal(await isWaiting(), true)
  await fixture.clock.advance(bounds.accounts.tokenCodeMs.value)
  await create()
  assert.equal(await isWaiting(), false)
})

it("a code is gone after a wrong verifier", async () => {
  await using each = await fixtureWithCode()
  const { fixture, create, use } = each
  const { code } = await create()
  assert.equal(await use(code, "w".repeat(43)), undefined)
  assert.equal(await fixture.identity.tokenCodes.isWaiting(fixture.store, code), false)
})

it("a code of an ended session is refused", async () => {
  await using each = await fixtureWithCode()
  const { fixture, create, use } = each
  const { secret } = await signIn(fixture, "ann", "sesam")
  const inBrowser = expectCaller(await fixture.identity.authenticate(undefined, secret, clientAddress))
  const { code } = await create(inBrowser)
  await fixture.store.change((tx) => fixture.identity.sessions.endBySecret(tx, secret))
  assert.equal(await use(code), undefined)
})
