import assert from "node:assert/strict"
import { test } from "node:test"
import { defaultLimits, unsetLimits } from "#contract"
import { type Runs, type StorageMeter, StorageQuotas } from "../index.ts"
import { eventually, RunsFixture } from "../testing/runs-fixture.ts"
import { SteppedClock } from "../testing/stepped-clock.ts"

const mib = 2 ** 20
const minute = 60_000

/** A meter of a disk that the test fills. */
function fakeStorage(hasQuotas: boolean) {
  /** The last limit passed to the kernel. */
  const limits = new Map<string, number | null>()
  const stored = new Map<string, number>()
  const disk = { freeBytes: 1_024 * mib, totalBytes: 2_048 * mib, reserveBytes: 64 * mib, isLow: false }
  const counts: string[] = []
  const meter: StorageMeter = {
    diskSpace: async () => ({ ...disk }),
    hasQuotas: async () => hasQuotas,
    async count({ name, roots, subAreas }, maxBytes) {
      limits.set(name, maxBytes)
      const paths = [...stored].filter(([path]) => roots.some((root) => path.startsWith(root)))
      const areas: Record<string, number> = {}
      for (const [path, bytes] of paths) {
        const area = subAreas.find((each) => path.startsWith(each)) ?? path
        areas[area] = (areas[area] ?? 0) + bytes
      }
      counts.push(name)
      return { bytes: Object.values(areas).reduce((a, b) => a + b, 0), isComplete: true, areas, tookMs: 0 }
    },
  }
  return { stored, disk, counts, limits, meter }
}

/** A fixture in which the test sets the stored bytes. */
async function withMeter(maxStorage: number | null = null, { hasQuotas = false } = {}) {
  const clock = new SteppedClock()
  const fixture = await RunsFixture.open({ clock, settings: { diskSpaceEveryMs: 5, sampleEveryMs: 3_600_000 }, people: 3 })
  await fixture.store.change(async (tx) => {
    for (const id of fixture.users) await tx.users.update(id, { limits: { ...unsetLimits, MaxStorage: maxStorage } })
  })
  const { stored, disk, counts, limits, meter } = fakeStorage(hasQuotas)
  const warnings: [number, string][] = []
  const quotas = new StorageQuotas(fixture.store, defaultLimits)
  const runs = await fixture.runs({
    storage: { quotas, meter },
    events: { warning: ({ id }, text) => void warnings.push([id, text]) },
  })
  const start = async (
    person: number,
    { readOnly = false, image = "fake/http", source = `/users/person${person}`, projectId = fixture.projectId } = {},
  ) => {
    const mounts = [{ source, target: "/home", readOnly }]
    const run = await runs.waitUntilSettled((await runs.start(fixture.request(image, { person, projectId, plan: { mounts } }))).id)
    assert.equal(run.state, "ready", JSON.stringify(run.reason))
    return run.id
  }
  return {
    ...{ fixture, runs, disk, warnings, start, clock, limits, quotas },
    store: (person: number, amount: number, below = "") => stored.set(`/users/person${person}${below}`, amount * mib),
    /** A dataset of this person in their home, which counts for them. */
    datasetOf: (person: number) => {
      const accessInfo = `/users/person${person}/data`
      const fields = { type: "dir" as const, name: "data", comment: "", doc: "", accessInfo, isPublished: false }
      return fixture.store.change((tx) => tx.data.insert({ ...fields, userId: fixture.users[person] ?? 0 }))
    },
    /**
     * Passes time until each of these people was counted twice more: the first count may have been
     * under way.
     */
    async counted(...people: number[]) {
      const expected = people.map((person) => `person${person}`)
      for (let round = 0; round < 2; round += 1) {
        counts.length = 0
        clock.advance(minute)
        await eventually("their files are counted", () => expected.every((name) => counts.includes(name)))
      }
    },
    stateOf: async (id: number) => {
      const { state, reason } = await fixture.row(id)
      return [state, reason?.code]
    },
    async [Symbol.asyncDispose]() {
      await (runs as Runs).close()
      await fixture[Symbol.asyncDispose]()
    },
  }
}

