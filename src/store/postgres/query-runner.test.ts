import assert from "node:assert/strict"
import { test } from "node:test"
import { query } from "../queries/query.ts"
import { StatementNames } from "./query-runner.ts"

test("combinations of a list's filters use up no names of statements", () => {
  const names = new StatementNames()
  const list = { table: "projects", subset: "live", sees: "visible" } as const
  for (let i = 0; i < 1_000; i += 1) names.of(query("total", { ...list, where: [`column${i}`] }))
  for (const filter of [{ words: true }, { ids: true }] as const) assert.equal(names.of(query("total", { ...list, ...filter })), undefined)
  assert.equal(names.of(query("total", list)), "q0")
  assert.equal(names.of(query("get", "projects")), "q1")
  assert.equal(names.of(query("userCount")), "q2")
  assert.equal(names.of(query("total", list)), "q0")
})
