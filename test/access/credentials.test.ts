import assert from "node:assert/strict"
import { after, test } from "node:test"
import { basicAuth, bearerAuth, createClient } from "#client"
import { endpoints, operationIds } from "#contract"
import { type HttpAnswer, sendRequest } from "../api/http-client.ts"
import { untilExpired, withSoonExpiring } from "../fixtures/expiry.ts"
import { adminPassword } from "../test-server.ts"
import { type Expectation, expectations, type ResourceRef } from "./expectations.ts"
import { resourceCache, type Scenario, scenarios, startPopulatedServer } from "./populated-server.ts"
import { expectationOf, forEachConcurrently, isWrite, missingResource, requestFor, summarize } from "./requests.ts"

/** Every request has its own address, so that wrong passwords throttle no other request. */
const populated = await startPopulatedServer({ "trusted-proxies": "127.0.0.1" })
after(() => populated[Symbol.asyncDispose]())
const { server } = populated
const { baseUrl } = server.quayside
const { ann, boss } = populated.people
const image = await ann.client.createImage({ body: { Name: "web", Image: "fake/http", IsPublished: true } })

/** The resources of all scenarios. A line of the table without a type uses the image. */
const createOnce = resourceCache(populated)
const resources = new Map<Scenario, ResourceRef>()
await forEachConcurrently(scenarios, async (scenario) => void resources.set(scenario, await createOnce(scenario)), 6)
const resourcesOf = (row: string): ResourceRef[] => {
  const expectation = expectationOf(row)
  const found = scenarios.filter(({ type }) => expectation.is === "on" && type === expectation.type)
  return found.length === 0 ? [{ id: image.ID }] : found.map((scenario) => resources.get(scenario) as ResourceRef)
}

let requests = 0
function call(row: string, as: string | undefined, resource: ResourceRef = { id: image.ID }): Promise<HttpAnswer> {
  const { method, path, body } = requestFor(row, resource)
  requests += 1
  const address = `10.${requests >> 16}.${(requests >> 8) & 255}.${requests & 255}`
  return sendRequest(baseUrl, method, path, { as, body, headers: { "X-Forwarded-For": address } })
}

/** More wrong passwords than one name allows in an hour: they are spread over several names. */
const indexes = [0, 1, 2]
await Promise.all(indexes.map((i) => server.admin.createUser({ body: { UserName: `victim${i}`, Password: "the right one" } })))
const disabled = await Promise.all(indexes.map((i) => server.person(`disabled${i}`, { IsAdmin: true })))
const deletedPerson = await server.person("gone", { IsAdmin: true })
for (const { userName } of [...disabled, deletedPerson]) {
  const { ID } = await server.admin.readUser({ query: { UserName: userName } })
  if (userName === "gone") await server.admin.deleteUser({ query: { ID } })
  else await server.admin.updateUser({ body: { ID, IsDisabled: true } })
}

/** The administrator's own tokens, so that only the credential can be the reason of a refusal. */
async function tokenOf(fields: object): Promise<{ authorization: string; id: number }> {
  const created = await boss.client.createToken({ body: { Name: "t", ...fields } })
  return { authorization: bearerAuth(created.Token), id: created.ID }
}
const expiring = await withSoonExpiring(async (ExpiresAt) => ({ ...(await tokenOf({ ExpiresAt })), ExpiresAt }))
const revoked = await tokenOf({})
await boss.client.deleteToken({ query: { ID: revoked.id } })
const readOnly = await tokenOf({ Scopes: ["read"] })
const forRun = await tokenOf({ Scopes: ["run:1"] })
await untilExpired(expiring.ExpiresAt)

/** Each costs a hash, so operations alternate: each operation gets one of them. */
const wrongPasswords: Record<string, (n: number) => string> = {
  "a wrong password": (n) => basicAuth(`victim${n % indexes.length}`, "a wrong one"),
  "an unknown person": (n) => basicAuth(`unknown${n}`, "any password"),
  "a disabled person's password": (n) => basicAuth(`disabled${n % indexes.length}`, `disabled${n % indexes.length}-password`),
}

const wrongCredentials: Record<string, (n: number) => string | undefined> = {
  "no credential": () => undefined,
  "a disabled person's token": () => disabled[0]?.authorization,
  "a deleted person's token": () => deletedPerson.authorization,
  "an expired token": () => expiring.authorization,
  "a revoked token": () => revoked.authorization,
  "a token that was never issued": () => bearerAuth(`qs_${"a".repeat(43)}`),
  "a header of an unknown kind": () => "Digest username=ann",
}

