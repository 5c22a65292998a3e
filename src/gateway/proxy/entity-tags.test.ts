import assert from "node:assert/strict"
import { test } from "node:test"
import { keyA, keyB } from "../testing/gateway-fixture.ts"
import { RunEntityTags } from "./entity-tags.ts"

const tags = new RunEntityTags(keyA)
const others = new RunEntityTags(keyB)

test("strong and weak entity tags return to the program unchanged", () => {
  for (const tag of ['"x"', 'W/"x-y"', '""', '"a,b"']) {
    assert.notEqual(tags.mark(tag), tag)
    for (const name of ["if-none-match", "if-match", "if-range"]) assert.equal(tags.condition(name, tags.mark(tag)), tag, name)
  }
  assert.equal(tags.condition("if-none-match", `${tags.mark('"1"')}, ${tags.mark('W/"2"')}`), '"1", W/"2"')
  for (const name of ["if-none-match", "if-match"]) assert.equal(tags.condition(name, "*"), "*")
})

test("a condition about another run's answer does not reach the program", () => {
  const other = others.mark('"x"')
  assert.equal(tags.condition("if-none-match", other), undefined)
  assert.equal(tags.condition("if-none-match", `${other}, ${tags.mark('"y"')}`), '"y"')
  assert.equal(tags.condition("if-none-match", '"x"'), undefined)
  assert.equal(tags.condition("if-range", other), undefined)
  assert.equal(tags.condition("if-range", "Tue, 01 Jan 2019 00:00:00 GMT"), undefined)
  assert.equal(tags.condition("if-modified-since", "Tue, 01 Jan 2019 00:00:00 GMT"), undefined)
})

test("a foreign tag is forwarded in `If-Match`, where it can only fail", () => {
  assert.equal(tags.condition("if-match", '"x"'), '"x"')
})
