import assert from "node:assert/strict"
import type { ManualClock } from "#kit"
import { type Random, seededRandom } from "../../../../test/fixtures/random.ts"
import { fold } from "../../fold.ts"
import type { GrantRow, Page, PageRequest, Viewer } from "../../rows.ts"
import type { ResourceFilter, Store } from "../../store.ts"
import { addUser, dataRow, groupRow, imageRow, projectRow } from "../samples.ts"
import type { Case } from "./case.ts"

const names = [
  "alpha",
  "Alpha",
  "ALPHA beta",
  "Größe",
  "GRÖSSE",
  "ﬁne",
  "Fine",
  "straße 🎈",
  "漢字",
  "Ａwide",
  "zeta",
  "%",
  "_x",
  "a'b",
  "İstanbul",
  "ΣΑΣ",
]
const words = ["alpha", "ALPHA", "größe", "GROSSE", "fi", "a", "%", "_", "🎈", "strasse", "x y", "comment", "σας", "'", "é", ""]

/** As far as lists look at rows, whatever they are of. */
interface Row {
  id: number
  createdAt: number
  updatedAt: number
  deletedAt: number | null
  version: number
  name: string
  comment: string
  userId: number
  userName: string
  groupId: number
  published: boolean
}

interface Setting {
  rows: Row[]
  grants: readonly Given[]
  userIds: number[]
  groupIds: number[]
  list(filter: ResourceFilter<never>, viewer: Viewer, page: PageRequest): Promise<Page<{ id: number }>>
  /** Names of fields as the kind at hand calls them. */
  field: { name: string; published: string }
  grouped: boolean
}

const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

interface Given {
  resourceId: number
  userId: number
  groupId: number
  isInForce: boolean
}

/**
 * Gives some of the resources to people and groups, some until a time that is over afterwards;
 * takes a few back.
 */
async function give(
  world: { store: Store; clock: ManualClock; random: Random },
  type: GrantRow["resourceType"],
  made: { ids: readonly number[]; userIds: readonly number[]; groupIds: readonly number[]; ownerOf(id: number): number },
): Promise<Given[]> {
  const { store, clock, random } = world
  const grants = new Map<string, Given>()
  for (const resourceId of made.ids.filter(() => random.once(3))) {
    const ofGroup = random.once(3)
    const [userId, groupId] = ofGroup ? [0, random.pick(made.groupIds)] : [random.pick(made.userIds), 0]
    const isInForce = !random.once(4)
    const row = {
      resourceType: type,
      resourceId,
      ownerId: made.ownerOf(resourceId),
      userId,
      groupId,
      access: "read",
      createdBy: made.userIds[0],
    } as const
    const expiresAt = isInForce ? (random.once(2) ? null : clock.now() + 3_600_000) : clock.now() + 1_000
    const { id } = await store.change((tx) => tx.grants.put({ ...row, expiresAt } as Parameters<typeof tx.grants.put>[0]))
    const isTakenBack = random.once(6)
    if (isTakenBack) await store.change((tx) => tx.grants.delete(id))
    grants.set(`${resourceId} ${userId} ${groupId}`, { resourceId, userId, groupId, isInForce: isInForce && !isTakenBack })
  }
  await clock.advance(1_000)
  return [...grants.values()]
}

const isGiven = (grants: readonly Given[], row: Row, { userId, groupIds }: Viewer) =>
  grants.some((grant) => grant.isInForce && grant.resourceId === row.id && (grant.userId === userId || groupIds.includes(grant.groupId)))

function visible({ grants }: Pick<Setting, "grants">, row: Row, viewer: Viewer, deleted: boolean): boolean {
  if (viewer.everything) return true
  if (row.userId === viewer.userId) return true
  if (deleted) return false
  return row.published || (row.groupId !== 0 && viewer.groupIds.includes(row.groupId)) || isGiven(grants, row, viewer)
}

interface Wanted {
  filter: ResourceFilter<never>
  matches(row: Row): boolean
}

