import assert from "node:assert/strict"
import { test } from "node:test"
import { EntityTags } from "./entity-tags.ts"
import { keyA, keyB } from "./scene.ts"

const tags = new EntityTags(keyA)
const others = new EntityTags(keyB)

test("entity tags come back as the program made them, strong and weak", () => {
  for (const tag of ['"x"', 'W/"x-y"', '""', '"a,b"']) {
    assert.notEqual(tags.marked(tag), tag)
    for (const name of ["if-none-match", "if-match", "if-range"]) assert.equal(tags.condition(name, tags.marked(tag)), tag, name)
  }
  assert.equal(tags.condition("if-none-match", `${tags.marked('"1"')}, ${tags.marked('W/"2"')}`), '"1", W/"2"')
  for (const name of ["if-none-match", "if-match"]) assert.equal(tags.condition(name, "*"), "*")
})

test("a condition about another run's answer does not reach the program", () => {
  const other = others.marked('"x"')
  assert.equal(tags.condition("if-none-match", other), undefined)
  assert.equal(tags.condition("if-none-match", `${other}, ${tags.marked('"y"')}`), '"y"')
  assert.equal(tags.condition("if-none-match", '"x"'), undefined)
  assert.equal(tags.condition("if-range", other), undefined)
  assert.equal(tags.condition("if-range", "Tue, 01 Jan 2019 00:00:00 GMT"), undefined)
  assert.equal(tags.condition("if-modified-since", "Tue, 01 Jan 2019 00:00:00 GMT"), undefined)
})

test("a tag that a script learned elsewhere stands in If-Match, where it can only refuse", () => {
  assert.equal(tags.condition("if-match", '"x"'), '"x"')
})
