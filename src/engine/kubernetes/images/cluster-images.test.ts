import assert from "node:assert/strict"
import { test } from "node:test"
import type { V1Node } from "@kubernetes/client-node"
import { RegistryAllowlist } from "../../registry-allowlist.ts"
import { ClusterImages } from "./cluster-images.ts"

const policy = { verifyAccess: false, allowLocal: true }

test("an image that nodes alone have is found by any of its names, and one that was pulled is the registry's", async () => {
  const digest = `sha256:${"a".repeat(64)}`
  const loaded = { names: ["example.com/team/loaded:v1", "docker.io/library/also:latest"], sizeBytes: 7 }
  const pulled = { names: [`example.com/team/pulled@${digest}`, "example.com/team/pulled:v1"], sizeBytes: 8 }
  const first: V1Node = { status: { images: [{ names: ["example.com/other:v1"] }] } }
  let nodes: V1Node[] = [first, { status: { images: [loaded, pulled], nodeInfo: { architecture: "arm64" } as never } }]
  const images = new ClusterImages({ nodes: async () => nodes, registries: new RegistryAllowlist({ allowed: [] }), maxBytes: undefined })
  for (const name of ["example.com/team/loaded:v1", "also"]) {
    const { info, host } = await images.find(name, policy)
    assert.deepEqual([info.size, info.architecture, host], [7, "arm64", undefined])
  }
  const atRegistry = { message: /^Images may not come from/ }
  for (const name of ["example.com/team/pulled:v1", "example.com/team/loaded:v2"])
    await assert.rejects(images.find(name, policy), atRegistry, name)
  nodes = [first]
  await assert.rejects(images.find("also", policy), atRegistry, "the node is gone")
})