function someFilter(random: Random, { field, rows, userIds, grouped, groupIds }: Setting): Wanted {
  const tests: ((row: Row) => boolean)[] = []
  const where: Record<string, unknown> = {}
  const filter: Record<string, unknown> = {}
  const add = (name: string, value: unknown, test: (row: Row) => boolean) => {
    where[name] = value
    tests.push(test)
  }
  const deleted = random.once(6)
  if (deleted) filter.deleted = true
  tests.push((row) => (row.deletedAt !== null) === deleted)
  if (random.once(3)) {
    const published = random.once(2)
    add(field.published, published, (row) => row.published === published)
  }
  if (random.once(3)) {
    const userId = random.pick(userIds)
    const userName = rows.find((row) => row.userId === userId)?.userName ?? "nobody"
    add("userName", userName, (row) => row.userName === userName)
  }
  if (random.once(6)) {
    const name = random.pick(names)
    add(field.name, name, (row) => row.name === name)
  }
  if (grouped && random.once(6)) {
    const groupId = random.pick([0, ...groupIds])
    add("groupId", groupId, (row) => row.groupId === groupId)
  }
  if (random.once(8)) {
    const ids = Array.from({ length: random.below(40) }, () => random.below(rows.length + 20))
    filter.ids = ids
    tests.push((row) => ids.includes(row.id))
  }
  if (random.once(5)) {
    const wanted = Array.from({ length: 1 + random.below(3) }, () => random.pick(words))
    filter.words = wanted
    tests.push((row) => wanted.every((word) => fold(row.name).includes(fold(word)) || fold(row.comment).includes(fold(word))))
  }
  if (Object.keys(where).length > 0) filter.where = where
  return { filter: filter as ResourceFilter<never>, matches: (row) => tests.every((test) => test(row)) }
}

type Sort = NonNullable<ResourceFilter<never>["sort"]>

function sorted(rows: Row[], { by, descending }: Sort): Row[] {
  const compare = (a: Row, b: Row) => {
    const first = by === "name" ? bytes(fold(a.name), fold(b.name)) : a[by] - b[by]
    return (first === 0 ? a.id - b.id : first) * (descending ? -1 : 1)
  }
  return rows.toSorted(compare)
}

async function comparePages(setting: Setting, seed: number): Promise<void> {
  const random = seededRandom(seed)
  for (let round = 0; round < 250; round += 1) {
    const { filter, matches } = someFilter(random, setting)
    const groupIds = setting.groupIds.filter(() => random.once(2))
    const viewer = { userId: random.pick(setting.userIds), groupIds, everything: random.once(3) }
    const sort = { by: random.pick(["id", "id", "createdAt", "updatedAt", "name"] as const), descending: !random.once(3) }
    const usesDefault = sort.by === "id" && sort.descending && random.once(2)
    const expected = sorted(
      setting.rows.filter((row) => matches(row) && visible(setting, row, viewer, filter.deleted === true)),
      sort,
    )
    const pageSize = random.pick([1, 3, 20, 200])
    const pages = Math.ceil(expected.length / pageSize)
    for (const page of new Set([1, 2, 1 + random.below(pages + 1), pages - 1, pages, pages + 1, 2 ** 31 - 1])) {
      if (page < 1) continue
      const { rows, total } = await setting.list(usesDefault ? filter : { ...filter, sort }, viewer, { page, pageSize })
      const told = JSON.stringify({ seed, round, filter, viewer, sort, page, pageSize })
      assert.equal(total, expected.length, told)
      assert.deepEqual(
        rows.map((row) => row.id),
        expected.slice((page - 1) * pageSize, page * pageSize).map((row) => row.id),
        told,
      )
    }
  }
}

interface Draw {
  userId: number
  groupId: number
  name: string
  comment: string
  published: boolean
}

