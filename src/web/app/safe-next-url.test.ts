import assert from "node:assert/strict"
import { test } from "node:test"
import { safeNextUrl } from "./safe-next-url.ts"

test("the address after signing in is one of this service only", () => {
  const origin = "http://localhost:8080"
  for (const [next, expected] of [
    ["/open?ID=5", "/open?ID=5"],
    ["/ui/runs/5?tab=logs", "/ui/runs/5?tab=logs"],
    [undefined, "/ui/"],
    ["", "/ui/"],
    ["//evil.example/", "/ui/"],
    ["/\\evil.example/", "/ui/"],
    ["/\t/evil.example/", "/ui/"],
    ["https://evil.example/", "/ui/"],
    ["javascript:alert(1)", "/ui/"],
    ["//[", "/ui/"],
  ] as const) {
    assert.equal(safeNextUrl(next, origin), expected, String(next))
  }
})
