import assert from "node:assert/strict"
import { existsSync } from "node:fs"
import { request } from "node:http"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout } from "node:timers/promises"
import { basicAuth } from "#client"
import { bounds } from "#contract"
import { silentLogger } from "#kit"
import { startTestServer } from "../test-server.ts"

/** Hashes must cost as much as in production for a crowd to queue. */
const startWithRealHashes = () => startTestServer({}, silentLogger, undefined, { hashing: {} })

interface Sent {
  from: string
  method?: string
  path: string
  as?: string
  body?: object
}

/** The status of a request over its own connection, from its own loopback address. */
function send(url: string, { from, method = "GET", path, as, body }: Sent): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const headers = {
    ...(as === undefined ? {} : { authorization: as }),
    ...(body ? { "content-type": "application/json", origin: url } : {}),
  }
  const { host } = new URL(url)
  const sent = request(
    { host: "127.0.0.1", port: Number(new URL(url).port), localAddress: from, method, path, headers: { ...headers, host }, agent: false },
    (response) => response.resume().on("end", () => resolve(response.statusCode ?? 0)),
  )
  sent.on("error", reject).end(body && JSON.stringify(body))
  return promise
}

const manyAddresses = (i: number) => `127.0.${2 + (i >> 7)}.${1 + (i & 127)}`
const crowdSize = 1_100

/** The statuses of a crowd's responses, and how many had arrived at the time of the call. */
function watched(answers: readonly Promise<number>[]) {
  const progress = { done: 0 }
  for (const answer of answers) void answer.then((status) => (progress.done += status === 429 ? 0 : 1))
  return progress
}

test("1,100 simultaneous right passwords of one name delay no other sign-in or request", async () => {
  await using testServer = await startWithRealHashes()
  const [ann, bob] = [await testServer.person("ann"), await testServer.person("bob")]
  const { baseUrl } = testServer.quayside
  const signIn = (from: string, { userName, password }: { userName: string; password: string }) =>
    send(baseUrl, { from, method: "POST", path: "/session", body: { UserName: userName, Password: password } })
  const crowd = Array.from({ length: crowdSize }, (_, i) => signIn(manyAddresses(i), ann))
  const progress = watched(crowd)
  assert.equal(await signIn("127.0.0.1", bob), 200)
  const before = progress.done
  assert.equal(await send(baseUrl, { from: "127.0.0.1", path: "/whoami", as: bob.authorization }), 200)
  const statuses = await Promise.all(crowd)
  assert.deepEqual(new Set(statuses), new Set([200, 429]))
  const right = statuses.filter((status) => status === 200).length
  assert.ok(right >= 16 && right < crowdSize / 2, `${right} were let in`)
  assert.ok(before <= 40, `${before} of the crowd were answered before`)
  assert.equal(await signIn("127.0.0.1", ann), 200, "the name is not locked")
})

test("simultaneous right passwords of one name and address are checked once, and all sign in", async () => {
  await using testServer = await startWithRealHashes()
  const ann = await testServer.person("ann")
  const body = { UserName: "ann", Password: ann.password }
  const statuses = await Promise.all(
    Array.from({ length: 100 }, () => send(testServer.quayside.baseUrl, { from: "127.0.0.3", method: "POST", path: "/session", body })),
  )
  assert.deepEqual(new Set(statuses), new Set([200]))
})

test("one person's changes of their password wait a few at a time, and beyond that get 429", async () => {
  await using testServer = await startWithRealHashes()
  const ann = await testServer.person("ann")
  const { ID } = await ann.client.readUser({ query: { UserName: "ann" } })
  const body = { ID, Password: ann.password, CurrentPassword: ann.password }
  const statuses = await Promise.all(
    Array.from({ length: 40 }, () =>
      send(testServer.quayside.baseUrl, { from: "127.0.0.3", method: "PUT", path: "/user", as: ann.authorization, body }),
    ),
  )
  assert.deepEqual(new Set(statuses), new Set([200, 429]))
  const maxInProgress = bounds.accounts.passwordChanges.value + bounds.accounts.waitingPasswordChanges.value
  assert.equal(statuses.filter((status) => status === 200).length, maxInProgress)
})

test("a change of a password that was checked before an administrator set another one changes nothing", async () => {
  const hashing = { maxConcurrent: 1, cost: { memoryKiB: 33 * 1024, passes: 24 } }
  await using testServer = await startTestServer({}, silentLogger, undefined, { hashing })
  const ann = await testServer.person("ann")
  const { ID } = await ann.client.readUser({ query: { UserName: "ann" } })
  // The thief's new password is hashed after the administrator's.
  const thief = ann.client.updateUser({ body: { ID, Password: "the thief's", CurrentPassword: ann.password } })
  await setTimeout(50)
  const saved = testServer.admin.updateUser({ body: { ID, Password: "the administrator's" } })
  await assert.rejects(thief, { status: 401, field: "CurrentPassword" })
  await saved
  const { baseUrl } = testServer.quayside
  const signIn = (Password: string) =>
    send(baseUrl, { from: "127.0.0.1", method: "POST", path: "/session", body: { UserName: "ann", Password } })
  assert.deepEqual([await signIn("the administrator's"), await signIn("the thief's")], [200, 401])
})

test("an account that was requested by an administrator who lost the right meanwhile is not made", async () => {
  const hashing = { maxConcurrent: 1, cost: { memoryKiB: 33 * 1024, passes: 24 } }
  await using testServer = await startTestServer({}, silentLogger, undefined, { hashing })
  const { admin } = testServer
  const eve = await testServer.person("eve", { IsAdmin: true })
  const { ID } = await eve.client.readUser({ query: { UserName: "eve" } })
  const made = eve.client.createUser({ body: { UserName: "mallory", Password: "a password", IsAdmin: true } })
  const changed = eve.client.updateUser({ body: { ID: 1, Password: "a password" } })
  await setTimeout(50)
  await admin.updateUser({ body: { ID, IsAdmin: false } })
  await assert.rejects(made, { status: 403 })
  await assert.rejects(changed, { status: 404 })
  assert.deepEqual((await admin.listUsers({ query: { UserName: "mallory" } })).data, [])
  assert.ok(!existsSync(join(testServer.dataDir, "files/users/mallory")), "a home was left behind")
  assert.ok(existsSync(join(testServer.dataDir, "files/users/eve")))
})

test("wrong Basic passwords of one name from many addresses delay nobody else at any of the three addresses", async () => {
  await using testServer = await startWithRealHashes()
  const [ann, bob] = [await testServer.person("ann"), await testServer.person("bob")]
  const { baseUrl, appsUrl, filesUrl } = testServer.quayside
  const endpoints: [string, string, number][] = [
    [baseUrl, "/whoami", 200],
    [appsUrl, "/run/1/", 404],
    [filesUrl, "/users/bob/missing", 404],
  ]
  for (const [url, path, authenticated] of endpoints) {
    const crowd = Array.from({ length: 120 }, (_, i) =>
      send(url, { from: manyAddresses(i), path, as: basicAuth("ann", `${ann.password}${i}`) }),
    )
    const progress = watched(crowd)
    assert.equal(await send(url, { from: "127.0.0.1", path, as: basicAuth("bob", bob.password) }), authenticated, url)
    assert.ok(progress.done <= 40, `${progress.done} of the crowd were answered before`)
    const statuses = new Set(await Promise.all(crowd))
    // On a busy machine the files server may not answer in time: 503.
    assert.ok(statuses.has(429) && statuses.isSubsetOf(new Set([401, 429, 503])), [...statuses].join())
  }
})
