import assert from "node:assert/strict"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import type { FilesClient } from "./files-client.ts"
import { sendFile } from "./upload.ts"

test("a large file whose parts the server does not count is not taken for uploaded", { timeout: 20_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "quayside-upload-"))
  const [file, size] = [join(directory, "a"), 9 * 2 ** 20]
  await writeFile(file, Buffer.alloc(size))
  const uploadUrls = { get: () => undefined, set: async () => {} }
  for (const offset of ["", "many", "0", String(2 * size)]) {
    const client = {
      url: (path: string) => path,
      checkLocation: (location: string) => location,
      isRetryable: () => false,
      send: async () => new Response(null, { headers: { location: "/upload" } }),
      sendOnce: async () => new Response(null, { status: 204, headers: { "upload-offset": offset } }),
    }
    const upload = { file, size, modifiedMs: 0, path: "/a" }
    await assert.rejects(
      sendFile(client as unknown as FilesClient, upload, uploadUrls, () => {}),
      /stored no part/,
    )
  }
  await rm(directory, { recursive: true })
})