/** Fills a table with rows of many owners, changes some, deletes some, and restores a few. */
async function fill(store: Store, random: Random, count: number) {
  const users = await Promise.all(["ann", "bob", "cat", "dan", "eve"].map((name) => addUser(store, name)))
  const groups = await Promise.all(["g1", "g2", "g3"].map((name) => store.change((tx) => tx.groups.insert(groupRow(name)))))
  const userIds = users.map((user) => user.id)
  const groupIds = groups.map((group) => group.id)
  const draw = (): Draw => ({
    userId: random.pick(userIds.slice(0, 4)),
    groupId: random.pick([0, 0, ...groupIds]),
    name: random.pick(names),
    comment: random.once(2) ? "" : `comment ${random.pick(names)}`,
    published: random.once(3),
  })
  return { userIds, groupIds, draws: Array.from({ length: count }, draw) }
}

async function disturb(
  random: Random,
  ids: readonly number[],
  act: { update(id: number): Promise<unknown>; setDeleted(id: number, deleted: boolean): Promise<unknown>; tick(): Promise<void> },
) {
  for (const id of ids) {
    if (random.once(4)) await act.tick()
    if (random.once(4)) await act.update(id)
    if (random.once(4)) await act.setDeleted(id, true)
    if (random.once(3)) await act.update(id)
    if (random.once(8)) await act.setDeleted(id, false)
  }
}