test("a run that grows its owner's files beyond `MaxStorage` gets warnings at 80 and 90 %, and ends with `disk_full`", async () => {
  await using it = await withMeter(100)
  it.store(0, 50)
  const [id, other] = [await it.start(0), await it.start(1)]
  await it.counted(0, 1)
  assert.equal(it.warnings.length, 0)
  for (const amount of [85, 88, 95]) {
    it.store(0, amount)
    await it.counted(0)
  }
  assert.deepEqual(
    it.warnings.map(([run]) => run),
    [id, id],
  )
  assert.match(it.warnings[0]?.[1] ?? "", /^person0 may store 100 MiB in homes and datasets, and 85 MiB are stored/)
  it.store(0, 120)
  it.clock.advance(minute)
  await eventually("the run has ended", async () => (await it.stateOf(id))[0] === "ended")
  const { reason } = await it.fixture.row(id)
  assert.equal(reason?.code, "disk_full")
  assert.match(reason?.msg ?? "", /person0 may store 100 MiB and 120 MiB are stored; this run's directories grew by 25 MiB/)
  assert.deepEqual(await it.stateOf(other), ["ready", undefined])
})

test("a person beyond `MaxStorage` may start a run to delete files; it ends when it stores more", async () => {
  await using it = await withMeter(100)
  it.store(0, 150)
  const id = await it.start(0)
  await it.counted(0)
  assert.deepEqual(await it.stateOf(id), ["ready", undefined])
  assert.match(it.warnings[0]?.[1] ?? "", /the run that stores more is ended\. Delete files/)
  it.store(0, 120)
  await it.counted(0)
  assert.deepEqual(await it.stateOf(id), ["ready", undefined])
  it.store(0, 125)
  it.clock.advance(minute)
  await eventually("the run has ended", async () => (await it.stateOf(id))[1] === "disk_full")
})

test("a nearly full disk ends the run that grew most, and no other", async () => {
  await using it = await withMeter()
  for (const person of [0, 1, 2]) it.store(person, 10)
  const ids = [await it.start(0), await it.start(1), await it.start(2)]
  await it.counted(0, 1, 2)
  it.store(0, 13)
  it.store(1, 200)
  it.store(2, 100)
  Object.assign(it.disk, { freeBytes: 32 * mib, isLow: true })
  it.clock.advance(minute)
  await eventually("the run has ended", async () => (await it.stateOf(ids[1] as number))[1] === "disk_full")
  assert.match(
    (await it.fixture.row(ids[1] as number)).reason?.msg ?? "",
    /^32 MiB of the disk are free, and 64 MiB are kept free; this run's/,
  )
  await it.counted(0, 2)
  assert.deepEqual(await it.stateOf(ids[2] as number), ["ready", undefined])
  it.store(2, 150)
  it.clock.advance(minute)
  await eventually("whoever goes on is next", async () => (await it.stateOf(ids[2] as number))[1] === "disk_full")
  await it.counted(0)
  assert.deepEqual(await it.stateOf(ids[0] as number), ["ready", undefined])
})

test("a run that may only read is not ended for other people's files", async () => {
  await using it = await withMeter(100)
  const reader = await it.start(0, { readOnly: true })
  const writer = await it.start(1)
  it.store(1, 10)
  await it.counted(1)
  it.store(0, 500)
  it.store(1, 500)
  it.clock.advance(minute)
  await eventually("the writing run has ended", async () => (await it.stateOf(writer))[1] === "disk_full")
  assert.deepEqual(await it.stateOf(reader), ["ready", undefined])
})

test("a nearly full disk ends the run whose own file system grew most, when it is on that disk", async () => {
  await using it = await withMeter()
  for (const person of [0, 1]) it.store(person, 10)
  const [writer, other] = [await it.start(0, { image: "fake/writes:300" }), await it.start(1)]
  await it.counted(0, 1)
  it.store(1, 30)
  it.fixture.fake.freeDisk = 32 * mib
  Object.assign(it.disk, { freeBytes: 32 * mib, isLow: true })
  it.clock.advance(minute)
  await eventually("the run has ended", async () => (await it.stateOf(writer))[1] === "disk_full")
  assert.match((await it.fixture.row(writer)).reason?.msg ?? "", /this run's file system grew most, by 300 MiB/)
  await it.counted(1)
  assert.deepEqual(await it.stateOf(other), ["ready", undefined])
})

test("a nearly full disk ends the run whose deleted, open files grew most, not one that stored less", async () => {
  await using it = await withMeter()
  for (const person of [0, 1]) it.store(person, 10)
  const other = await it.start(1)
  await it.counted(1)
  const holder = await it.start(0, { image: "fake/holds:300" })
  it.store(1, 30)
  Object.assign(it.disk, { freeBytes: 32 * mib, isLow: true })
  it.clock.advance(minute)
  await eventually("the run has ended", async () => (await it.stateOf(holder))[1] === "disk_full")
  assert.match((await it.fixture.row(holder)).reason?.msg ?? "", /the deleted files that this run has open grew most, by 300 MiB/)
  await it.counted(1)
  assert.deepEqual(await it.stateOf(other), ["ready", undefined])
})

test("on a nearly full disk all runs of a person that cannot be measured end at once, and no others", async () => {
  await using it = await withMeter()
  const start = async (person: number) =>
    it.start(person, { image: "fake/hides", readOnly: true, projectId: await it.fixture.addProject() })
  const hiding = [await start(0), await start(0), await start(0)]
  const others = [await it.start(0), await start(1)]
  const looks = [true, true]
  Object.defineProperty(it.disk, "isLow", { enumerable: true, get: () => looks.pop() ?? false })
  it.clock.advance(minute)
  for (const id of hiding) await eventually("each has ended", async () => (await it.stateOf(id))[1] === "disk_full")
  for (const id of others) assert.deepEqual(await it.stateOf(id), ["ready", undefined])
})

test("a run that has deleted files open since before the disk filled stays", async () => {
  await using it = await withMeter()
  for (const person of [0, 1]) it.store(person, 10)
  const [holder, writer] = [await it.start(0, { image: "fake/holds:300" }), await it.start(1)]
  await it.counted(0, 1)
  it.store(1, 30)
  Object.assign(it.disk, { freeBytes: 32 * mib, isLow: true })
  it.clock.advance(minute)
  await eventually("the run that stored more has ended", async () => (await it.stateOf(writer))[1] === "disk_full")
  assert.deepEqual(await it.stateOf(holder), ["ready", undefined])
})

test("deleted files that a run has open count for its person, and it ends beyond the limit", async () => {
  await using it = await withMeter(100)
  for (const person of [0, 1]) it.store(person, 20)
  const ids = [await it.start(0, { image: "fake/holds:70" }), await it.start(1, { image: "fake/holds:40" })] as const
  await it.counted(0, 1)
  for (const person of [0, 1]) it.store(person, 50)
  await eventually("the run has ended", async () => {
    it.clock.advance(minute)
    return (await it.stateOf(ids[0]))[1] === "disk_full"
  })
  assert.match(
    (await it.fixture.row(ids[0])).reason?.msg ?? "",
    /person0 may store 100 MiB and 120 MiB are stored, 70 MiB of them in deleted files that runs have open; this run has most/,
  )
  assert.deepEqual(await it.stateOf(ids[1]), ["ready", undefined])
})

test("a guest's run that mounts a dataset in the owner's home stays when the owner's run fills the rest of the home", async () => {
  await using it = await withMeter(100)
  const { accessInfo } = await it.datasetOf(0)
  it.store(0, 50)
  it.store(0, 10, "/data/file")
  const [owners, guests] = [await it.start(0), await it.start(1, { source: accessInfo })]
  await it.counted(0)
  it.store(0, 120)
  it.clock.advance(minute)
  await eventually("the owner's run has ended", async () => (await it.stateOf(owners))[1] === "disk_full")
  assert.deepEqual(await it.stateOf(guests), ["ready", undefined])
})

test("a guest's run that mounts a directory of a dataset stays when the owner's run fills the rest of the home", async () => {
  await using it = await withMeter(100)
  const { accessInfo } = await it.datasetOf(0)
  it.store(0, 50)
  it.store(0, 10, "/data/file")
  const [owners, guests] = [await it.start(0), await it.start(1, { source: `${accessInfo}/models` })]
  await it.counted(0)
  it.store(0, 120)
  it.clock.advance(minute)
  await eventually("the owner's run has ended", async () => (await it.stateOf(owners))[1] === "disk_full")
  assert.deepEqual(await it.stateOf(guests), ["ready", undefined])
})

test("a guest's run that fills a dataset in the owner's home ends, and the owner's run stays", async () => {
  await using it = await withMeter(100)
  const { accessInfo } = await it.datasetOf(0)
  it.store(0, 50)
  it.store(0, 10, "/data/file")
  const [owners, guests] = [await it.start(0), await it.start(1, { source: accessInfo })]
  await it.counted(0)
  it.store(0, 60, "/data/file")
  it.clock.advance(minute)
  await eventually("the guest's run has ended", async () => (await it.stateOf(guests))[1] === "disk_full")
  assert.deepEqual(await it.stateOf(owners), ["ready", undefined])
})

test("with quotas of the file system each person is counted once after the start, also without a run", async () => {
  await using it = await withMeter(100, { hasQuotas: true })
  const names = ["person0", "person1", "person2"]
  await eventually("all limits are set", () => {
    it.clock.advance(100)
    return names.every((name) => it.limits.get(name) === 100 * mib)
  })
})

test("a changed limit of a person with a run applies at once, not after a minute", async () => {
  await using it = await withMeter(100)
  it.store(0, 10)
  await it.start(0)
  await eventually("the first limit is set", () => it.limits.get("person0") === 100 * mib)
  await it.fixture.store.change((tx) => tx.users.update(it.fixture.users[0] ?? 0, { limits: { ...unsetLimits, MaxStorage: 50 } }))
  it.quotas.recordChange({ type: "user", id: it.fixture.users[0] ?? 0 })
  await eventually("the new limit is set", () => {
    it.clock.advance(5)
    return it.limits.get("person0") === 50 * mib
  })
})

test("with quotas of the file system a changed limit of a person or group applies at once, also without a run", async () => {
  await using it = await withMeter(100, { hasQuotas: true })
  const settled = (what: string, limits: readonly number[]) =>
    eventually(what, () => {
      it.clock.advance(100)
      return limits.every((limit, i) => it.limits.get(`person${i}`) === limit * mib)
    })
  await settled("everybody is counted", [100, 100, 100])
  const { store, users } = it.fixture
  const [first = 0, second = 0] = users
  await store.change((tx) => tx.users.update(first, { limits: { ...unsetLimits, MaxStorage: 50 } }))
  it.quotas.recordChange({ type: "user", id: first })
  await settled("the person's limit is set", [50, 100, 100])
  const group = await store.change(async (tx) => {
    const { id } = await tx.groups.insert({ groupName: "lab", comment: "", limits: { MaxStorage: 40 }, totalLimits: unsetLimits })
    await tx.groups.setMembers(id, [second])
    return id
  })
  it.quotas.recordChange({ type: "group", id: group })
  await settled("the limit of the group's members is set", [50, 40, 100])
})

test("everybody else is served while the storage limits of many people are read", async (t) => {
  await using it = await withMeter(100)
  let turn = 0
  const count = () => {
    turn += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  t.after(() => clearImmediate(next))
  let turns: number[] = []
  t.mock.method(it.fixture.store.users, "byName", async (name: string) => {
    turns.push(turn)
    for (const until = performance.now() + 2; name !== "nobody" && performance.now() < until; );
  })
  const people = Array.from({ length: 20 }, (_, n) => `member${n}`)
  await Promise.all(people.map((name) => it.quotas.quotaOf(name)))
  assert.equal(new Set(turns).size, people.length)

  await it.quotas.quotaOf("nobody")
  turns = []
  await Promise.all(people.map((name) => it.quotas.quotaOf(name)))
  assert.equal(new Set(turns).size, people.length, "although all were asked for in a slice that had just begun")
})

test("with quotas of the file system the owner of a changed dataset is counted at once", async () => {
  await using it = await withMeter(100, { hasQuotas: true })
  await eventually("everybody is counted", () => {
    it.clock.advance(100)
    return it.limits.size === 3
  })
  it.limits.clear()
  it.quotas.recordChange({ type: "data", id: (await it.datasetOf(1)).id })
  await eventually("the owner is counted", () => {
    it.clock.advance(5)
    return it.limits.has("person1")
  })
  assert.deepEqual([...it.limits.keys()], ["person1"])
})

test("a directory with a path of kilobytes counts as any other", async () => {
  await using it = await withMeter(100)
  const accessInfo = `/users/person0${`/${"漢".repeat(85)}`.repeat(17)}`
  const fields = { type: "dir" as const, name: "data", comment: "", doc: "", accessInfo, isPublished: false }
  await it.fixture.store.change((tx) => tx.data.insert({ ...fields, userId: it.fixture.users[0] ?? 0 }))
  assert.deepEqual((await it.quotas.quotaOf("person0"))?.account.subAreas, [accessInfo])
})

test("the first counts of a group's members run a few at a time, and read the members once", async (t) => {
  const people = 30
  const clock = new SteppedClock()
  await using fixture = await RunsFixture.open({ clock, settings: { diskSpaceEveryMs: 5, sampleEveryMs: 3_600_000 }, people })
  await fixture.store.change(async (tx) => {
    const totalLimits = { ...unsetLimits, MaxStorage: 100 }
    const group = await tx.groups.insert({ groupName: "class", comment: "", limits: unsetLimits, totalLimits })
    await tx.groups.setMembers(group.id, fixture.users)
  })
  const members = t.mock.method(fixture.store.groups, "members").mock
  const { meter, counts } = fakeStorage(false)
  let running = 0
  let most = 0
  const count: StorageMeter["count"] = async (...words) => {
    running += 1
    most = Math.max(most, running)
    await new Promise((resolve) => setTimeout(resolve, 5))
    running -= 1
    return meter.count(...words)
  }
  const quotas = new StorageQuotas(fixture.store, defaultLimits)
  const runs = await fixture.runs({ storage: { quotas, meter: { ...meter, count } }, events: { warning: () => {} } })
  await quotas.quotaOf("person0")
  await eventually("all are counted", () => {
    clock.advance(10)
    return new Set(counts).size === people
  })
  assert.ok(most <= 8, `${most} at once`)
  assert.equal(members.callCount(), 1)
  await (runs as Runs).close()
})
