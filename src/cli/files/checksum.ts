import { createHash } from "node:crypto"
import { createReadStream } from "node:fs"
import type { FilesClient } from "./files-client.ts"

/** The SHA-256 of a file of this machine. */
export async function localChecksum(path: string): Promise<string> {
  const hash = createHash("sha256")
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest("hex")
}

/** The SHA-256 of a file at the server, which is read whole. */
export async function remoteChecksum(client: FilesClient, path: string): Promise<string> {
  const hash = createHash("sha256")
  const response = await client.send("GET", client.url(path))
  for await (const chunk of response.body ?? []) hash.update(chunk)
  return hash.digest("hex")
}
