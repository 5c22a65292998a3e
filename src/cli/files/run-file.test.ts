import assert from "node:assert/strict"
import { randomBytes } from "node:crypto"
import { lstat, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { outputPart } from "#channel"
import type { ControlledRun } from "../session/control.ts"
import { resumeFile } from "./run-file.ts"
import { type AnswerStream, aCommandLine, aControlledRun } from "./testing/local-run.ts"

const directory = await mkdtemp(join(tmpdir(), "quayside-run-file-"))
after(() => rm(directory, { recursive: true }))
const content = randomBytes(3 * 2 ** 20 + 17)
const modifiedAt = 1_700_000_000

/** A complete file of 3 MiB, and how much of it the other side has. */
async function filePair(direction: "in" | "out", { present = 2 ** 21 + 5, name = "file" } = {}) {
  const home = await mkdtemp(join(directory, "pair-"))
  const files = { local: join(home, "here", name), remote: join(home, "run", name) }
  const [source, target] = direction === "in" ? [files.local, files.remote] : [files.remote, files.local]
  for (const folder of ["here", "run"]) await mkdir(join(home, folder))
  await writeFile(source, content, { mode: 0o664 })
  await utimes(source, modifiedAt, modifiedAt)
  if (present > 0) await writeFile(target, content.subarray(0, present), { mode: 0o600 })
  const copy = (run: ControlledRun) => resumeFile(aCommandLine(), run, direction, files)
  return { ...files, source, target, copy, home }
}

for (const direction of ["in", "out"] as const) {
  test(`a copy ${direction} of a run goes on after what is there, whatever the file's name`, async () => {
    const { source, target, copy } = await filePair(direction, { name: "-rf *\n$(touch x)' \"" })
    const offsets: unknown[] = []
    const answer: AnswerStream = (_, { offset }) => {
      if (offset !== undefined) offsets.push(offset)
      return false
    }
    assert.equal(await copy(aControlledRun({ answer })), content.length)
    assert.deepEqual(offsets, [direction === "in" ? 2 ** 21 : 2 ** 21 + 5])
    assert.deepEqual(await readFile(target), content)
    const [made, original] = [await stat(target), await stat(source)]
    assert.equal(made.mtimeMs, modifiedAt * 1_000)
    const umask = direction === "out" ? process.umask() : 0
    assert.equal(made.mode & 0o777, original.mode & 0o777 & ~umask)
  })

  test(`a copy ${direction} of a run begins again if other bytes, more bytes or none are there`, async () => {
    const attempts = [randomBytes(2 ** 21), Buffer.concat([content, content]), undefined].map(async (there) => {
      const { target, copy } = await filePair(direction, { present: direction === "in" ? 0 : 1 })
      if (there) await writeFile(target, there)
      await copy(aControlledRun())
      assert.deepEqual(await readFile(target), content)
    })
    await Promise.all(attempts)
  })
}

test("a link that a run sent in place of the file writes nothing outside the copy", async () => {
  const { local, copy, home } = await filePair("out", { present: 0 })
  const other = join(home, "other")
  await writeFile(other, "mine", { mode: 0o640 })
  await symlink(other, local)
  await assert.rejects(copy(aControlledRun()), /sent no file/)
  assert.deepEqual([await readFile(other, "utf8"), (await stat(other)).mode & 0o777], ["mine", 0o640])
})

test("a link in place of the file in a run is neither followed nor kept", async () => {
  const sent = await filePair("in", { present: 0 })
  const other = join(sent.home, "other")
  await writeFile(other, content.subarray(0, 2 ** 21))
  await symlink(other, sent.target)
  await sent.copy(aControlledRun())
  assert.equal((await lstat(sent.target)).isFile(), true)
  assert.equal((await stat(other)).size, 2 ** 21)

  const received = await filePair("out")
  await rm(received.source)
  await symlink(other, received.source)
  await assert.rejects(received.copy(aControlledRun()), /failed: it is no file any more$/)
})

/** Answers the first program of a copy. */
const answerProgram =
  (text: string): AnswerStream =>
  (stream, { kind }) => {
    if (kind !== "exec") return false
    stream.accept()
    void stream.write(Buffer.from(text), outputPart.stdout).then(() => stream.finish({ exitCode: 0 }))
    return true
  }

test("answers of a run that are no sizes, times and checksums end a copy", async () => {
  const sum = "0".repeat(64)
  const out = ["", "NaN 644 1", "-1 644 1", "1e9 644 1", "9".repeat(16), "5 999 1", "5 644 1e99", "5 644 x"].map(
    (text) => `${text}\n${sum}  -\n`,
  )
  const into = ["", "NaN\n", "-1048576\n", `1 ${sum}  -\n`, `${2 ** 30} ${sum}  -\n`, "x".repeat(100_000)]
  const attempts = [...out.map((text) => ["out", text] as const), ...into.map((text) => ["in", text] as const)].map(
    async ([direction, text]) => {
      const { copy } = await filePair(direction)
      await assert.rejects(
        copy(aControlledRun({ answer: answerProgram(text) })),
        /failed: its programs answered "/,
        `${direction}: ${text}`,
      )
    },
  )
  await Promise.all(attempts)
})

test("a run that sends more than the file has fills no disk", async () => {
  const { local, copy } = await filePair("out")
  const answer: AnswerStream = (stream, { kind }) => {
    if (kind !== "copy") return false
    stream.accept()
    void (async () => {
      for (;;) await stream.write(Buffer.alloc(65_536), outputPart.stdout)
    })().catch(() => {})
    return true
  }
  await assert.rejects(copy(aControlledRun({ answer })), /grew during the copy/)
  assert.ok((await stat(local)).size <= content.length)
})

test("a run whose image lacks a program is named it, and has no incomplete file", async () => {
  const bin = await mkdtemp(join(directory, "bin-"))
  for (const program of ["chmod", "dd", "head", "rm", "touch", "wc"]) await symlink(`/bin/${program}`, join(bin, program))
  const { remote, home, copy } = await filePair("in")
  await assert.rejects(copy(aControlledRun({ env: { PATH: bin } })), {
    exitCode: 127,
    message: `The copy of ${remote} failed: the image has no sha256sum`,
  })
  assert.deepEqual(await readdir(join(home, "run")), [])
})

test("a copy ends if the connection is lost again and again and nothing passes", async () => {
  const { copy } = await filePair("out")
  let opened = 0
  const run = aControlledRun()
  const open = async () => {
    opened += 1
    const connection = await run.open()
    setImmediate(() => connection.handleTransportClose(""))
    return connection
  }
  await assert.rejects(copy({ ...run, open }), { code: "connection_lost" })
  assert.equal(opened, 10)
})
