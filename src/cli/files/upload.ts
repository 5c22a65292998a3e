import { openAsBlob } from "node:fs"
import { Failure } from "#contract"
import { CliError } from "../io/failures.ts"
import type { FilesClient } from "./files-client.ts"

/** Smaller files are sent by one PUT. */
const minResumableBytes = 8 * 2 ** 20
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
  /** Headers such as `If-Match`, which the server judges when the file gets its name. */
  preconditions?: Readonly<Record<string, string>>
}

/** The URLs of unfinished uploads. It outlives this process, so that a later one continues them. */
export interface UploadUrlStore {
  get(upload: Upload): string | undefined
  set(upload: Upload, address: string | undefined): Promise<void>
}

/**
 * Sends one file, large ones by tus: a broken connection loses none of their chunks. Resolves with
 * the new file's `ETag`; it is empty if the server sent none.
 */
export async function sendFile(
  client: FilesClient,
  upload: Upload,
  uploadUrls: UploadUrlStore,
  onBytes: (count: number) => void,
): Promise<string> {
  const content = await openAsBlob(upload.file)
  if (upload.size < minResumableBytes) {
    const { headers } = await client.send("PUT", client.url(upload.path), { headers: headersOf(upload), body: () => content })
    onBytes(upload.size)
    return headers.get("etag") ?? ""
  }
  const { address, offset } = await openUpload(client, upload, uploadUrls)
  onBytes(offset)
  const tag = await sendChunks(client, upload, { content, address, offset, onBytes })
  await uploadUrls.set(upload, undefined)
  return tag
}

/** ownCloud's header makes the server set the file's time. */
function headersOf({ modifiedMs, preconditions }: Upload): Record<string, string> {
  return { ...preconditions, "x-oc-mtime": String(Math.floor(modifiedMs / 1000)) }
}

/** Continues the upload that an earlier call began, if the server still has it. */
async function openUpload(client: FilesClient, upload: Upload, uploadUrls: UploadUrlStore): Promise<{ address: string; offset: number }> {
  const known = uploadUrls.get(upload)
  const offset = known === undefined ? undefined : await offsetOf(client, known)
  if (known !== undefined && offset !== undefined) return { address: known, offset }
  const headers = { ...tus, ...headersOf(upload), "upload-length": String(upload.size) }
  const response = await client.send("POST", client.url(upload.path), { headers })
  const address = client.checkLocation(response.headers.get("location") ?? "")
  await uploadUrls.set(upload, address)
  return { address, offset: 0 }
}

interface Sending {
  content: Blob
  address: string
  offset: number
  onBytes: (count: number) => void
}

async function sendChunks(client: FilesClient, upload: Upload, { content, address, offset, onBytes }: Sending): Promise<string> {
  let at = offset
  let tag = ""
  let failures = 0
  while (at < upload.size) {
    const headers = { ...tus, ...headersOf(upload), "upload-offset": String(at), "content-type": "application/offset+octet-stream" }
    const chunk = content.slice(at, at + chunkBytes)
    const reached = await client.sendOnce("PATCH", address, { headers, body: () => chunk }).then(
      (response) => {
        tag = response.headers.get("etag") ?? ""
        const after = Number(response.headers.get("upload-offset"))
        if (after > at && after <= upload.size) return after
        throw new CliError(`The server stored no part of ${upload.path} that was sent; push it again.`)
      },
      async (error: unknown) => {
        const isStale = error instanceof Failure && error.status === 409
        failures += 1
        if (failures > maxFailures || !(isStale || client.isRetryable(error))) throw error
        await client.backOff(Math.min(failures, 5))
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
  return tag
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
