import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { chmod, link, mkdir, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { after, test } from "node:test"
import { promisify } from "node:util"
import { buildImage } from "../fixtures/docker/built-image.ts"
import { ensureBusyboxImage } from "../fixtures/docker/busybox.ts"
import { listenByPython, openKillableServer } from "./killable-server.ts"

const server = await openKillableServer()
const { ok, interrupted, startProject } = server
async function imageFrom(base: string, change: string): Promise<string> {
  const image = await buildImage(`FROM ${base}\nUSER 0\nRUN ${change}\n`)
  after(() => image[Symbol.asyncDispose]())
  return image.name
}
await startProject("Gnu", "quayside/python-app", listenByPython)
await startProject("Small", await imageFrom(await ensureBusyboxImage(), "ln -s busybox /bin/tar"), "httpd -f -p 8000")
await startProject("Bare", await imageFrom("quayside/python-app", "rm /usr/bin/sha256sum"), listenByPython)

const mebibyte = 2 ** 20
const killAt = 40 * mebibyte
const size = 96 * 2 ** 20 + 12_345
const content = randomBytes(size)
const sha256 = (data: Buffer) => createHash("sha256").update(data).digest("hex")
const source = join(server.directory, "large file.bin")
const modifiedAt = 1_700_000_000
await writeFile(source, content)
await chmod(source, 0o640)
await utimes(source, modifiedAt, modifiedAt)

/** Runs a copy of the file whose server is killed. */
async function killedCopy(...words: string[]) {
  const outcome = await interrupted(killAt, ...words, "--json")
  assert.equal(outcome.code, 0, outcome.stderr)
  assert.equal(outcome.json().bytes, size)
  assert.ok(server.bytesSinceKill < 70 * mebibyte, `the copy went on, and did not begin again: ${server.bytesSinceKill} further bytes`)
}

for (const name of ["Gnu", "Small"]) {
  test(`a large file is the same after the server was killed in the middle of its copy to ${name}, and back`, async () => {
    await killedCopy(source, `${name}:/tmp`)
    const script = `sha256sum < "$0"; stat -c '%a %Y' "$0"; ls -A /tmp`
    const { stdout } = await ok("exec", name, "--", "sh", "-c", script, "/tmp/large file.bin")
    assert.match(stdout, new RegExp(`^${sha256(content)}  -\\n640 ${modifiedAt}\\n`))
    assert.match(stdout, /large file\.bin\n$/)

    const back = join(server.directory, `back ${name}`)
    await killedCopy(`${name}:/tmp/large file.bin`, back)
    assert.deepEqual(await readdir(back), ["large file.bin"])
    const copy = join(back, "large file.bin")
    assert.equal(sha256(await readFile(copy)), sha256(content))
    const { mode, mtimeMs } = await stat(copy)
    assert.deepEqual([mode & 0o777, mtimeMs], [0o640, modifiedAt * 1_000])
  })
}

/** 80 MiB with names, links and folders of many kinds. */
async function makeFolder(): Promise<string> {
  const folder = join(server.directory, "a folder")
  await mkdir(join(folder, "deep/empty"), { recursive: true })
  await mkdir(join(folder, "small"))
  for (let i = 0; i < 40; i += 1) await writeFile(join(folder, i % 2 ? "deep" : "", `large ${i}`), randomBytes(2 * mebibyte + i))
  for (let i = 0; i < 300; i += 1) await writeFile(join(folder, "small", String(i)), `file ${i}`)
  for (const name of ["-rf *", "líne\nbreak", "a'b\"c", " "]) await writeFile(join(folder, "small", name), name)
  await symlink("/etc/passwd", join(folder, "outside"))
  await link(join(folder, "large 0"), join(folder, "deep/same"))
  await chmod(join(folder, "small/7"), 0o750)
  await utimes(join(folder, "deep"), modifiedAt, modifiedAt)
  return folder
}

/** Prints kind, mode, time, name, target and checksum of all that is in a folder. */
const describeFolder = `cd "$0" && find . -type f -exec sha256sum {} + && find . -type l -exec readlink {} + &&
find . -mindepth 1 ! -type l -exec stat -c '%F %a %Y %n' {} +`
const linesOf = (text: string) => new Set(text.split("\n"))
const describeHere = async (folder: string) => linesOf((await promisify(execFile)("sh", ["-c", describeFolder, folder])).stdout)
const describeInRun = async (run: string, folder: string) =>
  linesOf((await ok("exec", run, "--", "sh", "-c", describeFolder, folder)).stdout)
const assertSame = (actual: Set<string>, expected: Set<string>) => assert.deepEqual([...actual.symmetricDifference(expected)], [])

test("a folder is the same after the server was killed in the middle of its copy, in both directions", async () => {
  const folder = await makeFolder()
  const expected = await describeHere(folder)
  const killedFolder = async (...words: string[]) => {
    const outcome = await interrupted(killAt, ...words, "--json")
    assert.equal(outcome.code, 0, outcome.stderr)
    assert.ok(Number(outcome.json().bytes) > 80 * mebibyte)
    assert.ok(server.bytesSinceKill < 70 * mebibyte, `${server.bytesSinceKill} further bytes`)
  }
  await killedFolder(folder, "Gnu:/tmp")
  assertSame(await describeInRun("Gnu", "/tmp/a folder"), expected)
  for (const path of ["/tmp/a folder", "/tmp/a folder/."]) {
    const back = join(server.directory, "folder back")
    await killedFolder(`Gnu:${path}`, back)
    assertSame(await describeHere(path.endsWith(".") ? back : join(back, "a folder")), expected)
    await rm(back, { recursive: true })
  }
  const small = join(server.directory, "folder of busybox")
  await killedFolder(folder, "Small:/tmp")
  await killedFolder("Small:/tmp/a folder", small)
  // Busybox sets a folder's time before it fills it.
  const filesOf = (lines: Set<string>) => new Set([...lines].filter((line) => !line.startsWith("directory")))
  assertSame(filesOf(await describeHere(join(small, "a folder"))), filesOf(expected))
  await ok("exec", "Gnu", "--", "rm", "-r", "/tmp/a folder")
})

test("a large file whose copy cannot go on is neither here nor in the run", async () => {
  const sent = await interrupted(killAt, source, "Bare:/tmp")
  assert.equal(sent.code, 127)
  assert.match(sent.stderr, /The copy of \/tmp\/large file\.bin failed: the image has no sha256sum\nCopy it again\.\n$/)
  assert.equal((await ok("exec", "Bare", "--", "find", "/tmp", "-name", "large*")).stdout, "")

  await ok("cp", source, "Bare:/tmp")
  const target = join(server.directory, "never complete")
  const received = await interrupted(killAt, "Bare:/tmp/large file.bin", target)
  assert.equal(received.code, 127)
  assert.match(received.stderr, /failed: the image has no sha256sum\n/)
  assert.deepEqual(await readdir(target), [])
})

test("a program that a run marked to run as its owner loses that mark in a copy", async () => {
  await ok("exec", "Gnu", "--", "sh", "-c", "mkdir /tmp/marked && touch /tmp/marked/program && chmod 6755 /tmp/marked/program")
  const target = join(server.directory, "marked target")
  await ok("cp", "Gnu:/tmp/marked", target)
  const { mode } = await stat(join(target, "marked/program"))
  assert.equal((mode & 0o7777).toString(8), "755")
})
