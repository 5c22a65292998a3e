import assert from "node:assert/strict"
import { createHash } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
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

test("of an index, a pod gets the image that was described, for the processors of most nodes, and the registry's digest is the index's", async (t) => {
  const texts = new Map<string, string>()
  const put = (value: object, tag?: string) => {
    const text = JSON.stringify(value)
    const digest = `sha256:${createHash("sha256").update(text).digest("hex")}`
    for (const name of [digest, tag ?? digest]) texts.set(name, text)
    return digest
  }
  const manifest = (volume: string) => put({ config: { digest: put({ config: { Volumes: { [volume]: {} } } }) }, layers: [] })
  const platforms = [
    { architecture: "x86_64" },
    { architecture: "amd64", variant: "v3" },
    { architecture: "amd64" },
    { architecture: "arm64" },
  ]
  const manifests = platforms.map((platform, n) => ({ digest: manifest(`/${n}`), platform: { os: "linux", ...platform } }))
  const index = put({ manifests }, "v1")
  const registry = createServer(({ url = "" }, response) => response.end(texts.get(url.split("/").at(-1) ?? "")))
  t.after(() => registry.close())
  await once(registry.listen(0, "127.0.0.1"), "listening")
  const name = `127.0.0.1:${(registry.address() as AddressInfo).port}/app`
  const node = (architecture: string, pool: string): V1Node => ({
    metadata: { labels: { pool } },
    status: { nodeInfo: { architecture } as never },
  })
  const nodes = [node("arm64", "control"), node("amd64", "runs"), node("amd64", "runs"), node("arm64", "runs")]
  const registries = new RegistryAllowlist({ allowed: ["127.0.0.1:*"] })
  const imagesOf = (nodeSelector: Record<string, string>) =>
    new ClusterImages({ nodes: async () => nodes, registries, maxBytes: undefined, nodeSelector })
  for (const [selector, n, architecture] of [
    [{ pool: "runs" }, 2, "amd64"],
    [{ pool: "control" }, 3, "arm64"],
    [{ "kubernetes.io/arch": "arm64" }, 3, "arm64"],
  ] as const) {
    const digest = manifests[n]?.digest ?? ""
    const found = await imagesOf(selector).find(`${name}:v1`, policy)
    assert.deepEqual([found.reference, found.architecture, found.info.volumes], [`${name}@${digest}`, architecture, [`/${n}`]])
    assert.deepEqual([found.info.digest, found.info.registryDigest], [digest, index])
  }
  const again = (digests: { imageDigest: string; registryDigest?: string }) =>
    imagesOf({ pool: "runs" }).findForRun(
      { image: `${name}:v1`, imagePolicy: policy, user: "ann", ...digests },
      AbortSignal.timeout(10_000),
    )
  const own = manifests[2]?.digest ?? ""
  for (const digests of [{ imageDigest: own, registryDigest: index }, { imageDigest: own }, { imageDigest: index }]) {
    const { info, reference } = await again(digests)
    assert.deepEqual([reference, info.registryDigest], [`${name}@${own}`, index])
  }
  await assert.rejects(again({ imageDigest: manifests[3]?.digest ?? "" }), { code: "image_unavailable" })
})
