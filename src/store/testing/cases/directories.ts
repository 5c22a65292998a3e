import assert from "node:assert/strict"
import { seededRandom } from "../../../../test/fixtures/random.ts"
import type { Store } from "../../store.ts"
import { addData, addUser, groupRow } from "../samples.ts"
import type { Case } from "./case.ts"

export const directoryCases: Record<string, Case> = {
  "everybody who ever could write to a dataset stays recorded": async ({ open }) => {
    await using store = await open()
    const [ann, bob, eve] = [await addUser(store, "ann"), await addUser(store, "bob"), await addUser(store, "eve")]
    const team = await store.change((tx) => tx.groups.insert(groupRow("team")))
    const { id: dataId } = await addData(store, ann.id)
    const { id: other } = await addData(store, eve.id, { accessInfo: "/users/eve/d" })
    const grant = { resourceType: "data", resourceId: dataId, ownerId: ann.id, expiresAt: null, createdBy: ann.id } as const
    const put = (to: { userId?: number; groupId?: number }, access: "read" | "write") =>
      store.change((tx) => tx.grants.put({ ...grant, userId: 0, groupId: 0, ...to, access }))
    await put({ userId: eve.id }, "read")
    assert.deepEqual(await store.data.writers([dataId]), [])
    const { id: toBob } = await put({ userId: bob.id }, "write")
    await put({ userId: bob.id }, "write")
    const { id: toTeam } = await put({ groupId: team.id }, "write")
    await put({ groupId: team.id }, "read")
    await store.change(async (tx) => void (await Promise.all([toBob, toTeam].map((id) => tx.grants.delete(id)))))
    await store.change((tx) => tx.data.update(dataId, { name: "n", userId: ann.id }))
    const granted = [
      { dataId, userId: 0, groupId: team.id },
      { dataId, userId: bob.id, groupId: 0 },
    ]
    assert.deepEqual(await store.data.writers([dataId, other]), granted)
    await store.change((tx) => tx.data.update(dataId, { userId: eve.id }))
    const formerOwner = { dataId, userId: ann.id, groupId: 0 }
    const all = [granted[0], formerOwner, granted[1]]
    assert.deepEqual(await store.data.writers([dataId]), all)
    assert.deepEqual(await store.data.writers([]), [])
  },

  "datasets that share or contain a directory are found at any depth and length": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const random = seededRandom(11)
    const long = "x".repeat(200)
    const names = ["a", "a0", "a-b", "a.", "é", "🎈", "B", long, `${long}y`, "%", "_"]
    const somePath = () => `/users/${Array.from({ length: 1 + random.below(4) }, () => random.pick(names)).join("/")}`
    const paths = Array.from({ length: 120 }, somePath)
    const rows = await Promise.all(
      paths.map((accessInfo, i) => addData(store, ann.id, { accessInfo, doc: "long", isPublished: i % 3 === 0 })),
    )
    await Promise.all(rows.filter((row) => row.id % 5 === 0).map((row) => store.change((tx) => tx.data.setDeleted(row.id, true))))
    const live = rows.filter((row) => row.id % 5 !== 0)
    const grant = { resourceType: "data", ownerId: ann.id, groupId: 0, access: "write", expiresAt: null, createdBy: ann.id } as const
    // A writer of its own for each dataset, who need not exist.
    await store.change(async (tx) => {
      for (const { id } of rows) await tx.grants.put({ ...grant, resourceId: id, userId: 1_000 + id })
    })
    const within = (path: string, above: string) => path.startsWith(above === "/" ? "/" : `${above}/`)
    const stranger = { userId: 999, groupIds: [], seesAll: false }
    for (const path of ["/", "/users", "/users/ann", ...Array.from({ length: 150 }, somePath)]) {
      const expected = live.filter((row) => row.accessInfo === path || within(row.accessInfo, path) || within(path, row.accessInfo))
      assert.deepEqual(
        (await store.data.overlapping(path)).map((row) => row.id),
        expected.map((row) => row.id).sort((a, b) => a - b),
        path,
      )
      assert.deepEqual(
        (await store.data.containing(path)).map((row) => row.id),
        live
          .filter((row) => row.accessInfo === path || within(path, row.accessInfo))
          .map((row) => row.id)
          .sort((a, b) => a - b),
        path,
      )
      for (const row of await store.data.containing(path)) assert.equal(row.doc, "")
      if (path.length <= 300) assert.deepEqual(await writersOf(store, [path]), new Set(expected.map(({ id }) => 1_000 + id)), path)
      const below = live.filter((row) => within(row.accessInfo, path))
      assert.equal(await store.data.visibleBelow(path, { ...stranger, seesAll: true }), below.length > 0, path)
      assert.equal(await store.data.visibleBelow(path, { ...stranger, userId: ann.id }), below.length > 0, path)
      assert.equal(
        await store.data.visibleBelow(path, stranger),
        below.some((row) => row.isPublished),
        path,
      )
    }
    const short = ["/users/a", "/users/a/a-b", "/users/a0", "/users/B/a"]
    const each = await Promise.all(short.map((path) => writersOf(store, [path])))
    assert.deepEqual(await writersOf(store, short), new Set(each.flatMap((found) => [...found])))
  },

  "a granted dataset below a path is found among few and among hundreds": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob, eve] = [await addUser(store, "ann"), await addUser(store, "bob"), await addUser(store, "eve")]
    const rows = await Promise.all(
      Array.from({ length: 250 }, (_, i) => addData(store, ann.id, { accessInfo: `/shared/${String(i).padStart(3, "0")}/data` })),
    )
    const grant = { resourceType: "data", ownerId: ann.id, access: "read", createdBy: ann.id } as const
    const put = (path: string, to: { userId?: number; groupId?: number }, expiresAt: number | null = null) => {
      const resourceId = rows.find(({ accessInfo }) => accessInfo === path)?.id ?? 0
      return store.change((tx) => tx.grants.put({ ...grant, userId: 0, groupId: 0, ...to, resourceId, expiresAt }))
    }
    await put("/shared/249/data", { userId: bob.id })
    await put("/shared/003/data", { groupId: 7 })
    await put("/shared/004/data", { userId: eve.id }, clock.now() - 1)
    const sees = (path: string, userId: number, groupIds: number[] = []) =>
      store.data.visibleBelow(path, { userId, groupIds, seesAll: false })
    assert.deepEqual(await Promise.all(["/shared", "/shared/249", "/shared/248", "/other"].map((path) => sees(path, bob.id))), [
      true,
      true,
      false,
      false,
    ])
    assert.deepEqual(await Promise.all(["/shared", "/shared/003", "/shared/004"].map((path) => sees(path, eve.id, [7]))), [
      true,
      true,
      false,
    ])
    assert.deepEqual(await Promise.all(["/shared", "/shared/004"].map((path) => sees(path, eve.id, [8]))), [false, false])
  },

  "the owners of many directories are those of the innermost datasets": async ({ open }) => {
    await using store = await open()
    const people = [await addUser(store, "ann"), await addUser(store, "bob"), await addUser(store, "eve")]
    const random = seededRandom(12)
    const names = ["a", "a0", "a-b", "é", "🎈", "x".repeat(140), `${"x".repeat(140)}y`]
    const somePath = () => `/users/${Array.from({ length: 1 + random.below(4) }, () => random.pick(names)).join("/")}`
    const rows = await Promise.all(
      Array.from({ length: 80 }, () => addData(store, random.pick(people).id, { accessInfo: random.below(40) === 0 ? "/" : somePath() })),
    )
    const removed = rows.filter(({ id }) => id % 5 === 0)
    await Promise.all(removed.map(({ id }) => store.change((tx) => tx.data.setDeleted(id, true))))
    const assertOwners = async () => {
      const paths = [...new Set(["/", "/users", "/users/nobody", ...Array.from({ length: 700 }, somePath)])]
      const expected = new Map<string, string>()
      for (const path of paths) {
        const [innermost] = (await store.data.containing(path)).sort((a, b) => b.accessInfo.length - a.accessInfo.length)
        if (innermost) expected.set(path, innermost.userName)
      }
      assert.ok(paths.some((path) => path.length > 300 && expected.has(path)))
      assert.deepEqual(new Map([...(await store.data.ownersOf(paths))].sort()), new Map([...expected].sort()))
    }
    await assertOwners()
    await Promise.all(
      rows.filter(({ accessInfo }) => accessInfo === "/").map(({ id }) => store.change((tx) => tx.data.setDeleted(id, true))),
    )
    await assertOwners()
    assert.deepEqual(await store.data.ownersOf([]), new Map())
  },
}

async function writersOf(store: Store, paths: readonly string[]): Promise<Set<number>> {
  return new Set((await store.data.writersAround(paths)).map(({ userId }) => userId))
}
