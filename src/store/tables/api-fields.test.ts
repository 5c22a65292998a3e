import assert from "node:assert/strict"
import { test } from "node:test"
import { changesFromBody, fieldsByApiName, fieldsFromBody, valuesByApiName } from "./api-fields.ts"
import { copiedName, flag, integer, text } from "./column.ts"
import { stamps } from "./stamps.ts"
import { describeTable } from "./table.ts"

const notes = describeTable({
  name: "notes",
  fields: {
    ...stamps,
    noteTitle: text("note_title", { apiName: "Title" }),
    isPinned: flag("is_pinned", { apiName: "IsPinned" }),
    userId: integer("user_id"),
    userName: copiedName("user_name", { apiName: "UserName" }),
  },
})

test("a complete body sets every field that it may set, and no others", () => {
  const body = { Title: "A", IsPinned: false, UserName: "ann", ID: 7, CreatedAt: "2026-01-01T00:00:00Z", Unknown: 1 }
  assert.deepEqual(fieldsFromBody(notes, body), { noteTitle: "A", isPinned: false })
})

test("a partial body sets only its own fields", () => {
  assert.deepEqual(changesFromBody(notes, { IsPinned: true }), { isPinned: true })
  assert.deepEqual(changesFromBody(notes, {}), {})
})

test("fields and values are found by their API names, except fields that have none", () => {
  const fields = { ID: "id", CreatedAt: "createdAt", UpdatedAt: "updatedAt", DeletedAt: "deletedAt" }
  assert.deepEqual(fieldsByApiName(notes), { ...fields, Title: "noteTitle", IsPinned: "isPinned", UserName: "userName" })
  const row = { id: 1, createdAt: 2, updatedAt: 3, deletedAt: null, version: 4, noteTitle: "A", isPinned: true, userId: 5, userName: "ann" }
  const values = { ID: 1, CreatedAt: 2, UpdatedAt: 3, DeletedAt: null, Title: "A", IsPinned: true, UserName: "ann" }
  assert.deepEqual(valuesByApiName(notes, row), values)
})
