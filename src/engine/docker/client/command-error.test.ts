import assert from "node:assert/strict"
import { test } from "node:test"
import { EngineError } from "../../engine.ts"
import { explainCommandError } from "./command-error.ts"

/** Words of the runtime (`exec: …`) and of the init (`[FATAL tini …`). */
const faults: [detail: string, msg: RegExp][] = [
  ['OCI runtime create failed: exec: "nope": executable file not found in $PATH: unknown', /^The image i has no program "nope"$/],
  ["[FATAL tini (7)] exec nope failed: No such file or directory", /^The image i has no program "nope"$/],
  ["[FATAL tini (7)] exec /app/run failed: Permission denied", /^The program "\/app\/run" of the image i is not executable for runs$/],
  ["[FATAL tini (7)] exec /app/run failed: Exec format error", /^The program "\/app\/run" of the image i is neither a program for/],
  ["(HTTP code 400) unexpected - No command specified", /^The image i has no command of its own, and none was given$/],
]

const fault = (detail: string) => new EngineError("command_not_found", "vague", { detail })

for (const [detail, msg] of faults) {
  test(`"${detail.slice(-40)}" is explained`, () => {
    const error = explainCommandError(fault(detail), { name: "i", architecture: "" })
    assert.ok(error instanceof EngineError && error.hint !== undefined)
    assert.equal(error.code, "command_not_found")
    assert.match(error.message, msg)
  })
}

test("a program for another processor names both processors", () => {
  const error = explainCommandError(fault("[FATAL tini (7)] exec /a failed: Exec format error"), { name: "i", architecture: "s390x" })
  assert.ok(error instanceof EngineError)
  assert.equal(error.code, "wrong_architecture")
  assert.match(error.message, /^The image i is made for s390x processors; this machine has \w+$/)
})

test("other errors stay as they are", () => {
  for (const error of [fault("something else"), new EngineError("disk_full", "full"), new Error("x")])
    assert.equal(explainCommandError(error, { name: "i", architecture: "" }), error)
})
