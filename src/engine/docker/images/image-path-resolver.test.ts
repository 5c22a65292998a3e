import assert from "node:assert/strict"
import { test } from "node:test"
import type { DockerClient } from "../client/docker-client.ts"
import { ImagePathResolver } from "./image-path-resolver.ts"

/** A daemon in whose images each path is a directory. */
const stat = Buffer.from(JSON.stringify({ mode: 1 << 31 })).toString("base64")
const answer = { resume: () => {}, headers: { "x-docker-container-path-stat": stat } }
const docker = { getContainer: () => ({ infoArchive: async () => answer }) }
const client = { call: (work: (api: unknown, abort: object) => unknown) => work(docker, {}) } as unknown as DockerClient

test("images whose paths have very many bytes are forgotten, the oldest first", async () => {
  const resolver = new ImagePathResolver(client)
  const long = (seed: number) => `/${seed}`.padEnd(4_000, "x")
  const learn = (imageId: string, count: number) =>
    resolver.learn(
      { imageId, id: "container" },
      Array.from({ length: count }, (_, i) => long(i)),
      {},
    )
  await learn("sha256:first", 500)
  for (let i = 0; i < 6; i += 1) await learn(`sha256:${i}`, 500)
  assert.ok(resolver.knows("sha256:first", [long(0), long(499)]))
  for (let i = 6; i < 9; i += 1) await learn(`sha256:${i}`, 500)
  assert.equal(resolver.knows("sha256:first", [long(0)]), false)
  assert.ok(resolver.knows("sha256:8", [long(0), long(499)]))
})
