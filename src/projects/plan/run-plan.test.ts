import assert from "node:assert/strict"
import { test } from "node:test"
import type { Caller } from "#access"
import { systemClock } from "#kit"
import type { RunRow } from "#store"
import { recordQueries } from "../../../test/fixtures/recorded-queries.ts"
import { aStoredProject } from "../../../test/fixtures/stored-project.ts"
import { replanRun } from "./replan.ts"
import { planRun } from "./run-plan.ts"

/** Runs the work, and asserts that it reads tables but no documentation. */
async function assertReadsNoDoc(work: () => Promise<unknown>): Promise<void> {
  const queries = await recordQueries(work)
  for (const table of ["images", "datasets"]) assert.ok(queries.some((sql) => sql.includes(`"${table}"`)))
  assert.deepEqual(
    queries.filter((sql) => sql.includes('."doc"')),
    [],
  )
}

function starterOf({ id, userName }: { id: number; userName: string }): Caller {
  return {
    ...{ userId: id, userName, isAdmin: false, groupIds: [], groupNames: [], scopes: ["read", "write"] },
    credential: { kind: "session", id: "s" },
  }
}

test("a plan reads no documentation of its image and of the datasets that it mounts", async () => {
  await using stored = await aStoredProject()
  const { store, owner, dataset, project } = stored
  const starter = starterOf(owner)
  await assertReadsNoDoc(async () => {
    const { plan } = await planRun(store, { starter, project, internetGroups: [] })
    assert.ok(plan.mounts.some(({ source }) => source === dataset.accessInfo))
    await planRun(store, { starter, project, internetGroups: [], existing: plan })
  })
})

test("a plan searches for the datasets in a directory once, however many of its datasets contain each other", async () => {
  await using stored = await aStoredProject()
  const { store, owner, project } = stored
  const searches = async () => {
    const queries = await recordQueries(() => planRun(store, { starter: starterOf(owner), project, internetGroups: [] }))
    return queries.filter((sql) => sql.includes("access_key")).length
  }
  const before = await searches()
  assert.ok(before > 0)
  await store.change(async (tx) => {
    const row = { name: "n", comment: "", doc: "", isPublished: false, userId: owner.id, type: "dir" } as const
    const links: { dataId: number; mountPath: string }[] = []
    for (let i = 0; i < 20; i += 1) {
      const { id } = await tx.data.insert({ ...row, accessInfo: `/users/ann/table${"/in".repeat(i)}` })
      links.push({ dataId: id, mountPath: `/data/${i}` })
    }
    await tx.projects.setLinks(project.id, links)
  })
  assert.equal(await searches(), before)
})

test("a plan takes as many queries however many people once could write to its datasets", async () => {
  await using stored = await aStoredProject()
  const { store, owner, project, dataset } = stored
  const plan = () => planRun(store, { starter: starterOf(owner), project, internetGroups: [] })
  const before = (await recordQueries(plan)).length
  const own = (await plan()).plan.authors
  const admin = await stored.person("admin", null, { isAdmin: true })
  const grant = {
    resourceType: "data",
    resourceId: dataset.id,
    groupId: 0,
    access: "write",
    ownerId: owner.id,
    createdBy: owner.id,
  } as const
  const grantTo = (userId: number) => store.change((tx) => tx.grants.put({ ...grant, userId, expiresAt: null }))
  await grantTo(admin.id)
  assert.equal((await plan()).plan.authors, own)
  for (let i = 0; i < 10; i += 1) await grantTo((await stored.person(`p${i}`, null)).id)
  assert.notEqual((await plan()).plan.authors, own)
  assert.equal((await recordQueries(plan)).length, before)
})

test("a run is planned again without the documentation of its project", async () => {
  await using stored = await aStoredProject()
  const { store, run, dataset } = stored
  const row = (await store.runs.get(run.id)) as RunRow
  await assertReadsNoDoc(async () => {
    const replanned = await replanRun({ clock: systemClock, internetGroups: [] }, store, row)
    assert.ok("plan" in replanned && replanned.plan.mounts.some(({ source }) => source === dataset.accessInfo))
  })
})

test("a run that is planned again asks the database each question once", async () => {
  await using stored = await aStoredProject()
  const { store, run } = stored
  const row = (await store.runs.get(run.id)) as RunRow
  const queries = await recordQueries(async () => {
    assert.ok("plan" in (await replanRun({ clock: systemClock, internetGroups: [] }, store, row)))
  })
  // The grants on project and image are read by one statement each.
  const others = queries.filter((sql) => !sql.includes('from "grants"'))
  assert.deepEqual(
    others.filter((sql, n) => others.indexOf(sql) !== n),
    [],
  )
})
