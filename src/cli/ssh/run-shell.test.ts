import assert from "node:assert/strict"
import { test } from "node:test"
import { outputPart } from "#channel"
import { quoteForShell, RunShell } from "./run-shell.ts"
import { openLocalShell } from "./testing/local-shell.ts"

for (const pieceBytes of [1, 7, 65_536]) {
  test(`answers follow each other with their exit codes, in pieces of ${pieceBytes} bytes`, async () => {
    using shell = openLocalShell(pieceBytes)
    const other = `\nquayside-${"0".repeat(32)} 0\n`
    const scripts = ["printf a", "exit 255", `printf %s ${quoteForShell(other)}; exit 3`, "no-such-program", "cat; printf '\\n\\n'"]
    const answers = await Promise.all(scripts.map((script) => shell.run(script)))
    assert.deepEqual(
      answers.map(({ status, output }) => [status, output.toString()]),
      [
        [0, "a"],
        [255, ""],
        [3, other],
        [127, ""],
        [0, "\n\n"],
      ],
    )
  })
}

test("a word is one argument, whatever it contains", async () => {
  using shell = openLocalShell(65_536)
  for (const word of ["", "a b", "'", "$(id)`id`", "\\\n*", "it's '' \"x\""]) {
    assert.equal((await shell.run(`printf '%s|' ${quoteForShell(word)}`)).output.toString(), `${word}|`)
  }
})

test("a shell that ends, or answers without end, rejects what waits and what comes", async () => {
  for (const [script, message] of [
    ["true); exit; (true", /shell ended/],
    ["yes", /more than \d+ bytes/],
  ] as const) {
    using shell = openLocalShell(65_536)
    const waiting = [shell.run(script), shell.run("true")]
    for (const { reason } of (await Promise.allSettled(waiting)) as PromiseRejectedResult[]) assert.match(String(reason), message)
    await assert.rejects(shell.run("true"), message)
  }
})

test("an answer in pieces of one byte is copied a few times, not with each piece", async (t) => {
  const size = 20_000
  async function* output() {
    const data = Buffer.from("x")
    for (let i = 0; i < size; i += 1) yield { part: outputPart.stdout, data }
  }
  const concat = t.mock.method(Buffer, "concat")
  const alloc = t.mock.method(Buffer, "alloc")
  const shell = new RunShell({ output: output(), write: async () => {} })
  await assert.rejects(shell.run("true"), /shell ended/)
  assert.ok(concat.mock.callCount() + alloc.mock.callCount() < 10)
})