export const lists: Record<string, Case> = {
  "Any page of images is what its filter and its reader's eyes leave": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(1)
    const { userIds, groupIds, draws } = await fill(store, random, 300)
    const toRow = (draw: Draw) => imageRow(draw.userId, { name: draw.name, comment: draw.comment, isPublished: draw.published })
    const ids = await Promise.all(draws.map(async (draw) => (await store.change((tx) => tx.images.insert(toRow(draw)))).id))
    await disturb(random, ids, {
      update: (id) =>
        store.change((tx) => tx.images.update(id, { userId: random.pick(userIds), isPublished: random.once(2), name: random.pick(names) })),
      setDeleted: (id, deleted) => store.change((tx) => tx.images.setDeleted(id, deleted)),
      tick: () => clock.advance(1000),
    })
    const owners = new Map((await store.images.getMany(ids)).map((row) => [row.id, row.userId]))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await give({ store, clock, random }, "image", { ids, userIds, groupIds, ownerOf })
    const rows = (await store.images.getMany(ids)).map((row) => ({ ...row, groupId: 0, published: row.isPublished }))
    const list: Setting["list"] = (filter, viewer, page) => store.images.list(filter, viewer, page)
    await comparePages({ rows, grants, userIds, groupIds, list, field: { name: "name", published: "isPublished" }, grouped: false }, 2)
  },

  "Any page of datasets is what its filter and its reader's eyes leave": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(3)
    const { userIds, groupIds, draws } = await fill(store, random, 200)
    const toRow = (draw: Draw) => dataRow(draw.userId, { name: draw.name, comment: draw.comment, isPublished: draw.published })
    const ids = await Promise.all(draws.map(async (draw) => (await store.change((tx) => tx.data.insert(toRow(draw)))).id))
    await disturb(random, ids, {
      update: (id) => store.change((tx) => tx.data.update(id, { userId: random.pick(userIds), isPublished: random.once(2) })),
      setDeleted: (id, deleted) => store.change((tx) => tx.data.setDeleted(id, deleted)),
      tick: () => clock.advance(1000),
    })
    const owners = new Map((await store.data.getMany(ids)).map((row) => [row.id, row.userId]))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await give({ store, clock, random }, "data", { ids, userIds, groupIds, ownerOf })
    const rows = (await store.data.getMany(ids)).map((row) => ({ ...row, groupId: 0, published: row.isPublished }))
    const list: Setting["list"] = (filter, viewer, page) => store.data.list(filter, viewer, page)
    await comparePages({ rows, grants, userIds, groupIds, list, field: { name: "name", published: "isPublished" }, grouped: false }, 4)
  },

  "Any page of projects is what its filter and its reader's eyes leave": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(5)
    const { userIds, groupIds, draws } = await fill(store, random, 300)
    const image = await store.change((tx) => tx.images.insert(imageRow(userIds[0] ?? 0)))
    const toRow = (draw: Draw) =>
      projectRow(draw.userId, image.id, { projectName: draw.name, comment: draw.comment, isPublic: draw.published, groupId: draw.groupId })
    const ids = await Promise.all(draws.map(async (draw) => (await store.change((tx) => tx.projects.insert(toRow(draw)))).id))
    await disturb(random, ids, {
      update: (id) =>
        store.change((tx) =>
          tx.projects.update(id, { userId: random.pick(userIds), isPublic: random.once(2), groupId: random.pick([0, ...groupIds]) }),
        ),
      setDeleted: (id, deleted) => store.change((tx) => tx.projects.setDeleted(id, deleted)),
      tick: () => clock.advance(1000),
    })
    const owners = new Map((await store.projects.getMany(ids)).map((row) => [row.id, row.userId]))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await give({ store, clock, random }, "project", { ids, userIds, groupIds, ownerOf })
    const rows = (await store.projects.getMany(ids)).map((row) => ({ ...row, name: row.projectName, published: row.isPublic }))
    const list: Setting["list"] = (filter, viewer, page) => store.projects.list(filter, viewer, page)
    await comparePages({ rows, grants, userIds, groupIds, list, field: { name: "projectName", published: "isPublic" }, grouped: true }, 6)
  },

  "Pages far from both ends of a long list are found by its blocks": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(7)
    const { userIds, groupIds } = await fill(store, random, 0)
    const image = await store.change((tx) => tx.images.insert(imageRow(userIds[0] ?? 0)))
    const ids: number[] = []
    const addOne = ({ userId, groupId, name, published }: Draw) =>
      store.change((tx) => tx.projects.insert(projectRow(userId, image.id, { projectName: name, isPublic: published, groupId })))
    const add = async (count: number, draw: () => Draw) => {
      for (const row of await Promise.all(Array.from({ length: count }, () => addOne(draw())))) ids.push(row.id)
    }
    const mixed = (): Draw => ({
      userId: random.pick(userIds),
      groupId: random.pick([0, ...groupIds]),
      name: random.pick(names),
      comment: "",
      published: random.once(2),
    })
    // A block and more that is full of one class, so that others have a hole there.
    const lonely = (): Draw => ({ ...mixed(), userId: userIds[4] ?? 0, groupId: 0, published: false })
    await add(3_000, mixed)
    await add(6_000, lonely)
    await add(5_000, mixed)
    await store.change(async (tx) => {
      for (const id of ids) if (random.once(10)) await tx.projects.setDeleted(id, true)
    })
    const owners = new Map((await store.projects.getMany(ids)).map((row) => [row.id, row.userId]))
    const some = ids.filter(() => random.once(40))
    const grants = await give({ store, clock, random }, "project", {
      ids: some,
      userIds,
      groupIds,
      ownerOf: (id) => owners.get(id) as number,
    })
    const live = (await store.projects.getMany(ids)).filter((row) => row.deletedAt === null).reverse()
    const viewers = [
      { userId: 0, groupIds: [], everything: true },
      ...[0, 1, 2, 3].map((n) => ({ userId: userIds[n] ?? 0, groupIds: groupIds.slice(0, n), everything: false })),
      { userId: userIds[4] ?? 0, groupIds, everything: false },
      // Nearly all that they have lies in the hole of the others.
      { userId: userIds[4] ?? 0, groupIds: [], everything: false },
    ]
    for (const viewer of viewers) {
      for (const isPublic of [undefined, true, false]) {
        const rows = live.filter((row) => {
          const seen = { ...row, name: row.projectName, published: row.isPublic }
          const isSeen = visible({ grants }, seen, viewer, false)
          return isSeen && (isPublic === undefined || row.isPublic === isPublic)
        })
        const filter = isPublic === undefined ? {} : { where: { isPublic } }
        for (const pageSize of [7, 200]) {
          for (let round = 0; round < 25; round += 1) {
            const page = 1 + random.below(Math.ceil(rows.length / pageSize))
            const wanted = rows.slice((page - 1) * pageSize, page * pageSize).map((row) => row.id)
            const found = await store.projects.list(filter, viewer, { page, pageSize })
            const told = JSON.stringify({ viewer, isPublic, page, pageSize })
            assert.equal(found.total, rows.length, told)
            assert.deepEqual(
              found.rows.map((row) => row.id),
              wanted,
              told,
            )
          }
        }
      }
    }
  },

  "a search finds what holds its words, also after rows changed, moved or went": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(11)
    const { userIds, groupIds } = await fill(store, random, 0)
    const image = await store.change((tx) => tx.images.insert(imageRow(userIds[0] ?? 0)))
    const texts = ["Straße", "STRAẞE", "alphabet", "zeta river", 'a "quoted" word', "100%", "ab"]
    const project = () =>
      projectRow(random.pick(userIds), image.id, {
        projectName: random.pick(texts),
        comment: random.once(200) ? "a needle" : "common",
        isPublic: random.once(2),
        groupId: random.pick([0, ...groupIds]),
      })
    const ids: number[] = []
    // More than a block of IDs, and more than an index is asked for.
    const made = await Promise.all(Array.from({ length: 5_000 }, () => store.change((tx) => tx.projects.insert(project()))))
    ids.push(...made.map((row) => row.id))
    const viewers = [
      { userId: 0, groupIds: [], everything: true },
      { userId: userIds[1] ?? 0, groupIds: groupIds.slice(0, 2), everything: false },
    ]
    const searches = [
      ["common"],
      ["needle"],
      ["straße"],
      ["STRASSE", "needle"],
      ["quoted"],
      ['"quoted"'],
      ["100%"],
      ["ab"],
      ["e"],
      ["nothing"],
    ]
    const check = async () => {
      const live = (await store.projects.getMany(ids)).filter((row) => row.deletedAt === null).reverse()
      for (const viewer of viewers) {
        for (const words of searches) {
          const rows = live.filter((row) => {
            const seen = { ...row, name: row.projectName, published: row.isPublic }
            const text = fold(`${row.projectName}\n${row.comment}`)
            return visible({ grants: [] }, seen, viewer, false) && words.every((word) => text.includes(fold(word)))
          })
          const pages = Math.ceil(rows.length / 20)
          for (const page of [1, 2, 1 + random.below(pages + 1), pages]) {
            if (page < 1) continue
            for (const descending of [true, false]) {
              const wanted = descending ? rows : rows.toReversed()
              const found = await store.projects.list({ words, sort: { by: "id", descending } }, viewer, { page, pageSize: 20 })
              const told = JSON.stringify({ viewer, words, page, descending })
              assert.equal(found.total, rows.length, told)
              const expected = wanted.slice((page - 1) * 20, page * 20).map((row) => row.id)
              assert.deepEqual(
                found.rows.map((row) => row.id),
                expected,
                told,
              )
            }
          }
        }
      }
    }
    await check()
    for (let round = 0; round < 3; round += 1) {
      for (let step = 0; step < 40; step += 1) await clock.advance(5_000)
      await check()
      const some = ids.filter(() => random.once(round === 0 ? 500 : 20))
      for (const id of some) {
        await store.change(async (tx) => {
          if (random.once(4)) await tx.projects.setDeleted(id, true)
          else if (random.once(3)) await tx.projects.update(id, { projectName: random.pick(texts), comment: random.pick(["", "a needle"]) })
          else await tx.projects.update(id, { isPublic: random.once(2), userId: random.pick(userIds) })
        })
      }
      ids.push((await store.change((tx) => tx.projects.insert(project()))).id)
      await check()
    }
  },

  "A field that cannot be compared with is the caller's mistake": async ({ open }) => {
    await using store = await open()
    const viewer = { userId: 1, groupIds: [], everything: true }
    const wrong = store.images.list({ where: { passwordHash: "x" } as never }, viewer, { page: 1, pageSize: 1 })
    await assert.rejects(wrong, /The field passwordHash of images cannot be compared with/)
  },
}
