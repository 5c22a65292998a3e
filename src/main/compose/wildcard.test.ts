import assert from "node:assert/strict"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { createWildcardCheck } from "./wildcard.ts"

const clock = new ManualClock()
const nowhere = () => Promise.reject(new Error("ENOTFOUND"))

test("a wildcard that does not resolve is named, with the record that DNS needs", async () => {
  const check = createWildcardCheck("https://apps.example.com", { clock, find: nowhere }) ?? assert.fail()
  assert.deepEqual(await check(), {
    ok: false,
    msg: "The name quayside-check.apps.example.com does not resolve: each run has a name below apps.example.com, so DNS needs the record *.apps.example.com",
  })
})

test("names are looked up once a minute at most", async () => {
  const asked: string[] = []
  const find = async (name: string) => asked.push(name)
  const check = createWildcardCheck("https://apps.example.com", { clock, find }) ?? assert.fail()
  for (const ms of [0, 59_000, 2_000]) {
    await clock.advance(ms)
    assert.deepEqual(await check(), { ok: true, msg: "" })
  }
  assert.deepEqual(asked, ["quayside-check.apps.example.com", "quayside-check.apps.example.com"])
})

test("names below localhost and addresses need no name server", () => {
  for (const url of ["http://localhost:8081", "http://apps.localhost:8081", "http://10.0.0.7:8081", "http://[::1]:8081"])
    assert.equal(createWildcardCheck(url, { clock, find: nowhere }), undefined, url)
})
