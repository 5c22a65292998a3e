import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, beforeEach, test } from "node:test"
import { Failure } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { asRoot, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { assertNoSecret, assertUntouched, makeVictim, whileSwapping } from "../../../test/fixtures/files/swapped-names.ts"

/*
 * As `swaps.test.ts`, for what is done to whole trees: copies of code, releases, recursive removal.
 * The work is done in this process, as root where the tests are: nothing but its own care keeps it
 * from the victims.
 */

let server: TestFilesServer
const outside = () => join(server.folder, "outside")
const victims = () => [outside(), join(server.root, "users/bob/private")]

before(async () => {
  server = await TestFilesServer.start()
})
beforeEach(() => {
  server.makeDirectory("users/bob/private")
  for (const victim of victims()) makeVictim(victim)
  rmSync(server.at("code"), { recursive: true, force: true })
  makeSwap("code")
})
after(() => server[Symbol.asyncDispose]())

/** A directory `swap` with files, in one of ann's that has more in it. */
function makeSwap(path: string): void {
  server.makeDirectory(`users/ann/${path}/swap/sub`)
  server.makeDirectory(`users/ann/${path}/more`)
  for (const name of ["swap/f", "swap/sub/f", "more/f"]) {
    writeFileSync(server.at(path, name), "own")
    if (asRoot) chownSync(server.at(path, name), owner.uid, owner.gid)
  }
}

/** How often it was in time, and how often too late; nothing but a `Failure` is an answer. */
async function attempts(rounds: number, work: (round: number) => Promise<unknown>): Promise<{ done: number; refused: number }> {
  const count = { done: 0, refused: 0 }
  for (let round = 0; round < rounds; round += 1) {
    await work(round).then(
      () => (count.done += 1),
      (error: unknown) => {
        assert.ok(error instanceof Failure, String(error))
        count.refused += 1
      },
    )
  }
  return count
}

for (const [what, from, swapped] of [
  ["the directory itself", "/users/ann/code/swap", "code/swap"],
  ["a directory in it", "/users/ann/code", "code/swap"],
  ["a directory above it", "/users/ann/code/swap/sub", "code/swap"],
  ["a file in it", "/users/ann/code", "code/swap/f"],
] as const) {
  test(`a copy of code reads nothing through a link that ${what} becomes`, async () => {
    const { tree } = server.files
    for (const victim of victims()) {
      const target = swapped.endsWith("/f") ? join(victim, "f") : victim
      await whileSwapping({ path: server.at(swapped), target }, async () => {
        await attempts(60, async () => {
          await tree.copyTree(from, "/users/ann/copied").finally(() => assertNoSecret(server.at("copied")))
        })
      })
      assertUntouched(victim)
      rmSync(server.at("code"), { recursive: true })
      makeSwap("code")
    }
  })
}

test("a copy writes nothing through a link that a directory above its target becomes, be the target new or replaced", async () => {
  const { tree } = server.files
  for (const victim of victims()) {
    await whileSwapping({ path: server.at("code/swap"), target: victim }, async () => {
      await attempts(40, (round) => tree.copyTree("/users/ann/code/more", `/users/ann/code/swap/planted${round}`, { replace: false }))
      await attempts(40, () => tree.copyTree("/users/ann/code/more", "/users/ann/code/swap/sub"))
    })
    assertUntouched(victim)
  }
})

test("a release that is made while its code is swapped is whole and contains only the owner's files", async () => {
  const { tree } = server.files
  await whileSwapping({ path: server.at("code"), target: outside() }, async () => {
    await attempts(60, async () => {
      await tree.copyTree("/users/ann/code", "/projects/1/release").finally(() => assertNoSecret(join(server.root, "projects")))
      assert.deepEqual(readdirSync(join(server.root, "projects/1/release")).toSorted(), ["more", "swap"])
    })
  })
  assertUntouched(outside())
})

test("directories are created, removed and moved through no link", async () => {
  const { tree } = server.files
  for (const victim of victims()) {
    mkdirSync(join(victim, "sub/empty"))
    await whileSwapping({ path: server.at("code/swap"), target: victim }, async () => {
      await attempts(40, (round) => tree.ensureDirectory(`/users/ann/code/swap/planted${round}/x`))
      await attempts(40, (round) => tree.makeNewDirectory(`/users/ann/code/swap/sub/planted${round}`))
      await attempts(40, () => tree.removeEmptyDirectory("/users/ann/code/swap/sub/empty"))
      await attempts(40, (round) => tree.move("/users/ann/code/swap/sub", `/users/ann/moved${round}`))
      await attempts(40, (round) => tree.move("/users/ann/code/more", `/users/ann/code/swap/moved${round}`))
    })
    assert.equal(existsSync(join(victim, "sub/empty")), true)
    rmSync(join(victim, "sub/empty"), { recursive: true })
    assertUntouched(victim)
  }
})

test("a recursive removal deletes nothing behind a link", async () => {
  const { tree } = server.files
  for (const victim of victims()) {
    await whileSwapping({ path: server.at("code/swap"), target: victim }, async () => {
      await attempts(40, () => tree.removeTree("/users/ann/code/swap/sub"))
      await attempts(40, async () => {
        assert.ok((await server.ask("DELETE", "/users/ann/code/swap")).status < 500)
      })
    })
    assertUntouched(victim)
  }
})

test("removing a directory that a program keeps swapping deletes nothing outside it", async () => {
  for (let round = 0; round < 10; round += 1) {
    makeSwap("removed/inner")
    execFileSync("sh", ["-c", "seq 1 300 | xargs touch; seq 400 500 | xargs mkdir"], { cwd: server.at("removed/inner/swap") })
    const swap = { path: "swap", target: outside(), cwd: server.at("removed/inner") }
    await whileSwapping(swap, async () => {
      if (round % 2 === 0) await server.files.tree.removeTree("/users/ann/removed")
      else assert.equal((await server.ask("DELETE", "/users/ann/removed")).status, 204)
      assert.equal(existsSync(server.at("removed")), false)
    })
    assertUntouched(outside())
  }
  await eventually("all of it is gone", () => server.unfinished().length === 0)
})
