import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../test/fixtures/run-spec.ts"
import { type ExecProcess, loginShell } from "../exec.ts"
import type { EngineUnderTest } from "./engine-under-test.ts"

const never = new AbortController().signal
const ignore = () => {}

/** Programs that are run beside a run's own. */
export function execTests(subject: () => EngineUnderTest): void {
  const started = async () => {
    const { engine, images } = subject()
    const spec = specOf(images.serves)
    await engine.start(spec, ignore, never)
    return { engine, key: spec.key, [Symbol.asyncDispose]: () => engine.stop(spec.key, { graceMs: 0 }) }
  }

  test("runs further programs with their input, both outputs, variables and exit code", async () => {
    await using run = await started()
    assert.deepEqual(await readExec(await run.engine.exec(run.key, { command: ["sh", "-c", "echo out; exit 3"] })), ["out\n", "", 3])
    assert.deepEqual(await readExec(await run.engine.exec(run.key, { command: ["cat"] }), "grüße"), ["grüße", "", 0])
    const [variables] = await readExec(await run.engine.exec(run.key, { command: ["env"], env: { A: "1" }, workDir: "/" }))
    assert.match(variables, /^A=1$/m)
    const [, errors] = await readExec(await run.engine.exec(run.key, { command: ["sh", "-c", "no-such-program"] }))
    assert.match(errors, /no-such-program: not found/)
    await assert.rejects(run.engine.exec(run.key, { command: ["no-such-program"] }), { code: "command_not_found" })
  })

  test("runs a shell on a terminal until it is closed, and nothing in a run that does not run", async () => {
    await using run = await started()
    const shell = await run.engine.exec(run.key, { command: loginShell, terminal: { columns: 100, rows: 30 } })
    assert.ok(shell)
    await shell.write(Buffer.from("echo ok\r"))
    const output = shell.output[Symbol.asyncIterator]()
    for (let text = ""; !/^ok\r\n/m.test(text); ) {
      const next = await output.next()
      assert.ok(!next.done, text)
      text += Buffer.from(next.value.data).toString()
    }
    await Promise.all([shell.close(), shell.close()])
    while (!(await output.next()).done);
    await run.engine.stop(run.key, { graceMs: 0 })
    assert.equal(await run.engine.exec(run.key, { command: ["env"] }), undefined)
    const other = await subject().openOtherInstance()
    assert.equal(await other.exec(run.key, { command: ["env"] }), undefined)
    await other[Symbol.asyncDispose]()
  })
}

/** Sends the input and reads to the end: both outputs and the exit code. */
async function readExec(process: ExecProcess | undefined, input = ""): Promise<[string, string, number]> {
  assert.ok(process)
  if (input !== "") await process.write(Buffer.from(input))
  process.endInput()
  const outputs = { stdout: "", stderr: "" }
  for await (const { stream, data } of process.output) outputs[stream] += Buffer.from(data).toString()
  return [outputs.stdout, outputs.stderr, await process.exitCode]
}
