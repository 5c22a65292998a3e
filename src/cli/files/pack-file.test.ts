import assert from "node:assert/strict"
import { execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import { chmod, mkdir, mkdtemp, readFile, rm, stat, truncate, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { TarCheck } from "#channel"
import { fileHeaders, packFile } from "./pack-file.ts"

const directory = await mkdtemp(join(tmpdir(), "quayside-pack-"))
after(() => rm(directory, { recursive: true }))
const run = promisify(execFile)

for (const [name, size] of [
  ["empty", 0],
  ["a whole block", 512],
  [`${"long name ".repeat(20)}größer.bin`, 2_500_001],
] as const) {
  test(`the archive of a file of ${size} bytes is unpacked with its name, mode and time`, async () => {
    const source = join(directory, name)
    const content = randomBytes(size)
    await writeFile(source, content)
    await chmod(source, 0o4750)
    await utimes(source, 1_700_000_000, 1_700_000_000)
    const target = join(directory, `to ${size}`)
    await mkdir(target)
    const check = new TarCheck()
    const tar = spawn("tar", ["-x", "-f", "-", "-p", "-C", target], { stdio: ["pipe", "inherit", "inherit"] })
    const positions: number[] = []
    const write = async (data: Uint8Array) => {
      check.check(data)
      if (!tar.stdin.write(Buffer.from(data))) await once(tar.stdin, "drain")
    }
    assert.equal(await packFile(source, write, (done) => positions.push(done)), size)
    check.end()
    tar.stdin.end()
    assert.deepEqual(await once(tar, "close"), [0, null])
    assert.equal(positions.at(-1) ?? 0, size)
    const unpacked = join(target, name)
    assert.ok(content.equals(await readFile(unpacked)))
    const { mode, mtimeMs } = await stat(unpacked)
    assert.deepEqual([(mode & 0o7777).toString(8), mtimeMs], ["750", 1_700_000_000_000])
  })
}

test("the header of a file of any size names it", async () => {
  for (const size of [8 ** 11 - 1, 8 ** 11, 3 * 2 ** 40]) {
    const archive = join(directory, `header ${size}`)
    await writeFile(archive, fileHeaders(Buffer.from("large"), { size, mode: 0o644, modifiedAt: 0 }))
    const listed = await run("tar", ["-tvf", archive]).catch(({ stdout }: { stdout: string }) => ({ stdout }))
    assert.match(listed.stdout, new RegExp(` ${size} .* large\n`))
    new TarCheck().check(await readFile(archive))
  }
})

test("a file that becomes shorter during the copy is an error", async () => {
  const source = join(directory, "shrinks")
  await writeFile(source, randomBytes(4_000_000))
  const shrink = async () => truncate(source, 1_500_000)
  await assert.rejects(
    packFile(source, shrink, () => {}),
    /became shorter during the copy/,
  )
})
