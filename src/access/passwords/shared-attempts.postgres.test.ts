import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { after, test } from "node:test"
import { createIdentity } from "#access"
import { bounds, unsetLimits } from "#contract"
import { silentLogger, systemClock } from "#kit"
import { openStore } from "#store"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, cheapHashCost } from "../../../test/fixtures/identity.ts"
import { postgresServer } from "../../../test/fixtures/postgres-server.ts"
import { clientAddress, expectCaller, expectFailure } from "../testing/identity-checks.ts"

const server = await postgresServer()
after(() => server[Symbol.asyncDispose]())

test("wrong passwords at one process count at another, and a right one ends the count", async () => {
  await using stack = new AsyncDisposableStack()
  const { url } = stack.use(await server.makeDatabase())
  const keys = { files: randomBytes(32) }
  const open = async () => {
    const store = stack.use(await openStore({ url, logger: silentLogger, clock: systemClock }))
    const parts = { store, clock: systemClock, logger: silentLogger, keys, hashing: { cost: cheapHashCost } }
    const opened = { store, identity: stack.use(createIdentity(parts)), heard: 0 }
    store.notices?.on(({ kind }) => {
      if (kind === "message") opened.heard += 1
    })
    return opened
  }
  const [one, other] = [await open(), await open()]
  await eventually("both listen", () => [one, other].every(({ store }) => store.notices?.isListening === true))
  const passwordHash = await one.identity.hashPassword("sesam")
  const fields = { email: "", comment: "", isAdmin: false, isDisabled: false, limits: unsetLimits }
  await one.store.change((tx) => one.identity.accounts.create(tx, { userName: "ann", passwordHash, ...fields }))
  const attempt = (at: typeof one, password: string) => at.identity.authenticate(basic("ann", password), undefined, clientAddress)

  const most = bounds.accounts.wrongPerNameAndAddress.value
  for (let n = 1; n < most; n += 1) expectFailure(await attempt(one, "wrong"))
  await eventually("the other process was told of the wrong ones", () => other.heard === most - 1)
  expectCaller(await attempt(other, "sesam"))
  await eventually("the first process was told of the right one", () => one.heard === 1)
  const statusOf = async (at: typeof one) =>
    ((await at.identity.checkPassword("ann", "wrong", clientAddress)) as { status?: number }).status
  for (let n = 0; n < most; n += 1) assert.equal(await statusOf(other), 401)
  await eventually("the first process was told of them too", () => one.heard === 1 + most)
  assert.equal(await statusOf(one), 429, "although nobody failed there since the right password")
})
