import { openAsBlob } from "node:fs"
import { Failure } from "#contract"
import type { FilesClient } from "./files-client.ts"

/** Smaller files are sent by one PUT. */
export const resumableBytes = 8 * 2 ** 20
const chunkBytes = 16 * 2 ** 20
const maxFailures = 8
const tus = { "tus-resumable": "1.0.0" }

export interface Upload {
  /** On this machine. */
  file: string
  size: number
  modifiedMs: number
  /** Below the files root. */
  path: string
}

/** Addresses of unfinished uploads, which outlive this program. */
export interface UploadMemory {
  get(upload: Upload): string | undefined
  set(upload: Upload, address: string | undefined): Promise<void>
}

/** Sends one file, large ones by tus: a broken connection loses none of their chunks. */
export async function sendFile(client: FilesClient, upload: Upload, memory: UploadMemory, onBytes: (count: number) => void): Promise<void> {
  const content = await openAsBlob(upload.file)
  if (upload.size < resumableBytes) {
    await client.send("PUT", client.url(upload.path), { headers: modified(upload), body: () => content })
    return onBytes(upload.size)
  }
  const { address, offset } = await openUpload(client, upload, memory)
  onBytes(offset)
  await sendChunks(client, upload, { content, address, offset, onBytes })
  await memory.set(upload, undefined)
}

/** ownCloud's header: the server sets the file's time. */
function modified({ modifiedMs }: Upload): Record<string, string> {
  return { "x-oc-mtime": String(Math.floor(modifiedMs / 1000)) }
}

/** Continues the upload that an earlier call began, if the server still has it. */
async function openUpload(client: FilesClient, upload: Upload, memory: UploadMemory): Promise<{ address: string; offset: number }> {
  const known = memory.get(upload)
  const offset = known === undefined ? undefined : await offsetOf(client, known)
  if (known !== undefined && offset !== undefined) return { address: known, offset }
  const headers = { ...tus, ...modified(upload), "upload-length": String(upload.size) }
  const response = await client.send("POST", client.url(upload.path), { headers })
  const address = client.ownAddress(response.headers.get("location") ?? "")
  await memory.set(upload, address)
  return { address, offset: 0 }
}

interface Sending {
  content: Blob
  address: string
  offset: number
  onBytes: (count: number) => void
}

async function sendChunks(client: FilesClient, upload: Upload, { content, address, offset, onBytes }: Sending): Promise<void> {
  let at = offset
  let failures = 0
  while (at < upload.size) {
    const headers = { ...tus, ...modified(upload), "upload-offset": String(at), "content-type": "application/offset+octet-stream" }
    const chunk = content.slice(at, at + chunkBytes)
    const reached = await client.sendOnce("PATCH", address, { headers, body: () => chunk }).then(
      (response) => Number(response.headers.get("upload-offset")),
      async (error: unknown) => {
        const isStale = error instanceof Failure && error.status === 409
        failures += 1
        if (failures > maxFailures || !(isStale || client.isWorthRepeating(error))) throw error
        await client.pause(Math.min(failures, 5))
        // The server kept the bytes that came before the connection broke.
        const kept = await offsetOf(client, address)
        if (kept === undefined) throw error
        return kept
      },
    )
    if (reached > at) failures = 0
    onBytes(reached - at)
    at = reached
  }
}

/** How many bytes the server has; undefined if the upload expired, or became the file. */
async function offsetOf(client: FilesClient, address: string): Promise<number | undefined> {
  try {
    const response = await client.send("HEAD", address, { headers: tus })
    return Number(response.headers.get("upload-offset"))
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return undefined
    throw error
  }
}
