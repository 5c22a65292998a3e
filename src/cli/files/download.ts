import { createHash } from "node:crypto"
import { type FileHandle, mkdir, open, rename, rm, utimes } from "node:fs/promises"
import { dirname } from "node:path"
import { CliError } from "../io/failures.ts"
import type { FilesClient } from "./files-client.ts"
import type { TreeFile } from "./trees.ts"

const maxFailures = 8

/**
 * Receives one file beside its place and renames it into it, so that nobody reads half of it. A
 * broken connection goes on at the byte where it stopped, unless the file has changed meanwhile.
 * Returns the SHA-256 of what was written.
 */
export async function receiveFile(
  client: FilesClient,
  { remote, target, file, ifMatch }: { remote: string; target: string; file: TreeFile; ifMatch?: string },
  onBytes: (count: number) => void,
): Promise<string> {
  await mkdir(dirname(target), { recursive: true })
  const tempFile = `${target}.${process.pid}.part`
  // `wx` follows no link that somebody else put there.
  const handle = await open(tempFile, "wx", 0o666)
  try {
    const sha256 = await receiveInto(client, { url: client.url(remote), handle, size: file.size, ifMatch }, onBytes)
    await handle.sync()
    await handle.close()
    const time = new Date(file.modifiedMs)
    await utimes(tempFile, time, time)
    await rename(tempFile, target)
    return sha256
  } catch (error) {
    await handle.close().catch(() => {})
    await rm(tempFile, { force: true })
    throw error
  }
}

async function receiveInto(
  client: FilesClient,
  { url, handle, size, ifMatch }: { url: string; handle: FileHandle; size: number; ifMatch: string | undefined },
  onBytes: (count: number) => void,
): Promise<string> {
  const hash = createHash("sha256")
  let received = 0
  let tag: string | undefined
  for (let failures = 0; ; ) {
    try {
      const first: Record<string, string> = ifMatch === undefined ? {} : { "if-match": ifMatch }
      const headers = received === 0 ? first : { range: `bytes=${received}-`, "if-range": tag ?? "" }
      const response = await client.sendOnce("GET", url, { headers })
      if (received > 0 && response.status !== 206) throw new CliError(`${url} changed while it was read; pull it again.`)
      tag = response.headers.get("etag") ?? undefined
      for await (const chunk of response.body ?? []) {
        await handle.write(chunk, 0, chunk.length, received)
        hash.update(chunk)
        received += chunk.length
        if (received > size) break
        onBytes(chunk.length)
        failures = 0
      }
      if (received !== size)
        throw new CliError(`${url} changed while it was read: ${size} bytes were expected and ${received} came. Pull it again.`)
      return hash.digest("hex")
    } catch (error) {
      failures += 1
      if (error instanceof CliError || failures > maxFailures || !client.isRetryable(error)) throw error
      await client.backOff(Math.min(failures, 5))
    }
  }
}
