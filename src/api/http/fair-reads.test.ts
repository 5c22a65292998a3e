import assert from "node:assert/strict"
import { test } from "node:test"
import { PersonLimiter } from "#http"
import { currentReader } from "#store"
import { FairReads } from "./fair-reads.ts"

test("requests that read and requests that write use the person's part of the connections to PostgreSQL", async () => {
  const reads = new FairReads(new PersonLimiter({ maxRunning: 2, maxWaiting: 2, message: String }))
  assert.equal(await reads.run(7, "readImage", currentReader), 7)
  assert.equal(await reads.run(7, "readCapacity", currentReader), 7)
  assert.equal(await reads.runWrite(7, currentReader), 7)
  const lanes = ["7 token:1", "7 token:2"]
  for (const lane of lanes) {
    assert.equal(await reads.run(7, "listTokens", currentReader, lane), "credentials of 7")
    assert.equal(await reads.runWrite(7, currentReader, lane), "credentials of 7")
  }
})
