import assert from "node:assert/strict"
import { test } from "node:test"
import type { ApiSettings } from "./context.ts"
import { installationHandlers } from "./handlers/installation.ts"

const settings = { version: "1", baseUrl: "http://localhost", memoryUnit: "GiB" } as ApiSettings

test("`GET /openapi.json` builds its answer once, not for each request", () => {
  const created = installationHandlers.openapi({ services: { settings } })
  assert.equal(installationHandlers.openapi({ services: { settings } }), created)
  assert.equal(JSON.parse(created.text).info.version, "1")
  const other = installationHandlers.openapi({ services: { settings: { ...settings, version: "2" } } })
  assert.equal(JSON.parse(other.text).info.version, "2")
})
