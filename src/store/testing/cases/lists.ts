import assert from "node:assert/strict"
import { seededRandom } from "../../../../test/fixtures/random.ts"
import { dataRow, imageRow, projectRow } from "../samples.ts"
import type { Case } from "./case.ts"
import { addGrants, changeRandomly, comparePages, type ListModel, type RandomRow, randomRows, sampleNames } from "./list-model.ts"

export const listCases: Record<string, Case> = {
  "any page of images has the rows that match the filter and that the viewer sees": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(1)
    const { userIds, groupIds, drawn } = await randomRows(store, random, 300)
    const toRow = (draw: RandomRow) => imageRow(draw.userId, { name: draw.name, comment: draw.comment, isPublished: draw.published })
    const ids = await Promise.all(drawn.map(async (draw) => (await store.change((tx) => tx.images.insert(toRow(draw)))).id))
    await changeRandomly(random, ids, {
      update: (id) =>
        store.change((tx) =>
          tx.images.update(id, { userId: random.pick(userIds), isPublished: random.once(2), name: random.pick(sampleNames) }),
        ),
      setDeleted: (id, deleted) => store.change((tx) => tx.images.setDeleted(id, deleted)),
      tick: () => clock.advance(1000),
    })
    const owners = new Map((await store.images.getMany(ids)).map((row) => [row.id, row.userId]))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await addGrants({ store, clock, random }, "image", { ids, userIds, groupIds, ownerOf })
    const rows = (await store.images.getMany(ids)).map((row) => ({ ...row, groupId: 0, published: row.isPublished }))
    const list: ListModel["list"] = (filter, viewer, page) => store.images.list(filter, viewer, page)
    await comparePages({ rows, grants, userIds, groupIds, list, field: { name: "name", published: "isPublished" }, grouped: false }, 2)
  },

  "any page of datasets has the rows that match the filter and that the viewer sees": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(3)
    const { userIds, groupIds, drawn } = await randomRows(store, random, 200)
    const toRow = (draw: RandomRow) => dataRow(draw.userId, { name: draw.name, comment: draw.comment, isPublished: draw.published })
    const ids = await Promise.all(drawn.map(async (draw) => (await store.change((tx) => tx.data.insert(toRow(draw)))).id))
    await changeRandomly(random, ids, {
      update: (id) => store.change((tx) => tx.data.update(id, { userId: random.pick(userIds), isPublished: random.once(2) })),
      setDeleted: (id, deleted) => store.change((tx) => tx.data.setDeleted(id, deleted)),
      tick: () => clock.advance(1000),
    })
    const owners = new Map((await store.data.getMany(ids)).map((row) => [row.id, row.userId]))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await addGrants({ store, clock, random }, "data", { ids, userIds, groupIds, ownerOf })
    const rows = (await store.data.getMany(ids)).map((row) => ({ ...row, groupId: 0, published: row.isPublished }))
    const list: ListModel["list"] = (filter, viewer, page) => store.data.list(filter, viewer, page)
    await comparePages({ rows, grants, userIds, groupIds, list, field: { name: "name", published: "isPublished" }, grouped: false }, 4)
  },

  "any page of projects has the rows that match the filter and that the viewer sees": async ({ open, clock }) => {
    await using store = await open()
    const random = seededRandom(5)
    const { userIds, groupIds, drawn } = await randomRows(store, random, 300)
    const image = await store.change((tx) => tx.images.insert(imageRow(userIds[0] ?? 0)))
    const toRow = (draw: RandomRow) =>
      projectRow(draw.userId, image.id, { projectName: draw.name, comment: draw.comment, isPublic: draw.published, groupId: draw.groupId })
    const ids = await Promise.all(drawn.map(async (draw) => (await store.change((tx) => tx.projects.insert(toRow(draw)))).id))
    await changeRandomly(random, ids, {
      update: (id) =>
        store.change((tx) =>
          tx.projects.update(id, { userId: random.pick(userIds), isPublic: random.once(2), groupId: random.pick([0, ...groupIds]) }),
        ),
      setDeleted: (id, deleted) => store.change((tx) => tx.projects.setDeleted(id, deleted)),
      tick: () => clock.advance(1000),
    })
    const owners = new Map((await store.projects.getMany(ids)).map((row) => [row.id, row.userId]))
    const ownerOf = (id: number) => owners.get(id) as number
    const grants = await addGrants({ store, clock, random }, "project", { ids, userIds, groupIds, ownerOf })
    const rows = (await store.projects.getMany(ids)).map((row) => ({ ...row, name: row.projectName, published: row.isPublic }))
    const list: ListModel["list"] = (filter, viewer, page) => store.projects.list(filter, viewer, page)
    await comparePages({ rows, grants, userIds, groupIds, list, field: { name: "projectName", published: "isPublic" }, grouped: true }, 6)
  },

  "a list throws a `TypeError` for a field that cannot be compared": async ({ open }) => {
    await using store = await open()
    const viewer = { userId: 1, groupIds: [], seesAll: true }
    const wrong = store.images.list({ where: { passwordHash: "x" } as never }, viewer, { page: 1, pageSize: 1 })
    await assert.rejects(wrong, /The field passwordHash of images cannot be compared with/)
  },
}
