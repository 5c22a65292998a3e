import assert from "node:assert/strict"
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { cannotHoldCalls, HeldFileSystem } from "../../../test/fixtures/files/held-file-system.ts"

test("others are counted while a program holds calls of a person's count, who is counted afterwards", {
  skip: cannotHoldCalls,
}, async () => {
  await using files = await HeldFileSystem.mount(owner)
  await using server = await TestFilesServer.start({ prepare: (root) => files.bindTo(join(root, "users/mal")) })
  mkdirSync(join(server.root, "users/mal/directory"))
  writeFileSync(join(server.root, "users/mal/directory/file"), Buffer.alloc(100_000, 1))
  const count = async (name: string, userId: number) =>
    (await server.files.countStorage({ name, userId, roots: [`/users/${name}`], excluded: [], subAreas: [] }, null)).entries
  for (const isKnown of [false, true]) {
    const held = await files.hold({ names: ["directory"] })
    const counting = count("mal", 2)
    await held.first
    await pause(400)
    const others = isKnown ? await Promise.race([count("ann", 1), pause(3_000, "late")]) : 1
    await files.release()
    assert.equal(others, 1)
    assert.equal(await counting, 3)
  }
})
