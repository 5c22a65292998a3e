import assert from "node:assert/strict"
import { test } from "node:test"
import { sql } from "kysely"
import { query } from "./query.ts"
import { queryBuilder } from "./query-builder.ts"
import { compile, QueryCompiler } from "./query-compiler.ts"

test("the compiler returns the same compiled query for the same name and shape", () => {
  const compiler = new QueryCompiler("sqlite")
  const compiled = compiler.compile(query("get", "images"))
  assert.equal(compiler.compile(query("get", "images")), compiled)
  assert.notEqual(compiler.compile(query("get", "projects")), compiled)
})

test("the compiler names the argument of each parameter in each dialect's own text", () => {
  const userId = query("userId")
  assert.deepEqual(new QueryCompiler("sqlite").compile(userId), {
    sql: 'select "id" from "users" where "user_name" = ?',
    parameters: ["name"],
  })
  assert.deepEqual(new QueryCompiler("postgres").compile(userId), {
    sql: 'select "id" from "users" where "user_name" = $1',
    parameters: ["name"],
  })
})

test("the compiler drops the least recently used query beyond 1,000", () => {
  const compiler = new QueryCompiler("sqlite")
  const listOf = (i: number) => query("total", { table: "images", subset: "live", sees: "all", where: [`column_${i}`] })
  const [first, second] = [compiler.compile(listOf(0)), compiler.compile(listOf(1))]
  for (let i = 2; i < 1_000; i += 1) compiler.compile(listOf(i))
  assert.equal(compiler.compile(listOf(0)), first)
  compiler.compile(listOf(1_000))
  assert.equal(compiler.compile(listOf(0)), first)
  assert.notEqual(compiler.compile(listOf(1)), second)
})

test("the compiler throws when a constant is written as a parameter", () => {
  const withConstant = () => sql`select ${1}`
  assert.throws(
    () => compile(queryBuilder("sqlite"), () => ({ compile: () => withConstant().compile(queryBuilder("sqlite").db) }), undefined),
    /sql\.lit/,
  )
})