const authenticatedOperations = operationIds.filter((operation) => expectations[operation]?.is !== "open")
/** Every line of the table that needs a credential, with every kind of object. */
const rowsWithResources = Object.keys(expectations)
  .filter((row) => expectationOf(row).is !== "open")
  .flatMap((row) => resourcesOf(row).map((resource) => ({ row, thing: resource })))

for (const [credential, authorization] of Object.entries(wrongCredentials)) {
  test(`${credential} is 401 at every operation that needs one, with the same answer for every resource and for a missing one`, async () => {
    const mismatches: string[] = []
    const expected = summarize(await call("readImage", authorization(0), missingResource), missingResource)
    await forEachConcurrently([...rowsWithResources.entries()], async ([n, { row, thing: resource }]) => {
      const answer = await call(row, authorization(n), resource)
      if (answer.status !== 401 || summarize(answer, resource) !== expected)
        mismatches.push(`${row}: ${summarize(answer, resource)}, for a missing one ${expected}`)
    })
    assert.deepEqual(mismatches, [])
  })
}

test("a wrong password, an unknown person and a disabled one get the same 401 at every operation that needs credentials", async () => {
  const kinds = Object.entries(wrongPasswords)
  const answers = new Set<string>()
  await forEachConcurrently([...authenticatedOperations.entries()], async ([n, operation]) => {
    const [kind, authorization] = kinds[n % kinds.length] as (typeof kinds)[number]
    const candidates = resourcesOf(operation)
    const resource = candidates[n % candidates.length] as ResourceRef
    const answer = await call(operation, authorization(n), resource)
    answers.add(summarize(answer, resource))
    assert.equal(answer.status, 401, `${operation} with ${kind}: ${answer.text}`)
  })
  assert.equal(answers.size, 1, [...answers].join("\n"))
})

test("an unknown person, a wrong password, a disabled person and an expired token get the same answer", async () => {
  const messages = await Promise.all(
    Object.entries({ ...wrongPasswords, ...wrongCredentials })
      .filter(([credential]) => credential !== "no credential" && credential !== "a header of an unknown kind")
      .map(async ([, authorization]) => (await call("whoami", authorization(0))).body.msg),
  )
  assert.equal(new Set(messages).size, 1, messages.join("\n"))
})

test("a token for a run opens no operation, for any owner", async () => {
  await forEachConcurrently(authenticatedOperations, async (operation) =>
    assert.equal((await call(operation, forRun.authorization)).status, 403, operation),
  )
})

test("a read-only token gets 403 at every operation that writes, and reads everything else", async () => {
  await forEachConcurrently(authenticatedOperations, async (operation) => {
    const { status, text } = await call(operation, readOnly.authorization)
    if (isWrite(operation)) assert.equal(status, 403, `${operation} ${text}`)
    // The matrix covers reads of one object.
    else if (expectationOf(operation).is !== "on") assert.equal(status, 200, `${operation} ${text}`)
  })
  assert.equal(
    (await sendRequest(baseUrl, "GET", `/image?ID=${image.ID}`, { as: boss.authorization })).body.Comment,
    "",
    "nothing was changed",
  )
})

test("administrators' operations return 403 to everybody else, and public operations return 200", async () => {
  for (const operation of operationIds) {
    const { is } = expectations[operation] as Expectation
    if (is === "on" || is === "open") continue
    assert.equal((await call(operation, ann.authorization)).status, is === "administrators" ? 403 : 200, operation)
    assert.equal((await call(operation, boss.authorization)).status, 200, operation)
  }
})

test("operations without authentication ignore wrong credentials", async () => {
  for (const operation of operationIds) {
    if ((expectations[operation] as Expectation).is !== "open") continue
    const [without, withWrong] = [await call(operation, undefined), await call(operation, expiring.authorization)]
    assert.equal(withWrong.status, without.status, operation)
    // Their body is the credential, and here a wrong one.
    if (operation !== "createSession" && operation !== "exchangeTokenCode") assert.equal(without.status, 200, operation)
  }
})

test("HEAD requires the same credentials as GET, and returns its headers without a body", async () => {
  const resource = { id: image.ID }
  for (const operation of operationIds) {
    if (endpoints[operation].method !== "GET") continue
    const { path } = requestFor(operation, resource)
    for (const as of [undefined, expiring.authorization, forRun.authorization, ann.authorization, boss.authorization]) {
      const [get, head] = [
        await call(operation, as, resource),
        await sendRequest(baseUrl, "HEAD", path, { as, headers: { "X-Forwarded-For": "10.200.0.1" } }),
      ]
      assert.deepEqual([head.status, head.text], [get.status, ""], `${operation} ${as}`)
    }
  }
})

test("the right password still works after the wrong ones", async () => {
  const admin = createClient({ baseUrl, authorization: basicAuth("admin", adminPassword) })
  assert.equal((await admin.whoami()).UserName, "admin")
})
