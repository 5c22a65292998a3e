import assert from "node:assert/strict"
import { type Random, seededRandom } from "../../../../test/fixtures/random.ts"
import { fold } from "../../fold.ts"
import type { ProjectRow, Viewer } from "../../rows.ts"
import type { Store } from "../../store.ts"
import { imageRow, projectRow } from "../samples.ts"
import type { Case } from "./case.ts"
import { addGrants, type ExpectedGrant, isVisible, type RandomRow, randomRows, sampleNames } from "./list-model.ts"

interface People {
  userIds: number[]
  groupIds: number[]
}

/** One class has more than a block of rows in the middle, so the other classes have a gap. */
async function addUnevenProjects(store: Store, random: Random, { userIds, groupIds }: People): Promise<number[]> {
  const image = await store.change((tx) => tx.images.insert(imageRow(userIds[0] ?? 0)))
  const ids: number[] = []
  const addOne = ({ userId, groupId, name, published }: RandomRow) =>
    store.change((tx) => tx.projects.insert(projectRow(userId, image.id, { projectName: name, isPublic: published, groupId })))
  const add = async (count: number, draw: () => RandomRow) => {
    for (const row of await Promise.all(Array.from({ length: count }, () => addOne(draw())))) ids.push(row.id)
  }
  const mixed = (): RandomRow => ({
    userId: random.pick(userIds),
    groupId: random.pick([0, ...groupIds]),
    name: random.pick(sampleNames),
    comment: "",
    published: random.once(2),
  })
  const ofOneClass = (): RandomRow => ({ ...mixed(), userId: userIds[4] ?? 0, groupId: 0, published: false })
  await add(3_000, mixed)
  await add(6_000, ofOneClass)
  await add(5_000, mixed)
  return ids
}

async function liveProjects(store: Store, ids: readonly number[]): Promise<ProjectRow[]> {
  return (await store.projects.getMany(ids)).filter((row) => row.deletedAt === null).reverse()
}

function visibleProjects(rows: readonly ProjectRow[], viewer: Viewer, grants: readonly ExpectedGrant[] = []): ProjectRow[] {
  return rows.filter((row) => isVisible({ grants }, { ...row, name: row.projectName, published: row.isPublic }, viewer, false))
}

type ProjectFilter = Parameters<Store["projects"]["list"]>[0]

interface ExpectedPage {
  filter: ProjectFilter
  viewer: Viewer
  page: number
  pageSize: number
}

/** Compares one page with the rows of the whole list. */
async function comparePage(store: Store, rows: readonly ProjectRow[], { filter, viewer, page, pageSize }: ExpectedPage): Promise<void> {
  const found = await store.projects.list(filter, viewer, { page, pageSize })
  const details = JSON.stringify({ viewer, filter, page, pageSize })
  assert.equal(found.total, rows.length, details)
  assert.deepEqual(
    found.rows.map((row) => row.id),
    rows.slice((page - 1) * pageSize, page * pageSize).map((row) => row.id),
    details,
  )
}

const searches = [["common"], ["needle"], ["straße"], ["STRASSE", "needle"], ["quoted"], ['"quoted"'], ["100%"], ["ab"], ["e"], ["nothing"]]

async function compareSearches(store: Store, random: Random, { ids, viewers }: { ids: readonly number[]; viewers: readonly Viewer[] }) {
  const live = await liveProjects(store, ids)
  for (const viewer of viewers) {
    for (const words of searches) {
      const rows = visibleProjects(live, viewer).filter((row) => {
        const text = fold(`${row.projectName}\n${row.comment}`)
        return words.every((word) => text.includes(fold(word)))
      })
      const pages = Math.ceil(rows.length / 20)
      for (const page of [1, 2, 1 + random.below(pages + 1), pages]) {
        if (page < 1) continue
        for (const descending of [true, false]) {
          const filter = { words, sort: { by: "id", descending } } as const
          await comparePage(store, descending ? rows : rows.toReversed(), { filter, viewer, page, pageSize: 20 })
        }
      }
    }
  }
}

