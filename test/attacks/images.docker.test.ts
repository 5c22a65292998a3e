import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { test } from "node:test"
import { bounds } from "#contract"
import { systemClock } from "#kit"
import { DiskGuard } from "../../src/engine/docker/images/disk-guard.ts"
import { sendRequest } from "../api/http-client.ts"
import { startRegistry } from "../fixtures/docker/registry.ts"
import { startTestServer } from "../test-server.ts"

test("on a disk with little room, an image that somebody fetched and nobody needs goes before a pull of another person", async (t) => {
  await using registry = await startRegistry()
  await using server = await startTestServer({ engine: "docker", registries: registry.host })
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const fetchAs = async ({ client, authorization: as }: typeof ann, name: string) => {
    const { ID } = await client.createImage({ body: { Name: name, Image: `${registry.host}/${name}` } })
    const { status, text } = await sendRequest(server.quayside.baseUrl, "POST", `/image/pull?ID=${ID}`, { as })
    assert.equal(status, 200, text)
  }
  const stored = async () => {
    const { data } = await server.admin.listStoredImages({ query: { pageSize: 200 } })
    return data.flatMap(({ Images }) => Images).filter((name) => name.startsWith(registry.host))
  }
  t.after(() => execFileSync("docker", ["rmi", `${registry.host}/good/second`]))
  await fetchAs(ann, "good/first")
  t.mock.method(DiskGuard.prototype, "littleRoom", async () => ({ lackingBytes: 1, totalBytes: 2 ** 40 }))
  const { now } = systemClock
  t.mock.method(systemClock, "now", () => now.call(systemClock) + bounds.containers.imageFreshMs.value)
  await fetchAs(bob, "good/second")
  assert.deepEqual(await stored(), [`${registry.host}/good/second:latest`])
})
