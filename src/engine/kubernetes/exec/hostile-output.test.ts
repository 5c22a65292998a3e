import assert from "node:assert/strict"
import { test } from "node:test"
import { EngineError } from "../../engine.ts"
import type { ExecOutput } from "../../exec.ts"
import { readFirstLine } from "./read-first-line.ts"
import { readOutput } from "./read-output.ts"

const chunk = (stream: ExecOutput["stream"], text: string): ExecOutput => ({ stream, data: Buffer.from(text) })

/** A program that prints this, and counts what was taken from it. */
function printing(chunks: Iterable<ExecOutput>, { staysOpen = false } = {}) {
  const closing = Promise.withResolvers<void>()
  const program = {
    taken: 0,
    exitCode: closing.promise.then((): number => {
      throw new EngineError("engine_unreachable", "The connection to the program was lost")
    }),
    close: closing.resolve,
    async *output() {
      for (const each of chunks) {
        program.taken += 1
        yield each
      }
      if (staysOpen) await closing.promise
    },
  }
  program.exitCode.catch(() => {})
  return program
}

/** Far more than any bound. */
function* endless(stream: ExecOutput["stream"]) {
  for (let i = 0; i < 1_000; i += 1) yield chunk(stream, "x".repeat(1_000))
}

test("a shell that prints errors or anything else without end is not read on", async () => {
  for (const stream of ["stdout", "stderr"] as const) {
    const shell = printing(endless(stream))
    await assert.rejects(readFirstLine(shell), { code: "engine_error" })
    assert.ok(shell.taken <= 11, `${stream}: ${shell.taken} pieces`)
  }
})

test("a shell that says nothing is closed after a time", async () => {
  const shell = printing([], { staysOpen: true })
  await assert.rejects(readFirstLine(shell, 5), { code: "engine_unreachable" })
})

test("early errors come first, and the rest of the output follows the first line", async () => {
  const shell = printing([chunk("stderr", "warning\n"), chunk("stdout", "Q1"), chunk("stdout", "7\nhello"), chunk("stdout", " there")])
  const started = await readFirstLine(shell)
  assert.ok(started !== "no shell")
  assert.equal(started.line, "Q17")
  const rest = await Array.fromAsync(started.output)
  assert.deepEqual(
    rest.map(({ stream, data }) => [stream, String(data)]),
    [
      ["stderr", "warning\n"],
      ["stdout", "hello"],
      ["stdout", " there"],
    ],
  )
})

test("what a program prints is read up to a bound of bytes and of time, and it is closed", async () => {
  const read = (program: ReturnType<typeof printing>) =>
    readOutput(program.output(), { maxBytes: 2_000, maxMs: 5, close: () => program.close() })
  for (const stream of ["stdout", "stderr"] as const) {
    const program = printing(endless(stream))
    await assert.rejects(read(program), { code: "engine_error" })
    assert.equal(program.taken, 3)
  }
  await assert.rejects(read(printing([chunk("stdout", "1")], { staysOpen: true })), { code: "engine_error" })
  assert.equal(await read(printing([chunk("stdout", "1"), chunk("stderr", "e"), chunk("stdout", "2")])), "12")
})
