import assert from "node:assert/strict"
import { DuplicateError } from "../../errors.ts"
import { addData, addImage, addProject, addUser, groupRow, userRow } from "../samples.ts"
import type { Case } from "./case.ts"

const page = { page: 1, pageSize: 10 }
const device = { address: "192.0.2.1", browser: "Mozilla/5.0 é" }

export const accountCases: Record<string, Case> = {
  "members of a group are listed in alphabetical order, without deleted people": async ({ open }) => {
    await using store = await open()
    const [cat, ann, bob] = [await addUser(store, "cat"), await addUser(store, "ann"), await addUser(store, "bob")]
    const [team, crew] = await store.change(async (tx) => [
      await tx.groups.insert(groupRow("team")),
      await tx.groups.insert(groupRow("crew")),
    ])
    await store.change((tx) => tx.groups.setMembers(team?.id ?? 0, [cat.id, ann.id, bob.id, ann.id]))
    await store.change((tx) => tx.groups.setMembers(crew?.id ?? 0, [ann.id]))
    assert.deepEqual(await store.groups.members(team?.id ?? 0), ["ann", "bob", "cat"])
    await store.change((tx) => tx.users.setDeleted(bob.id, true))
    assert.deepEqual(await store.groups.members(team?.id ?? 0), ["ann", "cat"])
    assert.deepEqual(
      (await store.groups.ofUser(ann.id)).map((group) => group.groupName),
      ["crew", "team"],
    )
    await store.change((tx) => tx.groups.setDeleted(crew?.id ?? 0, true))
    assert.deepEqual(
      (await store.groups.ofUser(ann.id)).map((group) => group.groupName),
      ["team"],
    )
    assert.deepEqual(
      (await store.groups.list({ memberId: cat.id }, page)).rows.map((group) => group.groupName),
      ["team"],
    )
    assert.equal((await store.groups.list({ memberId: 99 }, page)).total, 0)
    await store.change((tx) => tx.groups.setMembers(team?.id ?? 0, []))
    assert.deepEqual(await store.groups.members(team?.id ?? 0), [])
  },

  "`deleteOld` deletes all but a person's newest sessions": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const hashes = ["a", "b", "c", "d"].map((letter) => letter.repeat(64))
    for (const hash of hashes) {
      await store.change((tx) =>
        tx.sessions.insert({ hash, userId: hash.startsWith("a") ? bob.id : ann.id, expiresAt: clock.now() + 9_000, ...device }),
      )
      await clock.advance(1)
    }
    assert.equal(await store.change((tx) => tx.sessions.deleteOld(ann.id, 3)), 0)
    assert.equal(await store.change((tx) => tx.sessions.deleteOld(ann.id, 2)), 1)
    const left = await Promise.all(hashes.map((hash) => store.sessions.byHash(hash)))
    assert.deepEqual(
      left.map((session) => session !== undefined),
      [true, false, true, true],
    )
  },

  "`countOwned` counts a person's live and deleted resources": async ({ open }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const image = await addImage(store, ann.id)
    const removed = await addImage(store, ann.id, { isPublished: true })
    await addData(store, ann.id)
    await addProject(store, { userId: ann.id, imageId: image.id })
    const token = { userId: ann.id, name: "t", hash: "t".repeat(64), expiresAt: null, scopes: ["read"] }
    const grant = { resourceType: "image" as const, ownerId: ann.id, userId: bob.id, groupId: 0, access: "use" as const }
    await store.change(async (tx) => {
      await tx.tokens.insert(token)
      for (const { id } of [image, removed]) await tx.grants.put({ ...grant, resourceId: id, expiresAt: null, createdBy: ann.id })
    })
    assert.deepEqual(await store.users.countOwned(ann.id), { live: 7, deleted: 0 })
    await store.change((tx) => tx.images.setDeleted(removed.id, true))
    assert.deepEqual(await store.users.countOwned(ann.id), { live: 5, deleted: 2 })
    assert.deepEqual(await store.users.countOwned(bob.id), { live: 0, deleted: 0 })
    await addImage(store, bob.id)
    assert.deepEqual(await Promise.all([["ann", "bob", "nobody"], ["bob"], []].map((names) => store.users.countOwnedBy(names))), [6, 1, 0])
  },

  "`countTextBytes` adds up the long texts of a person's live and deleted resources": async ({ open }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const image = await addImage(store, ann.id, { doc: "é".repeat(10), env: "A=1", command: "run", comment: "not counted" })
    await addData(store, ann.id, { doc: "d".repeat(100_000), accessInfo: "/users/ann/data" })
    const paths = { userPath: "/u", codePath: "/c", modelPath: "/m" }
    await addProject(store, { userId: ann.id, imageId: image.id }, { doc: "p".repeat(30), ...paths })
    const bytes = 20 + 3 + 3 + 100_000 + 15 + 30 + 6
    assert.equal(await store.users.countTextBytes(ann.id), bytes)
    await store.change((tx) => tx.images.setDeleted(image.id, true))
    assert.equal(await store.users.countTextBytes(ann.id), bytes)
    assert.equal(await store.users.countTextBytes(bob.id), 0)
  },

  "`addMember` and `removeMember` change one member of a group": async ({ open }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const team = await store.change((tx) => tx.groups.insert(groupRow("team")))
    await store.change(async (tx) => {
      for (const user of [ann, bob, ann]) await tx.groups.addMember(team.id, user.id)
    })
    assert.deepEqual(await store.groups.members(team.id), ["ann", "bob"])
    await store.change((tx) => tx.groups.removeMember(team.id, ann.id))
    assert.deepEqual(await store.groups.members(team.id), ["bob"])
  },

  "a subject of an OpenID provider belongs to one person for ever": async ({ open }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const issuer = "https://id.example.org"
    await store.change((tx) => tx.subjects.insert({ issuer, subject: "s", userId: ann.id }))
    const repeated = store.change((tx) => tx.subjects.insert({ issuer, subject: "s", userId: bob.id }))
    await assert.rejects(repeated, (error) => error instanceof DuplicateError && error.unique === "openidSubject")
    await store.change((tx) => tx.subjects.insert({ issuer: "https://other.example.org", subject: "s", userId: bob.id }))
    assert.deepEqual([await store.subjects.userOf(issuer, "s"), await store.subjects.userOf(issuer, "S")], [ann.id, undefined])
    await store.change((tx) => tx.users.setDeleted(ann.id, true))
    assert.equal(await store.subjects.userOf(issuer, "s"), ann.id)
    assert.deepEqual(
      (await store.subjects.ofUser(ann.id)).map((row) => [row.issuer, row.subject, row.userId]),
      [[issuer, "s", ann.id]],
    )
  },

  "people are listed by words, flags and name, and counted with deleted people": async ({ open }) => {
    await using store = await open()
    for (const [name, isAdmin] of [
      ["bob", false],
      ["ann", true],
      ["zoe", true],
    ] as const) {
      await store.change((tx) => tx.users.insert(userRow(name, { isAdmin, comment: `About ${name}` })))
    }
    const names = async (filter: Parameters<typeof store.users.list>[0]) =>
      (await store.users.list(filter, page)).rows.map((user) => user.userName)
    assert.deepEqual(await names({}), ["zoe", "ann", "bob"])
    assert.deepEqual(await names({ sort: { by: "name", descending: false } }), ["ann", "bob", "zoe"])
    assert.deepEqual(await names({ where: { isAdmin: true } }), ["zoe", "ann"])
    assert.deepEqual(await names({ where: { userName: "bob" } }), ["bob"])
    assert.deepEqual(await names({ words: ["ABOUT", "zoe"] }), ["zoe"])
    const zoe = await store.users.byName("zoe")
    await store.change((tx) => tx.users.setDeleted(zoe?.id ?? 0, true))
    assert.deepEqual(await names({}), ["ann", "bob"])
    assert.deepEqual(await names({ deleted: true }), ["zoe"])
    assert.equal(await store.users.count(), 3)
  },

  "tokens are found by their hash, listed newest first, and deleted": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const add = (userId: number, hash: string) =>
      store.change((tx) => tx.tokens.insert({ userId, name: `n${hash}`, hash, expiresAt: 5, scopes: ["read", "run:4"] }))
    const first = await add(ann.id, "h1")
    const expected = {
      id: first.id,
      userId: ann.id,
      name: "nh1",
      hash: "h1",
      createdAt: clock.now(),
      expiresAt: 5,
      lastUsedAt: null,
      scopes: ["read", "run:4"],
    }
    assert.deepEqual(first, expected)
    assert.deepEqual(await store.tokens.byHash("h1"), expected)
    assert.deepEqual(await store.tokens.get(first.id), expected)
    await assert.rejects(add(bob.id, "h1"), (error) => error instanceof DuplicateError && error.unique === "tokenHash")
    await add(ann.id, "h2")
    await add(bob.id, "h3")
    await store.change((tx) => tx.tokens.markUsed([first.id], 77))
    assert.deepEqual(
      (await store.tokens.list(ann.id, page)).rows.map((token) => [token.hash, token.lastUsedAt]),
      [
        ["h2", null],
        ["h1", 77],
      ],
    )
    const second = await store.tokens.list(ann.id, { page: 2, pageSize: 1 })
    assert.deepEqual([second.total, second.rows.map((token) => token.hash)], [2, ["h1"]])
    assert.equal(await store.change((tx) => tx.tokens.delete(first.id)), true)
    assert.equal(await store.change((tx) => tx.tokens.delete(first.id)), false)
    await store.change((tx) => tx.tokens.deleteOfUser(ann.id))
    assert.equal(await store.tokens.byHash("h2"), undefined)
    assert.equal((await store.tokens.byHash("h3"))?.userId, bob.id)
  },

  "sessions are deleted one by one, all but one, or when they expire": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const add = (hash: string, userId: number, expiresAt: number) =>
      store.change((tx) => tx.sessions.insert({ hash, userId, expiresAt, ...device }))
    const session = await add("s1", ann.id, 100)
    const expected = { hash: "s1", userId: ann.id, userName: "ann", createdAt: clock.now(), expiresAt: 100, lastUsedAt: null, ...device }
    assert.deepEqual(session, { id: session.id, ...expected })
    assert.deepEqual(await store.sessions.byHash("s1"), session)
    assert.deepEqual(await store.sessions.get(session.id), session)
    await assert.rejects(add("s1", bob.id, 1), DuplicateError)
    await add("s2", ann.id, 200)
    await add("s3", ann.id, 300)
    await add("s4", bob.id, 50)
    const kept = await store.sessions.byHash("s2")
    const third = await store.sessions.byHash("s3")
    const ended = await store.change((tx) => tx.sessions.deleteOfUser(ann.id, kept?.hash))
    assert.deepEqual(new Set(ended), new Set([session.id, third?.id]))
    const left = async () => {
      const found = await Promise.all(["s1", "s2", "s3", "s4"].map((hash) => store.sessions.byHash(hash)))
      return found.filter((one) => one !== undefined).map((one) => one.hash)
    }
    assert.deepEqual(await left(), ["s2", "s4"])
    assert.equal(await store.change((tx) => tx.sessions.deleteExpired(50)), 1)
    assert.deepEqual(await left(), ["s2"])
    await store.change((tx) => tx.sessions.delete("s2"))
    assert.deepEqual(await left(), [])
    const last = await add("s5", ann.id, 1)
    assert.deepEqual(await store.change((tx) => tx.sessions.deleteOfUser(ann.id)), [last.id])
    assert.equal(await store.sessions.byHash("s5"), undefined)
  },

  "sessions are listed newest first, of one person or of everybody, until they expire": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const add = (hash: string, userId: number, lastsMs: number) =>
      store.change((tx) => tx.sessions.insert({ hash, userId, expiresAt: clock.now() + lastsMs, ...device }))
    const first = await add("s1", ann.id, 9_000)
    for (const [hash, id, lastsMs] of [
      ["s2", bob.id, 9_000],
      ["s3", ann.id, 1_000],
      ["s4", ann.id, 9_000],
    ] as const)
      await add(hash, id, lastsMs)
    await store.change((tx) => tx.sessions.markUsed([first.id], 77))
    const list = async (userId?: number, at = page) => {
      const { rows, total } = await store.sessions.list(userId, at)
      return [rows.map(({ hash, userName, lastUsedAt }) => [hash, userName, lastUsedAt].join()), total]
    }
    assert.deepEqual(await list(ann.id), [["s4,ann,", "s3,ann,", "s1,ann,77"], 3])
    assert.deepEqual(await list(), [["s4,ann,", "s3,ann,", "s2,bob,", "s1,ann,77"], 4])
    assert.deepEqual(await list(undefined, { page: 2, pageSize: 3 }), [["s1,ann,77"], 4])
    await clock.advance(1_000)
    assert.deepEqual(await list(ann.id), [["s4,ann,", "s1,ann,77"], 2])
  },

  "a token code is deleted once, with the older ones of its person, or when it expires": async ({ open, clock }) => {
    await using store = await open()
    const [ann, bob] = [await addUser(store, "ann"), await addUser(store, "bob")]
    const allowed = { credentialId: "session:s", challenge: "c", name: "n", tokenExpiresAt: null, scopes: ["read"] }
    const add = async (hash: string, userId: number, expiresAt: number) => {
      await clock.advance(1)
      await store.change((tx) => tx.tokenCodes.insert({ hash, userId, expiresAt, ...allowed }))
    }
    await add("c1", ann.id, 100)
    const row = { hash: "c1", userId: ann.id, createdAt: clock.now(), expiresAt: 100, ...allowed }
    assert.deepEqual(await store.tokenCodes.byHash("c1"), row)
    for (const hash of ["c2", "c3"]) await add(hash, ann.id, 300)
    await add("c4", bob.id, 50)
    const left = async () => {
      const found = await Promise.all(["c1", "c2", "c3", "c4"].map((hash) => store.tokenCodes.byHash(hash)))
      return found.filter((one) => one !== undefined).map((one) => one.hash)
    }
    assert.equal(await store.change((tx) => tx.tokenCodes.deleteOld(ann.id, 2)), 1)
    assert.deepEqual(await left(), ["c2", "c3", "c4"])
    assert.equal(await store.change((tx) => tx.tokenCodes.deleteExpired(50)), 1)
    assert.deepEqual(await left(), ["c2", "c3"])
    assert.equal(await store.change((tx) => tx.tokenCodes.delete("c2")), true)
    assert.equal(await store.change((tx) => tx.tokenCodes.delete("c2")), false)
    assert.deepEqual(await left(), ["c3"])
  },
}
