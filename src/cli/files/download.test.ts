import assert from "node:assert/strict"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { receiveFile } from "./download.ts"
import type { FilesClient } from "./files-client.ts"

test("a file that is longer than it was listed ends the download, and nothing of it stays", { timeout: 20_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "quayside-download-"))
  const endless = new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(1_024)) })
  const client = { url: (path: string) => path, sendOnce: async () => new Response(endless), isRetryable: () => false }
  const file = { path: "a", size: 5_000, modifiedMs: 0 }
  const received = receiveFile(client as unknown as FilesClient, { remote: "/a", target: join(directory, "a"), file }, () => {})
  await assert.rejects(received, /changed while it was read/)
  assert.deepEqual(await readdir(directory), [])
  await rm(directory, { recursive: true })
})
