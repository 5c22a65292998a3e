import assert from "node:assert/strict"
import { test } from "node:test"
import { assertRequestedNames } from "./copy.ts"

test("a copy from a run accepts the name that was asked for, and any names in a directory's contents", () => {
  assertRequestedNames("/work/results.txt", ["results.txt"])
  assertRequestedNames("/work/results/", ["results"])
  assertRequestedNames("/work/.", ["a", ".b"])
  const planted = /^The run sent "\.bashrc" instead of "results\.txt"; nothing was copied\.$/
  assert.throws(() => assertRequestedNames("/work/results.txt", ["results.txt", ".bashrc"]), { name: "CliError", message: planted })
})
