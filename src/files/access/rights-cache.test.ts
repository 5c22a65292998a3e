import assert from "node:assert/strict"
import { test } from "node:test"
import { TestAuthority } from "../../../test/fixtures/files/files-server.ts"
import { RightsCache } from "./rights-cache.ts"

function annAndBob(): TestAuthority {
  const authority = new TestAuthority()
  authority.add("ann", { "/users/ann/data": "write" })
  authority.add("bob", { "/users/ann/data": "read" })
  return authority
}
const ann = `Basic ${Buffer.from("ann:x").toString("base64")}`

test("valid credentials are cached until an invalidation", async () => {
  const authority = annAndBob()
  const rights = new RightsCache(authority)
  for (let i = 0; i < 3; i += 1) assert.equal((await rights.identify(ann, "127.0.0.1")).ok, true)
  assert.equal(authority.asked.identify, 1)
  await rights.identify(ann, "127.0.0.2")
  assert.equal(authority.asked.identify, 2)
  rights.invalidate()
  await rights.identify(ann, "127.0.0.1")
  assert.equal(authority.asked.identify, 3)
})

test("wrong credentials reach the authority each time", async () => {
  const authority = annAndBob()
  const rights = new RightsCache(authority)
  for (let i = 0; i < 3; i += 1) assert.equal((await rights.identify("Basic eA==", "127.0.0.1")).ok, false)
  assert.equal(authority.asked.identify, 3)
})

test("cached credentials do not count once the authority slows an address down, so a right guess reveals nothing", async () => {
  const authority = annAndBob()
  const rights = new RightsCache(authority)
  await rights.identify(ann, "127.0.0.1")
  const slowed = await rights.identify(`Basic ${Buffer.from("slowed:x").toString("base64")}`, "127.0.0.1")
  assert.deepEqual([slowed.ok, authority.asked.identify], [false, 2])
  await rights.identify(ann, "127.0.0.1")
  assert.equal(authority.asked.identify, 3)
})

test("a cached answer expires", async () => {
  const authority = annAndBob()
  const rights = new RightsCache(authority, { ttlMs: 0 })
  await rights.identify(ann, "127.0.0.1")
  await rights.identify(ann, "127.0.0.1")
  assert.equal(authority.asked.identify, 2)
})

test("an answer that applies below a directory covers the files in it", async () => {
  const authority = annAndBob()
  const rights = new RightsCache(authority)
  assert.deepEqual(await rights.access(1, ["users", "ann", "data", "x"]), {
    level: "write",
    canReplace: true,
    appliesBelow: true,
    account: "ann",
    isOwner: true,
  })
  assert.deepEqual(await rights.access(1, ["users", "ann", "data", "y", "z"]), {
    level: "write",
    canReplace: true,
    appliesBelow: true,
    account: "ann",
    isOwner: true,
  })
  assert.equal(authority.asked.access, 1)
  assert.equal((await rights.access(1, ["users", "ann", "data"])).canReplace, false)
  assert.equal((await rights.access(1, ["users", "ann", "other"])).canReplace, true)
  assert.equal(authority.asked.access, 2, "the home holds a dataset's root, so it answers for nothing else")
})

test("a level applies to everything below", async () => {
  const authority = annAndBob()
  authority.answersForTrees = false
  const rights = new RightsCache(authority)
  assert.equal(await rights.level(2, ["users", "ann", "data", "x"], "read"), "read")
  assert.equal(await rights.level(2, ["users", "ann", "data", "y"], "read"), "read")
  assert.equal(await rights.level(2, ["users", "ann"], "read"), "traverse")
  assert.equal(authority.asked.access, 1)
  assert.equal(await rights.level(2, ["users", "ann", "secret"], "read"), "none")
  assert.equal(await rights.level(2, ["users", "ann", "secret", "x"], "write"), "none")
  assert.equal(authority.asked.access, 2)
})

test("a deep path costs no more questions than a shallow one", async () => {
  const authority = annAndBob()
  const loadAccess = authority.access.bind(authority)
  const requests: number[] = []
  authority.access = (userId, paths) => {
    requests.push(paths.length)
    return loadAccess(userId, paths)
  }
  const under = (depth: number, name: string) => ["users", "ann", ...Array.from({ length: depth }, (_, i) => `d${i}`), name]
  for (const depth of [20, 200]) {
    const rights = new RightsCache(authority)
    for (const name of ["x", "y"]) assert.equal(await rights.level(1, under(depth, name), "write"), "write")
  }
  const [first, second] = requests
  assert.deepEqual(requests, [first, second])
  assert.equal(first, second)
})

test("questions about many paths are small, and one at a time for each person", async () => {
  const authority = annAndBob()
  const loadAccess = authority.access.bind(authority)
  const pending = new Map<number, number>()
  let [most, longest, people] = [0, 0, 0]
  authority.access = async (userId, paths) => {
    pending.set(userId, (pending.get(userId) ?? 0) + 1)
    most = Math.max(most, pending.get(userId) ?? 0)
    longest = Math.max(longest, paths.length)
    people = Math.max(people, [...pending.values()].filter((count) => count > 0).length)
    await new Promise(setImmediate)
    pending.set(userId, (pending.get(userId) ?? 0) - 1)
    return loadAccess(userId, paths)
  }
  const rights = new RightsCache(authority)
  const paths = Array.from({ length: 100 }, (_, i) => (i % 2 === 0 ? "/users/ann/data" : "/users/other"))
  const answers = await Promise.all([1, 1, 2].map((userId) => rights.fetchAccess(userId, paths)))
  assert.deepEqual([most, longest, people], [1, 16, 2])
  for (const [i, answer] of answers.entries()) {
    const level = i === 2 ? "read" : "write"
    assert.deepEqual(
      answer.map((access) => access.level),
      paths.map((_, n) => (n % 2 === 0 ? level : "none")),
    )
  }
})

test("the number of cached answers is bounded", async () => {
  const authority = annAndBob()
  authority.answersForTrees = false
  const rights = new RightsCache(authority, { maxEntries: 10 })
  for (let i = 0; i < 30; i += 1) await rights.access(1, ["users", "ann", `f${i}`])
  const before = authority.asked.access
  await rights.access(1, ["users", "ann", "f29"])
  assert.equal(authority.asked.access, before)
  await rights.access(1, ["users", "ann", "f0"])
  assert.equal(authority.asked.access, before + 1)
})