const texts = ["Straße", "STRAẞE", "alphabet", "zeta river", 'a "quoted" word', "100%", "ab"]

async function changeProjects(store: Store, random: Random, { ids, userIds }: { ids: readonly number[]; userIds: readonly number[] }) {
  for (const id of ids) {
    await store.change(async (tx) => {
      if (random.once(4)) await tx.projects.setDeleted(id, true)
      else if (random.once(3)) await tx.projects.update(id, { projectName: random.pick(texts), comment: random.pick(["", "a needle"]) })
      else await tx.projects.update(id, { isPublic: random.once(2), userId: random.pick(userIds) })
    })
  }
}

/** Lists and searches over more rows than a block of IDs has. */
export const longListCases: Record<string, Case> = {
  "any page of a long list has the right rows, far from both ends too": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(7)
    const { userIds, groupIds } = await randomRows(store, random, 0)
    const ids = await addUnevenProjects(store, random, { userIds, groupIds })
    await store.change(async (tx) => {
      for (const id of ids) if (random.once(10)) await tx.projects.setDeleted(id, true)
    })
    const owners = new Map((await store.projects.getMany(ids)).map((row) => [row.id, row.userId]))
    const some = ids.filter(() => random.once(40))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await addGrants({ store, clock, random }, "project", { ids: some, userIds, groupIds, ownerOf })
    const live = await liveProjects(store, ids)
    const viewers = [
      { userId: 0, groupIds: [], seesAll: true },
      ...[0, 1, 2, 3].map((n) => ({ userId: userIds[n] ?? 0, groupIds: groupIds.slice(0, n), seesAll: false })),
      { userId: userIds[4] ?? 0, groupIds, seesAll: false },
      // Nearly all of this viewer's rows are in the gap of the other classes.
      { userId: userIds[4] ?? 0, groupIds: [], seesAll: false },
    ]
    for (const viewer of viewers) {
      const seen = visibleProjects(live, viewer, grants)
      for (const isPublic of [undefined, true, false]) {
        const rows = seen.filter((row) => isPublic === undefined || row.isPublic === isPublic)
        const filter = isPublic === undefined ? {} : { where: { isPublic } }
        for (const pageSize of [7, 200]) {
          for (let round = 0; round < 8; round += 1) {
            const page = 1 + random.below(Math.ceil(rows.length / pageSize))
            await comparePage(store, rows, { filter, viewer, page, pageSize })
          }
        }
      }
    }
  },

  "a search finds the rows with its words, also after rows are changed, transferred or deleted": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(11)
    const { userIds, groupIds } = await randomRows(store, random, 0)
    const image = await store.change((tx) => tx.images.insert(imageRow(userIds[0] ?? 0)))
    const project = () =>
      projectRow(random.pick(userIds), image.id, {
        projectName: random.pick(texts),
        comment: random.once(200) ? "a needle" : "common",
        isPublic: random.once(2),
        groupId: random.pick([0, ...groupIds]),
      })
    // More than a block of IDs, and more candidates than a search asks an index for.
    const created = await Promise.all(Array.from({ length: 5_000 }, () => store.change((tx) => tx.projects.insert(project()))))
    const ids = created.map((row) => row.id)
    const viewers = [
      { userId: 0, groupIds: [], seesAll: true },
      { userId: userIds[1] ?? 0, groupIds: groupIds.slice(0, 2), seesAll: false },
    ]
    const compare = () => compareSearches(store, random, { ids, viewers })
    await compare()
    for (let round = 0; round < 2; round += 1) {
      for (let step = 0; step < 40; step += 1) await clock.advance(5_000)
      await compare()
      const some = ids.filter(() => random.once(round === 0 ? 500 : 20))
      await changeProjects(store, random, { ids: some, userIds })
      ids.push((await store.change((tx) => tx.projects.insert(project()))).id)
      await compare()
    }
  },
}
