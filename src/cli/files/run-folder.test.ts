import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { cp, lstat, mkdir, mkdtemp, readFile, rm, symlink, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { type ChannelStream, openCopy, outputPart } from "#channel"
import { packFolder } from "./local-tar.ts"
import { createArchiveWriter } from "./pack-file.ts"
import { ReceivedArchive } from "./received-archive.ts"
import { resumeArchive, resumeFolder, type SendListed } from "./run-folder.ts"
import { type AnswerStream, aCommandLine, aControlledRun } from "./testing/local-run.ts"

const directory = await mkdtemp(join(tmpdir(), "quayside-run-folder-"))
after(() => rm(directory, { recursive: true }))
const modifiedAt = 1_700_000_000

/** A folder of three files, an empty folder and a link, and a place for its copy. */
async function aFolder() {
  const home = await mkdtemp(join(directory, "pair-"))
  const [source, target] = [join(home, "source/-a folder"), join(home, "target")]
  await mkdir(join(source, "empty"), { recursive: true })
  await mkdir(target)
  for (const name of ["one", "two", "line\nbreak"]) {
    await writeFile(join(source, name), randomBytes(100_000))
    await utimes(join(source, name), modifiedAt, modifiedAt)
  }
  await symlink("one", join(source, "link"))
  return { source, target, copy: join(target, "-a folder") }
}

const isSame = (a: string, b: string) => execFileSync("diff", ["-r", "--no-dereference", a, b]).length === 0

/** Sends what is listed, and notes the names. */
function recordingSend(source: string, target: string) {
  const sent: string[] = []
  const send: SendListed = async (connection, list) => {
    sent.push(...list.split("\0").slice(0, -1))
    const stream = openCopy(connection, "in", target)
    const bytes = await packFolder(aCommandLine(), { path: source, list, write: createArchiveWriter(stream), onBytes: () => {} })
    stream.end()
    await stream.done
    return bytes
  }
  return { sent, send }
}

test("the copy of a folder into a run goes on with the files that differ, or have another time", async () => {
  const { source, target, copy } = await aFolder()
  await cp(source, copy, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  await writeFile(join(copy, "two"), randomBytes(100_000))
  await utimes(join(copy, "two"), modifiedAt, modifiedAt)
  const all = recordingSend(source, target)
  await resumeFolder(aCommandLine(), aControlledRun(), { local: source, remote: copy }, all.send)
  const parent = "./-a folder"
  assert.deepEqual(all.sent.toSorted(), [parent, `${parent}/empty`, `${parent}/line\nbreak`, `${parent}/link`, `${parent}/two`])
  assert.ok(isSame(source, copy))

  await utimes(join(copy, "one"), 1, 1)
  const timed = recordingSend(source, target)
  await resumeFolder(aCommandLine(), aControlledRun(), { local: source, remote: copy }, timed.send)
  assert.ok(timed.sent.includes(`${parent}/one`))
  assert.ok(!timed.sent.includes(`${parent}/two`))
})

test("a folder of a run that is a link to another one counts as missing", async () => {
  const { source, target, copy } = await aFolder()
  const other = join(target, "other")
  await cp(source, other, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  await symlink("other", copy)
  const { sent, send } = recordingSend(source, target)
  await resumeFolder(aCommandLine(), aControlledRun(), { local: source, remote: copy }, send)
  assert.ok(sent.includes("./-a folder/one"))
  assert.ok((await lstat(copy)).isDirectory())
  assert.ok(isSame(source, copy))
})

/** Answers the first program of a copy, again and again if asked. */
const answerProgram =
  (text: string, isEndless = false): AnswerStream =>
  (stream, { kind }) => {
    if (kind !== "exec") return false
    stream.accept()
    void (async () => {
      do await stream.write(Buffer.from(text), outputPart.stdout)
      while (isEndless && !stream.isOver)
      stream.finish({ exitCode: 0 })
    })().catch(() => {})
    return true
  }

test("a run whose list of files has no end or no lines ends the copy", async () => {
  const { source, copy } = await aFolder()
  const run = aControlledRun({ answer: answerProgram("x".repeat(60_000), true) })
  const none: SendListed = () => assert.fail("nothing is sent")
  await assert.rejects(resumeFolder(aCommandLine(), run, { local: source, remote: copy }, none), /the list of its files is too long/)
})

test("padding behind the end of an archive may come after `tar` has ended, and only if it succeeded", async () => {
  const ends = {
    succeeded: (stream: ChannelStream) => stream.finish({ exitCode: 0 }),
    failed: (stream: ChannelStream) => stream.fail("copy_failed", "no room"),
  }
  const writeAfter = async (end: (stream: ChannelStream) => void) => {
    const answer: AnswerStream = (stream) => {
      stream.accept()
      void stream[Symbol.asyncIterator]()
        .next()
        .then(() => end(stream))
      return true
    }
    const stream = openCopy(await aControlledRun({ answer }).open(), "in", "/")
    const over = stream.done.catch(() => {})
    const write = createArchiveWriter(stream)
    await write(Buffer.alloc(1_024))
    await over
    await write(Buffer.alloc(9_216))
  }
  await writeAfter(ends.succeeded)
  await assert.rejects(writeAfter(ends.failed), /no room/)
})

/** An archive of a folder whose copy broke after so many bytes. */
async function brokenArchive(source: string, target: string, bytes: number) {
  const whole = execFileSync("tar", ["-c", "-f", "-", "-C", join(source, ".."), "--", "-a folder"], { maxBuffer: 2 ** 24 })
  const archive = new ReceivedArchive(aCommandLine(), { path: source, directory: target })
  await archive.write(whole.subarray(0, bytes))
  return { archive, whole }
}

test("the copy of a folder out of a run goes on after the bytes of its archive that came", async () => {
  const { source, target, copy } = await aFolder()
  const { archive, whole } = await brokenArchive(source, target, 150_001)
  assert.equal(await resumeArchive(aCommandLine(), aControlledRun(), source, archive), whole.length)
  assert.ok(isSame(source, copy))
})

test("an archive whose end a run lost without an error goes on", async () => {
  const { source, target, copy } = await aFolder()
  const { archive } = await brokenArchive(source, target, 1_024)
  let programs = 0
  const cutShort: AnswerStream = (stream, { kind, command }) => {
    if (kind !== "exec" || !String(command).includes("exec 4>&1")) return false
    programs += 1
    if (programs > 1) return false
    stream.accept()
    stream.finish({ exitCode: 0 })
    return true
  }
  await resumeArchive(aCommandLine(), aControlledRun({ answer: cutShort }), source, archive)
  assert.equal(programs, 2)
  assert.ok(isSame(source, copy))
})

test("a folder that changed in the run meanwhile is not mixed with what came before", async () => {
  const { source, target } = await aFolder()
  const { archive } = await brokenArchive(source, target, 250_000)
  for (const name of ["one", "two"]) await writeFile(join(source, name), await readFile(join(source, "line\nbreak")))
  await assert.rejects(resumeArchive(aCommandLine(), aControlledRun(), source, archive), /changed during the copy; copy it again/)
  await archive.abort()
})

test("a folder of a run of which `tar` cannot read a file is no complete copy", async () => {
  const { source, target } = await aFolder()
  const { archive } = await brokenArchive(source, target, 150_000)
  const bin = await mkdtemp(join(directory, "bin-"))
  await writeFile(join(bin, "tar"), '#!/bin/sh\n/bin/tar "$@"\necho "a file cannot be read" >&2\nexit 2\n', { mode: 0o755 })
  const run = aControlledRun({ env: { PATH: `${bin}:${process.env.PATH}` } })
  await assert.rejects(resumeArchive(aCommandLine(), run, source, archive), /a file cannot be read/)
  await archive.abort()
})
