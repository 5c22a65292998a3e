import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { describeImage } from "./registry-client.ts"

test("a registry's description of millions of values is refused", async (t) => {
  const body = `{"layers":[${"{},".repeat(1_000_000)}{}]}`
  const registry = createServer((_request, response) => response.end(body))
  t.after(() => registry.close())
  await once(registry.listen(0, "127.0.0.1"), "listening")
  const reference = { host: `127.0.0.1:${(registry.address() as AddressInfo).port}`, path: "app", tag: "latest", digest: "" }
  const described = describeImage(reference, { credentials: undefined, architectures: ["amd64"], maxBytes: 0 })
  await assert.rejects(described, { code: "image_pull_failed", message: /more than 50000 values/ })
})
