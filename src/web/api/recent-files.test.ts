import assert from "node:assert/strict"
import { test } from "node:test"
import { RecentFiles } from "./recent-files.ts"

function memory() {
  const texts = new Map<string, string>()
  return { texts, getItem: (key: string) => texts.get(key) ?? null, setItem: (key: string, text: string) => void texts.set(key, text) }
}

test("recent files are the last few of one person, each once and the newest first", () => {
  const storage = memory()
  const recent = new RecentFiles("ann", storage)
  recent.add(["/users/ann/a", "/users/ann/b"], new Date("2026-01-01T00:00:00Z"))
  recent.add(["/users/ann/b"], new Date("2026-01-02T00:00:00Z"))
  assert.deepEqual(recent.read(), [
    { path: "/users/ann/b", usedAt: "2026-01-02T00:00:00.000Z" },
    { path: "/users/ann/a", usedAt: "2026-01-01T00:00:00.000Z" },
  ])
  assert.deepEqual(new RecentFiles("bob", storage).read(), [])
  recent.add(Array.from({ length: 5_000 }, (_, i) => `/users/ann/${i}`))
  assert.deepEqual(
    recent.read().map(({ path }) => path),
    Array.from({ length: 8 }, (_, i) => `/users/ann/${i}`),
  )
})

test("stored texts of any form are no files, and a full storage is no error", () => {
  const storage = memory()
  for (const text of ["", "{", "{}", "[null, 1, {}]", '[{"path":"x","usedAt":"2026-01-01"},{"path":"/x","usedAt":"never"}]']) {
    storage.texts.set("quayside.recent-files.ann", text)
    assert.deepEqual(new RecentFiles("ann", storage).read(), [])
  }
  const full = {
    getItem: () => null,
    setItem: () => {
      throw new Error("full")
    },
  }
  new RecentFiles("ann", full).add(["/a"])
})
