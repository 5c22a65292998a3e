import assert from "node:assert/strict"
import { describe, it } from "node:test"
import type { DataRow } from "#store"
import { basic, createIdentityFixture, type IdentityFixture } from "../../../test/fixtures/identity.ts"
import { recordQueries } from "../../../test/fixtures/recorded-queries.ts"
import { AuthenticationFailure, type Caller } from "../caller.ts"
import { type FileAccess, loadFileAccess, mountKeys, mountMode } from "./file-access.ts"

type Look = (caller: Caller, ...paths: string[]) => Promise<string[]>

/** `write own`, `write`, `read`, `traverse` or `none` for each path. */
function words({ level, canReplace: own }: FileAccess): string {
  return own ? `${level} own` : level
}

async function filesFixture() {
  const fixture = await createIdentityFixture()
  const people: Record<string, Caller> = {}
  for (const name of ["ann", "bob", "eve", "boss"]) {
    await fixture.person(name, "sesam", { isAdmin: name === "boss" })
    people[name] = await callerOf(fixture, basic(name, "sesam"))
  }
  const data = (owner: string, accessInfo: string, isPublished = false): Promise<DataRow> =>
    fixture.store.change((tx) =>
      tx.data.insert({ userId: who(people, owner).userId, type: "dir", name: "x", comment: "", doc: "", accessInfo, isPublished }),
    )
  const look: Look = async (caller, ...paths) => (await loadFileAccess(fixture.store, caller, paths)).map(words)
  return { fixture, data, look, ann: who(people, "ann"), bob: who(people, "bob"), eve: who(people, "eve"), boss: who(people, "boss") }
}

function who(people: Record<string, Caller>, name: string): Caller {
  const caller = people[name]
  assert.ok(caller, name)
  return caller
}

async function callerOf(fixture: IdentityFixture, header: string): Promise<Caller> {
  const caller = await fixture.identity.authenticate(header, undefined, "127.0.0.1")
  if (caller instanceof AuthenticationFailure) assert.fail(caller.message)
  return caller
}

