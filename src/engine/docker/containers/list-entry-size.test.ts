import assert from "node:assert/strict"
import { test } from "node:test"
import { specOf } from "../../../../test/fixtures/run-spec.ts"
import { checkListEntrySize } from "./list-entry-size.ts"

const mountsWith = (length: number, character = "x") =>
  Array.from({ length: 64 }, (_, n) => ({ source: "/data", target: `/${n}${character.repeat(length)}`, readOnly: true }))

test("a run with long commands and many mounts is accepted, up to a limit on the list of all runs", () => {
  const check = (parts: object) => checkListEntrySize(specOf({ image: "some", ...parts }), "here")
  check({ mounts: mountsWith(250), command: ["x".repeat(16_000)] })
  const refused = { code: "engine_error", message: /command and mounts have \d+ bytes together/ }
  assert.throws(() => check({ mounts: mountsWith(4_000) }), refused)
  assert.throws(() => check({ mounts: mountsWith(1).map((mount) => ({ ...mount, source: "/y".repeat(2_000) })) }), refused)
  // The daemon sends six bytes for each of these.
  assert.throws(() => check({ mounts: mountsWith(100, "<") }), refused)
})
