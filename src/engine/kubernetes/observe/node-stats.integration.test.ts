import assert from "node:assert/strict"
import { createServer } from "node:https"
import { test } from "node:test"
import type { V1Node, V1Pod } from "@kubernetes/client-node"
import { silentLogger } from "#kit"
import { createCertificate } from "../../../../test/fixtures/kubernetes/certificate.ts"
import { startFakeApiServer } from "../testing/fake-api-server.ts"
import { NodeStats } from "./node-stats.ts"

const address = "127.0.73.15"
const key = "a".repeat(32)
const node: V1Node = { metadata: { name: "n" }, status: { addresses: [{ type: "InternalIP", address }] } }
const pod: V1Pod = {
  metadata: { name: "p", uid: "u", labels: { "quayside.io/key": key, "quayside.io/rank": "0" } },
  spec: { nodeName: "n", containers: [] },
  status: { containerStatuses: [{ name: "main", image: "", imageID: "", ready: true, restartCount: 0, state: { running: {} } }] },
}

test("a kubelet is asked again and again over one connection", async ({ mock }) => {
  mock.timers.enable({ apis: ["Date"] })
  let [asked, connections] = [0, 0]
  const kubelet = createServer(await createCertificate(), (_, response) => {
    asked += 1
    response.end(JSON.stringify({ pods: [{ podRef: { uid: "u" }, memory: { workingSetBytes: asked } }] }))
  }).on("secureConnection", () => {
    connections += 1
  })
  await new Promise<void>((resolve) => kubelet.listen(10_250, address, resolve))
  await using server = await startFakeApiServer()
  using stats = new NodeStats({ client: server.client, nodes: async () => [node], skipsTlsVerification: true, logger: silentLogger })
  for (const memory of [1, 2, 3]) {
    assert.deepEqual(
      (await stats.stats([pod])).map((each) => [each.key, each.memory]),
      [[key, memory]],
    )
    mock.timers.tick(10_000)
  }
  assert.equal(connections, 1)
  stats[Symbol.dispose]()
  await new Promise((resolve) => kubelet.close(resolve))
})