describe("file access", () => {
  it("gives people access to their home and its content, not to other homes", async () => {
    const { fixture, look, ann, bob } = await filesFixture()
    await using _ = fixture
    const paths = ["/", "/users", "/users/ann", "/users/ann/a", "/users/ann/a/b"]
    assert.deepEqual(await look(ann, ...paths), ["traverse", "traverse", "write", "write own", "write own"])
    const beside = ["/users/bob", "/users/bob/a", "/users/annex", "/users/an", "/users/annex/a", "/use", "/elsewhere", "/users/bob/ann"]
    assert.deepEqual(await look(ann, ...beside), Array(beside.length).fill("none"))
    assert.deepEqual(await look(bob, "/users/ann", "/users/ann/a"), ["none", "none"])
  })

  it("tells owners and administrators from people with a grant to write", async () => {
    const { fixture, data, ann, bob, boss } = await filesFixture()
    await using _ = fixture
    const { id } = await data("ann", "/sets/shared")
    const grantee = { userId: bob.userId, groupId: 0, expiresAt: null, createdBy: ann.userId }
    await fixture.store.change((tx) =>
      tx.grants.put({ resourceType: "data", resourceId: id, ownerId: ann.userId, ...grantee, access: "write" }),
    )
    const who = await Promise.all([ann, bob, boss].map((caller) => loadFileAccess(fixture.store, caller, ["/sets/shared/file"])))
    assert.deepEqual(
      who.map(([access]) => [access?.level, access?.isOwner]),
      [
        ["write", true],
        ["write", undefined],
        ["write", true],
      ],
    )
  })

  it("shows a published dataset to others with its parent directories and nothing beside it", async () => {
    const { fixture, data, look, ann, bob } = await filesFixture()
    await using _ = fixture
    await data("ann", "/users/ann/sets/iris", true)
    await data("ann", "/users/ann/sets/secret")
    const paths = ["/users", "/users/ann", "/users/ann/sets", "/users/ann/sets/iris", "/users/ann/sets/iris/a/b", "/users/ann/sets/iris2"]
    assert.deepEqual(await look(bob, ...paths), ["traverse", "traverse", "traverse", "read", "read", "none"])
    assert.deepEqual(await look(bob, "/users/ann/sets/secret", "/users/ann/sets/secret/x", "/users/ann/other"), ["none", "none", "none"])
    assert.deepEqual(await look(ann, ...paths), ["traverse", "write", "write", "write", "write own", "write own"])
    for (const path of paths) assert.deepEqual(await look(bob, path), await look(bob, path, path).then((two) => two.slice(1)), path)
  })

  it("ends for others when a dataset is withdrawn or deleted; the home stays its owner's", async () => {
    const { fixture, data, look, ann, bob, boss } = await filesFixture()
    await using _ = fixture
    const withdrawn = await data("ann", "/users/ann/a", true)
    const deleted = await data("ann", "/users/ann/b", true)
    const outside = await data("ann", "/sets/c", true)
    const paths = ["/users/ann", "/users/ann/a", "/users/ann/b", "/sets", "/sets/c", "/sets/c/x"]
    assert.deepEqual(await look(bob, ...paths), ["traverse", "read", "read", "traverse", "read", "read"])
    assert.deepEqual(await look(ann, ...paths), ["write", "write", "write", "traverse", "write", "write own"])
    await fixture.store.change(async (tx) => {
      await tx.data.update(withdrawn.id, { isPublished: false })
      await tx.data.setDeleted(deleted.id, true)
      await tx.data.setDeleted(outside.id, true)
    })
    assert.deepEqual(await look(bob, ...paths), ["none", "none", "none", "none", "none", "none"])
    assert.deepEqual(await look(ann, ...paths), ["write", "write", "write own", "none", "none", "none"])
    assert.deepEqual(await look(boss, "/users/ann/b", "/sets/c"), ["write own", "write own"])
  })

  it("follows datasets that contain each other", async () => {
    const { fixture, data, look, ann, bob, eve } = await filesFixture()
    await using _ = fixture
    await data("ann", "/sets/all", true)
    await data("ann", "/sets/all/part/deep", true)
    await data("bob", "/sets/other/deep")
    assert.deepEqual(await look(eve, "/sets/all", "/sets/all/part", "/sets/all/part/deep", "/sets/all/part/deep/x"), Array(4).fill("read"))
    assert.deepEqual(await look(ann, "/sets/all", "/sets/all/part", "/sets/all/part/deep", "/sets/all/part/deep/x", "/sets/all/else"), [
      "write",
      "write",
      "write",
      "write own",
      "write own",
    ])
    assert.deepEqual(await look(bob, "/sets", "/sets/other", "/sets/other/deep", "/sets/other/x"), [
      "traverse",
      "traverse",
      "write",
      "none",
    ])
    assert.deepEqual(await look(eve, "/sets", "/sets/other", "/sets/other/deep"), ["traverse", "none", "none"])
  })

  it("lets nobody delete or move a home, a dataset's root or a directory above one", async () => {
    const { fixture, data, look, ann, boss } = await filesFixture()
    await using _ = fixture
    await data("ann", "/users/ann/x/y/set")
    await data("boss", "/sets/set")
    assert.deepEqual(await look(ann, "/users/ann", "/users/ann/x", "/users/ann/x/y", "/users/ann/x/y/set"), Array(4).fill("write"))
    assert.deepEqual(await look(ann, "/users/ann/x/y/set/z", "/users/ann/x/other"), ["write own", "write own"])
    assert.deepEqual(await look(boss, "/", "/users", "/users/ann", "/users/nobody", "/sets", "/sets/set", "/sets/set/a", "/free"), [
      "write",
      "write",
      "write",
      "write",
      "write",
      "write",
      "write own",
      "write own",
    ])
  })

  it("reads for a read-only token, and opens nothing for a run's token", async () => {
    const { fixture, data, look, ann, boss } = await filesFixture()
    await using _ = fixture
    await data("ann", "/sets/c")
    const paths = ["/", "/users/ann", "/users/ann/a", "/sets/c", "/sets/c/a"]
    const reader: Caller = { ...ann, scopes: ["read"] }
    assert.deepEqual(await look(reader, ...paths), ["traverse", "read", "read", "read", "read"])
    assert.deepEqual(await look({ ...boss, scopes: ["read"] }, ...paths), Array(5).fill("read"))
    for (const caller of [ann, boss]) assert.deepEqual(await look({ ...caller, scopes: ["run:1"] }, ...paths), Array(5).fill("none"))
  })

  it("reports when everything below has the same access", async () => {
    const { fixture, data, ann, bob, boss } = await filesFixture()
    await using _ = fixture
    assert.deepEqual(
      (await loadFileAccess(fixture.store, boss, ["/", "/users"])).map((access) => access.appliesBelow),
      [undefined, undefined],
      "homes are not the administrator's own, though there is no dataset at all",
    )
    await data("ann", "/users/ann/sets/iris", true)
    await data("ann", "/sets/all", true)
    const uniform = async (caller: Caller, ...paths: string[]) =>
      (await loadFileAccess(fixture.store, caller, paths)).map((access) => access.appliesBelow === true)
    const paths = ["/", "/users", "/users/ann", "/users/ann/sets", "/users/ann/sets/iris", "/users/ann/a", "/sets", "/sets/all/x"]
    assert.deepEqual(await uniform(ann, ...paths), [false, false, false, false, true, true, false, true])
    assert.deepEqual(await uniform(bob, ...paths), [false, false, false, false, true, false, false, true])
    assert.deepEqual(await uniform(boss, ...paths), [false, false, false, false, true, true, false, true])
    assert.deepEqual(await uniform(bob, "/users/bob", "/users/ann"), [true, false])
  })

  it("costs a person without access the same queries for hidden and missing paths", async () => {
    const { fixture, data, ann, bob } = await filesFixture()
    await using _ = fixture
    await data("ann", "/users/ann/sets/secret")
    await data("ann", "/attic/secret")
    const requested = (path: string) =>
      recordQueries(async () => assert.deepEqual((await loadFileAccess(fixture.store, bob, [path])).map(words), ["none"]))
    const never = await requested("/users/ann/never")
    assert.ok(never.length > 0)
    const hidden = [
      "/users/ann",
      "/users/ann/sets",
      "/users/ann/sets/secret",
      "/users/ann/sets/secret/f",
      "/users/ann/sets/f",
      "/attic",
      "/attic/secret",
    ]
    for (const path of hidden) assert.deepEqual(await requested(path), never, path)
    assert.equal(await loadFileAccess(fixture.store, ann, ["/users/ann/sets/secret"]).then(([access]) => access?.level), "write")
  })

  it("answers for many entries of a directory as for each alone", async () => {
    const { fixture, data, look, ann, bob, boss } = await filesFixture()
    await using _ = fixture
    await data("ann", "/users/ann/d7", true)
    await data("ann", "/users/ann/d8/deep", true)
    const paths = Array.from({ length: 200 }, (_, i) => `/users/ann/d${i}`)
    for (const caller of [ann, bob, boss]) {
      const together = await look(caller, ...paths)
      const alone = await Promise.all(paths.map(async (path) => (await look(caller, path))[0]))
      assert.deepEqual(together, alone)
    }
    const seen = await look(bob, ...paths)
    assert.deepEqual([seen[6], seen[7], seen[8], seen.filter((word) => word !== "none").length], ["none", "read", "traverse", 2])
  })
})

