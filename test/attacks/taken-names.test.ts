import assert from "node:assert/strict"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { test } from "node:test"
import { startTestServer } from "../test-server.ts"

/*
 * A person makes directories with the names that new ones would get. Each name that is tried asks
 * the file server, which serves everybody.
 */

test("a new dataset gets a free name after few attempts, however many names are taken", async () => {
  await using server = await startTestServer()
  const ann = await server.person("ann")
  const create = async () => (await ann.client.createData({ body: { Name: "x" } })).AccessInfo
  assert.deepEqual([await create(), await create()], ["/users/ann/datasets/x", "/users/ann/datasets/x-2"])
  for (let n = 3; n <= 200; n += 1) mkdirSync(join(server.dataDir, `files/users/ann/datasets/x-${n}`))
  const paths = new Set([await create(), await create()])
  assert.equal(paths.size, 2)
  for (const path of paths) assert.match(path, /^\/users\/ann\/datasets\/x-[0-9a-f]{16}$/)
})
