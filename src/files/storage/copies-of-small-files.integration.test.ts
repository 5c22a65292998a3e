import assert from "node:assert/strict"
import { test } from "node:test"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { defaultStorageSettings } from "../settings.ts"
import { DirectoryHandle } from "../tree/directory-handle.ts"
import { StorageScan } from "./scan.ts"

const maxBytes = 500 * 1_024

function bytesOf(home: string): number {
  using root = DirectoryHandle.open(home)
  const scan = new StorageScan(
    root,
    { name: "ann", userId: 1, roots: ["/users/ann"], excluded: [], subAreas: [] },
    defaultStorageSettings(undefined),
  )
  for (const _ of scan.steps());
  return scan.result(0, true).bytes
}

type Copy = (server: TestFilesServer, to: string) => Promise<number>

const copyByRequest: Copy = async (server, to) =>
  (await server.ask("COPY", "/users/ann/many", { headers: { destination: `/users/ann/${to}` } })).status

const copyTree: Copy = (server, to) =>
  server.files.tree.copyTree("/users/ann/many", `/users/ann/${to}`, { account: "ann", maxBytes, maxEntries: 1_000 }).then(
    () => 201,
    ({ status }: { status: number }) => status,
  )

for (const [title, copy] of [
  ["`COPY`", copyByRequest],
  ["copies of projects", copyTree],
] as const) {
  test(`${title} of small files get no more of the disk than \`MaxStorage\``, async () => {
    // The last count decides.
    await using server = await TestFilesServer.start({ storage: { recountAfterMs: 3_600_000 } })
    server.authority.quotas.set("ann", { maxBytes })
    server.makeDirectory("users/ann/many")
    for (let i = 0; i < 20; i += 1) assert.equal((await server.ask("PUT", `/users/ann/many/${i}`, { body: "x" })).status, 201)
    const answers: number[] = []
    for (let i = 0; i < 10; i += 1) answers.push(await copy(server, `copy${i}`))
    assert.deepEqual([answers[0], answers.at(-1)], [201, 507])
    const bytes = bytesOf(server.root)
    assert.ok(bytes <= maxBytes, `${bytes} bytes are stored`)
  })
}
