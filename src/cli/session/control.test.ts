import assert from "node:assert/strict"
import { Readable } from "node:stream"
import { test } from "node:test"
import { CliError } from "../io/failures.ts"
import { readRefusal } from "./control.ts"

test("an endless answer to a control connection is not read", async () => {
  let sent = 0
  function* endless() {
    for (; sent < 10_000; sent += 1) yield Buffer.alloc(1_024)
  }
  await assert.rejects(readRefusal(Object.assign(Readable.from(endless()), { statusCode: 200 })), CliError)
  assert.ok(sent < 200, `${sent} KiB were read`)
})
