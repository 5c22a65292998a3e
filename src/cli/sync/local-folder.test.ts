import assert from "node:assert/strict"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { ChangedMeanwhileError, LocalFolder } from "./local-folder.ts"

const old = { kind: "file" as const, size: 1, modifiedMs: 1 }

test("a change of the last moment here keeps its content, under its own name or that of a conflict", async () => {
  await using folder = await openFolder()
  await using local = await LocalFolder.open(folder.path)
  await writeFile(join(folder.path, "mine"), "new here")
  const tempFile = local.newTempFile()
  await writeFile(tempFile, "received")
  await assert.rejects(local.replace("mine", tempFile, undefined), ChangedMeanwhileError)
  assert.equal(await readFile(join(folder.path, "mine"), "utf8"), "new here")
  await assert.rejects(local.replace("mine", tempFile, old), ChangedMeanwhileError)
  const kept = (await readdir(folder.path)).find((each) => each.startsWith("mine.conflict-")) ?? ""
  assert.equal(await readFile(join(folder.path, kept), "utf8"), "new here")
})

async function openFolder() {
  const path = await mkdtemp(join(tmpdir(), "quayside-sync-"))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
