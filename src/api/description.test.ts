import assert from "node:assert/strict"
import { test } from "node:test"
import type { ApiSettings } from "./context.ts"
import { installationHandlers } from "./handlers/installation.ts"

const settings = { version: "1", baseUrl: "http://localhost", memoryUnit: "GiB" } as ApiSettings

test("what describes the API is not made anew for each stranger who asks", () => {
  const made = installationHandlers.openapi({ settings })
  assert.equal(installationHandlers.openapi({ settings }), made)
  assert.equal(JSON.parse(made.text).info.version, "1")
  const other = installationHandlers.openapi({ settings: { ...settings, version: "2" } })
  assert.equal(JSON.parse(other.text).info.version, "2")
})
