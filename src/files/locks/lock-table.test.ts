import assert from "node:assert/strict"
import { test } from "node:test"
import { setTimeout as after } from "node:timers/promises"
import { bounds } from "#contract"
import { seededRandom } from "../../../test/fixtures/random.ts"
import { type Lock, type LockRequest, LockTable } from "./lock-table.ts"

const most = bounds.files.locks.value

function expected(userId: number, i: number, timeoutMs = 60_000): LockRequest {
  return { path: `/users/${userId}/${i}`, isDeep: false, exclusive: true, userId, owner: "", timeoutMs }
}

function take(locks: LockTable, userId: number, count: number): void {
  for (let i = 0; i < count; i += 1) locks.acquire(expected(userId, i))
}

/** The least time of several tries for two hundred locks, acquired and released. */
function leastMs(locks: LockTable, isDeep = false): number {
  const times = Array.from({ length: 8 }, () => {
    const begin = performance.now()
    for (let i = 0; i < 200; i += 1) locks.release(locks.acquire({ ...expected(0, i), isDeep }))
    return performance.now() - begin
  })
  return Math.min(...times)
}

for (const isDeep of [false, true]) {
  test(`a ${isDeep ? "deep" : "shallow"} lock costs a person the same, however many locks others have`, () => {
    const locks = new LockTable()
    const alone = leastMs(locks, isDeep)
    for (let userId = 1; userId <= 5; userId += 1) take(locks, userId, most)
    const beside = leastMs(locks, isDeep)
    assert.ok(beside < 5 * alone + 5, `${alone} ms alone, ${beside} ms beside the others' locks`)
  })
}

test("released and expired locks do not count towards a person's limit", async () => {
  const locks = new LockTable()
  take(locks, 1, most - 1)
  const short = locks.acquire(expected(1, most, 20))
  const refused = () => assert.throws(() => locks.acquire(expected(1, most + 2)), { code: "too_many_requests" })
  refused()
  take(locks, 2, 1)
  await after(40)
  locks.acquire(expected(1, most + 1))
  assert.deepEqual(locks.locksBinding(short.path), [])
  refused()
  locks.releaseTree("/users/1/0")
  locks.release(locks.acquire(expected(1, 0)))
  locks.acquire(expected(1, 0))
  refused()
})

test("the table finds the locks above and below a path, and no released ones", () => {
  const locks = new LockTable()
  const at = (path: string, isDeep: boolean) => locks.acquire({ path, isDeep, exclusive: false, userId: 1, owner: "", timeoutMs: 60_000 })
  const [root, home, file] = [at("/", true), at("/users/ann", false), at("/users/ann/a/b", true)]
  assert.deepEqual(locks.locksBinding("/users/ann/a/b/c"), [file, root])
  assert.deepEqual(locks.locksBinding("/users/ann"), [home, root])
  assert.deepEqual(locks.locksBinding("/users/anna"), [root])
  assert.deepEqual(locks.locksAt("/users"), [])
  assert.deepEqual(
    locks
      .locksBelow("/")
      .map(({ path }) => path)
      .sort(),
    [home.path, file.path],
  )
  assert.deepEqual(locks.locksBelow("/users/ann/a/b"), [])
  locks.release(home)
  assert.deepEqual(locks.locksBelow("/users"), [file])
  locks.releaseTree("/users/ann")
  assert.deepEqual(locks.locksBelow("/"), [])
  assert.deepEqual(locks.locksBinding("/users/ann/a/b"), [root])
})

/** The answers of a table that looks at every lock. */
class ScannedLocks {
  #locks: Lock[] = []

  binding = (path: string): Lock[] => this.live().filter((lock) => lock.path === path || (lock.isDeep && isBelow(path, lock.path)))
  at = (path: string): Lock[] => this.live().filter((lock) => lock.path === path)
  below = (path: string): Lock[] => this.live().filter((lock) => isBelow(lock.path, path))
  live = (): Lock[] => this.#locks.filter(({ expiresAt }) => expiresAt > performance.now())

  add(lock: Lock): void {
    this.#locks.push(lock)
  }

  remove(removed: readonly Lock[]): void {
    this.#locks = this.#locks.filter((lock) => !removed.includes(lock))
  }

  refusalOf({ path, isDeep, exclusive }: LockRequest): string | undefined {
    const rivals = [...this.binding(path), ...(isDeep ? this.below(path) : [])]
    if (rivals.some((lock) => lock.exclusive || exclusive)) return "locked"
    return this.binding(path).length >= bounds.files.sharedLocks.value ? "too_many_requests" : undefined
  }
}

const isBelow = (path: string, above: string): boolean => path !== above && path.startsWith(above === "/" ? "/" : `${above}/`)

const somePaths = ["/", "/a", "/ab", "/a/b", "/a/b/c", "/a/bc", "/a/b/c/d", "/e", "/e/f", "/e/f/g"]
const tokens = (locks: readonly Lock[]) => locks.map(({ token }) => token).sort()

test("after any sequence of changes the table answers as a scan of all locks does", () => {
  const random = seededRandom(12)
  const [table, scanned] = [new LockTable(), new ScannedLocks()]
  const tryToAcquire = (path: string) => {
    const request = { ...expected(random.below(3), 0), path, isDeep: random.once(2), exclusive: random.once(4) }
    const refusal = scanned.refusalOf(request)
    if (refusal === undefined) scanned.add(table.acquire(request))
    else assert.throws(() => table.acquire(request), { code: refusal })
  }
  const releaseTree = (path: string) => {
    scanned.remove([...scanned.at(path), ...scanned.below(path)])
    table.releaseTree(path)
  }
  const changeOne = (lock: Lock) => {
    if (random.once(2)) return table.refresh(lock, -1)
    scanned.remove([lock])
    table.release(lock)
  }
  for (let i = 0; i < 1_500; i += 1) {
    const live = scanned.live()
    if (random.once(20)) releaseTree(random.pick(somePaths))
    else if (live.length > random.below(20)) changeOne(random.pick(live))
    else tryToAcquire(random.pick(somePaths))
    const path = random.pick(somePaths)
    assert.deepEqual(tokens(table.locksBinding(path)), tokens(scanned.binding(path)))
    assert.deepEqual(tokens(table.locksAt(path)), tokens(scanned.at(path)))
    assert.deepEqual(tokens(table.locksBelow(path)), tokens(scanned.below(path)))
  }
})

test("a lock ends after a day, however often it is refreshed", () => {
  const locks = new LockTable()
  const lock = locks.acquire(expected(1, 0))
  for (let i = 0; i < 3; i += 1) locks.refresh(lock, bounds.files.lockTotalMs.value)
  assert.ok(lock.expiresAt <= performance.now() + bounds.files.lockTotalMs.value)
  assert.equal(lock.expiresAt, lock.endsAt)
})
