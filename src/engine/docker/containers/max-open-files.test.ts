import assert from "node:assert/strict"
import { test } from "node:test"
import { maxOpenFiles } from "./max-open-files.ts"

test("the limit on open files is 65,536, or this process's own if that is lower", () => {
  const limits = (hard: string) =>
    `Limit  Soft Limit  Hard Limit  Units\nMax open files            1024                 ${hard}                files     \n`
  assert.deepEqual(
    ["20000", "1048576", "unlimited"].map((hard) => maxOpenFiles(limits(hard))),
    [20_000, 65_536, 65_536],
  )
  assert.equal(maxOpenFiles(""), 65_536)
})
