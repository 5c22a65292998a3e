import assert from "node:assert/strict"
import type { ManualClock } from "#kit"
import { type Random, seededRandom } from "../../../../test/fixtures/random.ts"
import { fold } from "../../fold.ts"
import type { GrantRow, RowPage, RowPageRequest, Viewer } from "../../rows.ts"
import type { ResourceFilter, Store } from "../../store.ts"
import { addUser, groupRow } from "../samples.ts"

/** Names that fold, sort or match in unusual ways. */
export const sampleNames = [
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

/** The fields of rows that lists of all tables use. */
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

export interface ListModel {
  rows: Row[]
  grants: readonly ExpectedGrant[]
  userIds: number[]
  groupIds: number[]
  list(filter: ResourceFilter<never>, viewer: Viewer, page: RowPageRequest): Promise<RowPage<{ id: number }>>
  /** Names of fields in this table. */
  field: { name: string; published: string }
  grouped: boolean
}

const bytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b))

export interface ExpectedGrant {
  resourceId: number
  userId: number
  groupId: number
  isInForce: boolean
}

/**
 * Grants access to some of the resources, to people and groups. Some grants expire before this
 * resolves, and a few are revoked.
 */
export async function addGrants(
  context: { store: Store; clock: ManualClock; random: Random },
  type: GrantRow["resourceType"],
  parts: { ids: readonly number[]; userIds: readonly number[]; groupIds: readonly number[]; ownerOf(id: number): number },
): Promise<ExpectedGrant[]> {
  const { store, clock, random } = context
  const grants = new Map<string, ExpectedGrant>()
  for (const resourceId of parts.ids.filter(() => random.once(3))) {
    const ofGroup = random.once(3)
    const [userId, groupId] = ofGroup ? [0, random.pick(parts.groupIds)] : [random.pick(parts.userIds), 0]
    const isInForce = !random.once(4)
    const row = {
      resourceType: type,
      resourceId,
      ownerId: parts.ownerOf(resourceId),
      userId,
      groupId,
      access: "read",
      createdBy: parts.userIds[0],
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

const isGranted = (grants: readonly ExpectedGrant[], row: Row, { userId, groupIds }: Viewer) =>
  grants.some((grant) => grant.isInForce && grant.resourceId === row.id && (grant.userId === userId || groupIds.includes(grant.groupId)))

export function isVisible({ grants }: Pick<ListModel, "grants">, row: Row, viewer: Viewer, deleted: boolean): boolean {
  if (viewer.seesAll) return true
  if (row.userId === viewer.userId) return true
  if (deleted) return false
  return row.published || (row.groupId !== 0 && viewer.groupIds.includes(row.groupId)) || isGranted(grants, row, viewer)
}

interface ExpectedRows {
  filter: ResourceFilter<never>
  matches(row: Row): boolean
}

function randomFilter(random: Random, { field, rows, userIds, grouped, groupIds }: ListModel): ExpectedRows {
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
    const name = random.pick(sampleNames)
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
    const expected = Array.from({ length: 1 + random.below(3) }, () => random.pick(words))
    filter.words = expected
    tests.push((row) => expected.every((word) => fold(row.name).includes(fold(word)) || fold(row.comment).includes(fold(word))))
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

/** Compares random pages of the list with those of the model. */
export async function comparePages(model: ListModel, seed: number): Promise<void> {
  const random = seededRandom(seed)
  for (let round = 0; round < 250; round += 1) {
    const { filter, matches } = randomFilter(random, model)
    const groupIds = model.groupIds.filter(() => random.once(2))
    const viewer = { userId: random.pick(model.userIds), groupIds, seesAll: random.once(3) }
    const sort = { by: random.pick(["id", "id", "createdAt", "updatedAt", "name"] as const), descending: !random.once(3) }
    const usesDefault = sort.by === "id" && sort.descending && random.once(2)
    const expected = sorted(
      model.rows.filter((row) => matches(row) && isVisible(model, row, viewer, filter.deleted === true)),
      sort,
    )
    const pageSize = random.pick([1, 3, 20, 200])
    const pages = Math.ceil(expected.length / pageSize)
    for (const page of new Set([1, 2, 1 + random.below(pages + 1), pages - 1, pages, pages + 1, 2 ** 31 - 1])) {
      if (page < 1) continue
      const { rows, total } = await model.list(usesDefault ? filter : { ...filter, sort }, viewer, { page, pageSize })
      const details = JSON.stringify({ seed, round, filter, viewer, sort, page, pageSize })
      assert.equal(total, expected.length, details)
      assert.deepEqual(
        rows.map((row) => row.id),
        expected.slice((page - 1) * pageSize, page * pageSize).map((row) => row.id),
        details,
      )
    }
  }
}

export interface RandomRow {
  userId: number
  groupId: number
  name: string
  comment: string
  published: boolean
}

/** Adds people and groups, and returns random rows that belong to them. */
export async function randomRows(store: Store, random: Random, count: number) {
  const users = await Promise.all(["ann", "bob", "cat", "dan", "eve"].map((name) => addUser(store, name)))
  const groups = await Promise.all(["g1", "g2", "g3"].map((name) => store.change((tx) => tx.groups.insert(groupRow(name)))))
  const userIds = users.map((user) => user.id)
  const groupIds = groups.map((group) => group.id)
  const draw = (): RandomRow => ({
    userId: random.pick(userIds.slice(0, 4)),
    groupId: random.pick([0, 0, ...groupIds]),
    name: random.pick(sampleNames),
    comment: random.once(2) ? "" : `comment ${random.pick(sampleNames)}`,
    published: random.once(3),
  })
  return { userIds, groupIds, drawn: Array.from({ length: count }, draw) }
}

export async function changeRandomly(
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
