import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmod, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import type { Cli } from "../io/cli.ts"
import { ReceivedArchive } from "./received-archive.ts"

const directory = await mkdtemp(join(tmpdir(), "quayside-received-"))
after(() => rm(directory, { recursive: true }))
const cli = { process: { env: process.env } } as unknown as Cli

/** The archive that a run sends of files, and a place for it here. */
async function received(path: string, names: readonly string[]) {
  const archive = execFileSync("tar", ["-c", "-f", "-", "-C", directory, "--", ...names], { maxBuffer: 2 ** 24 })
  const target = await mkdtemp(join(directory, "to-"))
  return { archive, target, into: new ReceivedArchive(cli, { path, directory: target }) }
}

async function writeInChunks(into: ReceivedArchive, archive: Buffer, bytes: number): Promise<void> {
  for (let at = 0; at < archive.length; at += bytes) await into.write(archive.subarray(at, at + bytes))
}

for (const size of [0, 1, 512, 3_000_001]) {
  for (const chunk of [100, 513, 32_768, 2 ** 22]) {
    test(`a file of ${size} bytes out of a run, in chunks of ${chunk}, has its content, mode and time`, async () => {
      const name = `file ${size}`
      const content = randomBytes(size)
      await writeFile(join(directory, name), content)
      await chmod(join(directory, name), 0o640)
      await utimes(join(directory, name), 1_700_000_000, 1_700_000_000)
      const { archive, target, into } = await received(`/work/${name}`, [name])
      await writeInChunks(into, archive, chunk)
      await into.end()
      assert.equal(into.isFile, chunk >= 512)
      assert.ok(content.equals(await readFile(join(target, name))))
      const { mode, mtimeMs } = await stat(join(target, name))
      assert.deepEqual([mode & 0o7777, mtimeMs], [0o640, 1_700_000_000_000])
    })
  }
}

test("entries behind the file that was asked for are refused, and nothing of them is written", async () => {
  await writeFile(join(directory, "asked"), "content")
  await writeFile(join(directory, ".bashrc"), "content")
  const { archive, target, into } = await received("/work/asked", ["asked", ".bashrc"])
  await assert.rejects(into.write(archive), /The run sent more than "asked"; nothing was copied\./)
  await into.abort()
  assert.deepEqual(await readdir(target), ["asked"])
})

test("a file that cannot be written here fails the copy with the system's reason", async () => {
  await writeFile(join(directory, "large"), randomBytes(3_000_000))
  const { archive, target, into } = await received("/work/large", ["large"])
  await rm(target, { recursive: true })
  await assert.rejects(writeInChunks(into, archive, 65_536), { code: "ENOENT" })
})
