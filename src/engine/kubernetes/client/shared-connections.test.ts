import assert from "node:assert/strict"
import { test } from "node:test"
import { type FakeApiServer, startFakeApiServer } from "../testing/fake-api-server.ts"

const path = "/api/v1/namespaces/test/pods"

async function callTimes(count: number, { client }: FakeApiServer): Promise<void> {
  for (let n = 0; n < count; n += 1)
    await client.core("list pods", (core, settings) => core.listNamespacedPod({ namespace: "test" }, settings))
}

test("many calls to the API server share few connections, beside that of a watch", async () => {
  await using server = await startFakeApiServer()
  const { library, config } = server.client
  const ignore = () => {}
  const watch = await new library.Watch(config).watch(path, {}, ignore, ignore)
  await callTimes(20, server)
  watch.abort()
  assert.equal(server.asked.length, 21)
  assert.ok(server.connections <= 3, `${server.connections} connections`)
})

test("after the kubeconfig's certificates changed, calls use new connections", async () => {
  await using server = await startFakeApiServer()
  const { config } = server.client
  await callTimes(10, server)
  const before = server.connections
  const [cluster = assert.fail()] = config.clusters
  config.clusters = [{ ...cluster, caData: Buffer.from("another").toString("base64") }]
  await callTimes(1, server)
  assert.equal(server.connections, before + 1)
})
