import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import promises from "node:fs/promises"
import { syncBuiltinESMExports } from "node:module"
import { test } from "node:test"
import { bounds } from "#contract"
import { systemClock } from "#kit"
import { sendRequest } from "../api/http-client.ts"
import { startRegistry } from "../fixtures/docker/registry.ts"
import { startTestServer } from "../test-server.ts"

test("on a disk with little room, an image that somebody fetched and nobody needs goes before a pull of another person", async (t) => {
  await using registry = await startRegistry()
  await using server = await startTestServer({ engine: "docker", registries: registry.host })
  const [ann, bob] = [await server.person("ann"), await server.person("bob")]
  const fetchAs = async ({ client, authorization: as }: typeof ann, name: string) => {
    const { ID } = await client.createImage({ body: { Name: name, Image: `${registry.host}/${name}` } })
    return sendRequest(server.quayside.baseUrl, "POST", `/image/pull?ID=${ID}`, { as })
  }
  const stored = async () => {
    const { data } = await server.admin.listStoredImages({ query: { pageSize: 200 } })
    return data.flatMap(({ Images }) => Images).filter((name) => name.startsWith(registry.host))
  }
  t.after(() => execFileSync("docker", ["rmi", `${registry.host}/good/second`]))
  assert.equal((await fetchAs(ann, "good/first")).status, 200)
  const { statfs } = promises
  t.mock.method(promises, "statfs", async (path: string) => {
    const found = await statfs(path)
    const blocksOf = (gib: number) => (gib * 2 ** 30) / found.bsize
    return { ...found, blocks: blocksOf(200), bavail: blocksOf(20) }
  })
  syncBuiltinESMExports()
  t.after(syncBuiltinESMExports)
  const { now } = systemClock
  t.mock.method(systemClock, "now", () => now.call(systemClock) + bounds.containers.imageFreshMs.value)
  assert.notEqual((await fetchAs(bob, "missing/other")).status, 200)
  assert.deepEqual(await stored(), [`${registry.host}/good/first:latest`])
  assert.equal((await fetchAs(bob, "good/second")).status, 200)
  assert.deepEqual(await stored(), [`${registry.host}/good/second:latest`])
})
