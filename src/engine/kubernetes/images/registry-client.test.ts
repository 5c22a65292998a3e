import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { EngineError } from "../../engine.ts"
import { RegistryAllowlist } from "../../registry-allowlist.ts"
import { ClusterImages } from "./cluster-images.ts"
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

test("a registry leads its clients to no host that the allowlist denies, by redirects or for a token", async (t) => {
  const requests: string[] = []
  const registry = createServer(({ url = "" }, response) => {
    requests.push(url)
    if (url.includes("/moved/")) response.writeHead(307, { location: "https://10.0.0.1/secret" }).end()
    else response.writeHead(401, { "www-authenticate": 'Bearer realm="https://10.0.0.1/token"' }).end()
  })
  t.after(() => registry.close())
  await once(registry.listen(0, "127.0.0.1"), "listening")
  const { port } = registry.address() as AddressInfo
  const registries = new RegistryAllowlist({ allowed: ["127.0.0.1:*"] })
  const led: string[][] = []
  t.mock.method(registries, "checkRedirect", async ({ host }: { host: string }, to: string) => {
    led.push([host, to])
    throw new EngineError("image_pull_denied", "denied")
  })
  const images = new ClusterImages({ nodes: async () => [], registries, maxBytes: undefined })
  const policy = { verifyAccess: false, allowLocal: false }
  for (const name of ["moved/app", "app"])
    await assert.rejects(images.find(`127.0.0.1:${port}/${name}:v1`, policy), { code: "image_pull_denied", message: "denied" })
  assert.deepEqual(led, Array(2).fill([`127.0.0.1:${port}`, "10.0.0.1"]))
  assert.equal(requests.length, 2)
})
