import assert from "node:assert/strict"
import { unlimited } from "#contract"
import { unrestrictedViewer } from "../../viewer.ts"
import { addImage, addProject, addUser, dataRow, groupRow, imageRow, projectRow, userRow } from "../samples.ts"
import type { Case } from "./case.ts"

const odd = 'Größe 🎈 ‘x’ "y" \\ % _ $1 ? :a 漢字 \u0301 \r\n\t'

export const rowCases: Record<string, Case> = {
  "an image is read as it was stored": async ({ open, clock }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const input = imageRow(ann.id, {
      name: odd,
      image: "a/b:c",
      comment: odd,
      command: '["a"]',
      env: "A=1\nB=2",
      port: "80/tcp",
      isPublished: true,
      isTrusted: true,
      writablePaths: ["/", odd],
      keepPresent: true,
      doc: odd.repeat(6000),
    })
    const row = await store.change((tx) => tx.images.insert(input))
    const now = clock.now()
    assert.deepEqual(row, { ...input, id: row.id, userName: "ann", createdAt: now, updatedAt: now, deletedAt: null, version: 1 })
    assert.deepEqual(await store.images.get(row.id), row)
    assert.deepEqual(await store.images.getMany([row.id, 999]), [row])
  },

  "a dataset is read as it was stored": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const input = dataRow(ann.id, { name: odd, comment: odd, doc: odd, accessInfo: `/users/ann/${odd}`, isPublished: true })
    const row = await store.change((tx) => tx.data.insert(input))
    assert.deepEqual(row, { ...row, ...input, userName: "ann" })
    assert.deepEqual(await store.data.get(row.id), row)
  },

  "a project is read as it was stored, with its links in order": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const image = await addImage(store, ann.id)
    const group = await store.change((tx) => tx.groups.insert(groupRow("team")))
    const data = await Promise.all(["c", "a", "b"].map((name) => store.change((tx) => tx.data.insert(dataRow(ann.id, { name })))))
    const input = projectRow(ann.id, image.id, {
      projectName: odd,
      groupId: group.id,
      type: "vscode",
      comment: odd,
      doc: odd,
      isPublic: true,
      isTrusted: true,
      userPath: "/u",
      codePath: "/c",
      modelPath: "/m",
      startMinutes: 30,
      idleMinutes: 60,
      maxRunHours: 24,
    })
    const row = await store.change((tx) => tx.projects.insert(input))
    assert.deepEqual(row, { ...row, ...input, userName: "ann", groupName: "team" })
    const other = await addProject(store, { userId: ann.id, imageId: image.id })
    assert.deepEqual([other.groupId, other.groupName], [0, ""])
    const links = data.map(({ id }, i) => ({ dataId: id, mountPath: i === 1 ? "" : `/m${i}${odd}` }))
    await store.change((tx) => tx.projects.setLinks(row.id, links))
    await store.change((tx) => tx.projects.setLinks(other.id, links.slice(0, 1)))
    assert.deepEqual(await store.projects.links([other.id, row.id, 99]), [
      ...links.map((link) => ({ projectId: row.id, ...link })),
      { projectId: other.id, ...links[0] },
    ])
    await store.change((tx) => tx.projects.setLinks(row.id, links.toReversed()))
    assert.deepEqual(
      (await store.projects.links([row.id])).map((link) => link.dataId),
      data.map(({ id }) => id).toReversed(),
    )
    await store.change((tx) => tx.projects.setLinks(row.id, []))
    assert.deepEqual(await store.projects.links([row.id]), [])
    assert.deepEqual(await store.projects.links([]), [])
  },

  "a person and a group are read as they were stored": async ({ open }) => {
    await using store = await open()
    const limits = { ...unlimited, MaxRuns: 3, MaxDisk: 0 }
    const person = userRow("ann", { passwordHash: "$argon2id$x", email: "a@b", comment: odd, isAdmin: true, isDisabled: true, limits })
    const ann = await store.change((tx) => tx.users.insert(person))
    assert.deepEqual(ann, { ...ann, ...person })
    assert.deepEqual(await store.users.byName("ann"), ann)
    assert.equal(await store.users.byName("Ann"), undefined)
    const team = groupRow("team", { comment: odd, limits, totalLimits: { ...unlimited, MaxGpus: 8 } })
    const group = await store.change((tx) => tx.groups.insert(team))
    assert.deepEqual(group, { ...group, ...team })
    assert.deepEqual(await store.groups.byName("team"), group)
  },

  "an update changes the given fields, the version and the time": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const row = await addImage(store, ann.id, { name: "old", comment: "kept" })
    await clock.advance(5)
    const changed = await store.change((tx) => tx.images.update(row.id, { name: "new", userId: bob.id, isPublished: true }))
    const expected = { ...row, name: "new", userId: bob.id, userName: "bob", isPublished: true, version: 2, updatedAt: clock.now() }
    assert.deepEqual(changed, expected)
    assert.deepEqual(await store.images.get(row.id), expected)
    assert.equal(await store.change((tx) => tx.images.update(999, { name: "x" })), undefined)
    assert.equal((await store.change((tx) => tx.images.update(row.id, {})))?.version, 3)
  },

  "names of people and groups never change": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const group = await store.change((tx) => tx.groups.insert(groupRow("team")))
    await store.change((tx) => tx.users.update(ann.id, { userName: "eve", comment: "c" }))
    await store.change((tx) => tx.groups.update(group.id, { groupName: "crew", comment: "c" }))
    assert.deepEqual([(await store.users.get(ann.id))?.userName, (await store.users.get(ann.id))?.comment], ["ann", "c"])
    assert.deepEqual([(await store.groups.get(group.id))?.groupName, (await store.groups.get(group.id))?.comment], ["team", "c"])
    const words = await store.users.list({ words: ["ann"] }, { page: 1, pageSize: 5 })
    assert.equal(words.total, 1)
  },

  "a deleted row is read by its ID and can be restored": async ({ open, clock }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const row = await addImage(store, ann.id)
    await clock.advance(7)
    const deleted = await store.change((tx) => tx.images.setDeleted(row.id, true))
    assert.deepEqual(deleted, { ...row, deletedAt: clock.now(), updatedAt: clock.now(), version: 2 })
    assert.deepEqual(await store.images.get(row.id), deleted)
    const restored = await store.change((tx) => tx.images.setDeleted(row.id, false))
    assert.deepEqual([restored?.deletedAt, restored?.version], [null, 3])
    assert.equal(await store.change((tx) => tx.images.setDeleted(999, true)), undefined)
  },

  "numbers that are no ID find no row": async ({ open }) => {
    await using store = await open()
    await addUser(store, "ann")
    for (const id of [0, -1, 1.5, Number.NaN, 2 ** 53, 1e300, Number.POSITIVE_INFINITY]) {
      assert.equal(await store.users.get(id), undefined)
      assert.deepEqual(await store.images.getMany([id]), [])
      assert.equal(await store.runs.get(id), undefined)
      assert.equal(await store.tokens.get(id), undefined)
    }
  },

  "texts with characters that a database cannot store find no row": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    await addImage(store, ann.id, { name: "a" })
    for (const text of ["a\0", "\0", "ann\0", "\ud800", "a\udfff"]) {
      assert.equal(await store.users.byName(text), undefined)
      assert.equal(await store.groups.byName(text), undefined)
      assert.equal(await store.data.visibleBelow(`/${text}`, unrestrictedViewer), false)
      assert.deepEqual(await store.data.overlapping(`/${text}`), [])
      for (const filter of [{ where: { name: text } }, { where: { userName: text } }, { words: [text] }]) {
        assert.equal((await store.images.list(filter, unrestrictedViewer, { page: 1, pageSize: 5 })).total, 0)
      }
    }
  },

  "IDs grow and are never reused": async ({ open }) => {
    await using store = await open()
    const ann = await addUser(store, "ann")
    const token = (hash: string) =>
      store.change((tx) => tx.tokens.insert({ userId: ann.id, name: "t", hash, expiresAt: null, scopes: ["read"] }))
    const first = await token("1")
    assert.equal(await store.change((tx) => tx.tokens.delete(first.id)), true)
    assert.ok((await token("2")).id > first.id)
  },
}