describe("mount keys", () => {
  it("differ for paths that a run can mount separately: homes, the directories of each project, datasets", async () => {
    const { fixture, data } = await filesFixture()
    await using _ = fixture
    await data("ann", "/users/ann/sets/iris")
    await data("ann", "/sets/all")
    await data("ann", "/sets/all/part")
    const apart = [
      ["/users/ann", "/users/ann/a", "/users/ann/sets", "/users/ann/sets/b", "/users/ann/projectsx/1"],
      ["/users/ann/sets/iris", "/users/ann/sets/iris/x/y"],
      ["/users/ann/projects"],
      ["/users/ann/projects/1", "/users/ann/projects/1/code/x", "/users/ann/projects/1/user"],
      ["/users/ann/projects/12/code"],
      ["/users/annex/a"],
      ["/sets/all", "/sets/all/x"],
      ["/sets/all/part", "/sets/all/part/x"],
      ["/elsewhere", "/sets"],
    ]
    const areas = await Promise.all(apart.map((paths) => mountKeys(fixture.store, paths)))
    for (const [i, alike] of areas.entries()) assert.equal(new Set(alike).size, 1, String(apart[i]))
    assert.equal(new Set(areas.flat()).size, apart.length)
  })
})

describe("a mount", () => {
  it("is writable for people who may write the dataset, read-only for readers, and refused to others", async () => {
    const { fixture, data, ann, bob, boss } = await filesFixture()
    await using _ = fixture
    const hidden = await data("ann", "/users/ann/a")
    const shown = await data("ann", "/users/ann/b", true)
    assert.deepEqual(
      [ann, bob, boss].map((caller) => [mountMode(caller, hidden), mountMode(caller, shown)]),
      [
        ["rw", "rw"],
        ["no", "ro"],
        ["rw", "rw"],
      ],
    )
    assert.equal(mountMode(bob, hidden, [{ access: "read", userId: bob.userId }]), "ro")
    assert.equal(mountMode(bob, hidden, [{ access: "use", userId: bob.userId }]), "ro")
    assert.equal(mountMode(bob, hidden, [{ access: "write", userId: bob.userId }]), "rw")
    assert.equal(mountMode({ ...ann, scopes: ["read"] }, hidden), "ro")
    assert.equal(mountMode({ ...ann, scopes: ["run:1"] }, hidden), "no")
    assert.equal(mountMode(ann, { ...shown, deletedAt: 1 }), "no")
  })
})
