import { Failure } from "#contract"
import { createDirectory, fileUrl, sendFileRequest } from "../../api/files-address.ts"
import type { UploadItem, UploadSender } from "./upload-queue.ts"

/** A smaller file is sent by one PUT. */
const resumableBytes = 8 * 2 ** 20
const chunkBytes = 16 * 2 ** 20
const tus = { "tus-resumable": "1.0.0" }

/** Directories that exist, or are being made, by path. */
const directories = new Map<string, Promise<void>>()

/** Makes a directory below one that exists, and those between them. */
export function ensureDirectory(path: string, above: string): Promise<void> {
  if (path.length <= above.length) return Promise.resolve()
  const known = directories.get(path)
  if (known) return known
  const made = ensureDirectory(parentOf(path), above)
    .then(() => createDirectory(path))
    .catch((error: unknown) => {
      // It exists already.
      if (error instanceof Failure && error.status === 405) return
      directories.delete(path)
      throw error
    })
  directories.set(path, made)
  return made
}

/** Forgets which directories exist: somebody may have deleted them. */
export function forgetDirectories(): void {
  directories.clear()
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"))
}

/** Sends one file, large ones in pieces that a lost connection does not lose. */
export const sendFile: UploadSender = async (item, options) => {
  await ensureDirectory(parentOf(item.path), item.target)
  if (item.file.size < resumableBytes) await putFile(item, options.signal)
  else await sendInPieces(item, options)
}

function conditions({ file, mayReplace }: UploadItem): Record<string, string> {
  const modified = file.lastModified === undefined ? {} : { "x-oc-mtime": String(Math.floor(file.lastModified / 1000)) }
  return mayReplace ? modified : { ...modified, "if-none-match": "*" }
}

/** Memory holds a small file; the browser reads a large one from disk while it sends. */
async function putFile(item: UploadItem, signal: AbortSignal): Promise<void> {
  const body = item.file.size < resumableBytes ? await item.file.arrayBuffer() : item.file
  await sendFileRequest("PUT", fileUrl(item.path), { headers: conditions(item), body, signal })
}

async function sendInPieces(item: UploadItem, { signal, onProgress }: Parameters<UploadSender>[1]): Promise<void> {
  const { size } = item.file
  let offset = item.address === undefined ? undefined : await offsetOf(item.address, signal)
  if (item.address === undefined || offset === undefined) {
    item.address = await beginUpload(item, signal)
    if (item.address === undefined) return putFile(item, signal)
    offset = 0
  }
  onProgress(offset)
  do {
    const body = await item.file.slice(offset, offset + chunkBytes).arrayBuffer()
    const headers = {
      ...tus,
      ...conditions(item),
      "upload-offset": String(offset),
      "content-type": "application/offset+octet-stream",
    }
    const response = await sendFileRequest("PATCH", item.address, { headers, body, signal })
    offset = Number(response.headers.get("upload-offset"))
    onProgress(offset)
  } while (offset < size)
}

/** The address of a new upload; undefined if the directory takes files by PUT alone. */
async function beginUpload(item: UploadItem, signal: AbortSignal): Promise<string | undefined> {
  const headers = { ...tus, ...conditions(item), "upload-length": String(item.file.size) }
  const response = await sendFileRequest("POST", fileUrl(item.path), { headers, signal }).catch((error) => {
    if (error instanceof Failure && error.code === "conflict") return undefined
    throw error
  })
  return response && new URL(response.headers.get("location") ?? "", fileUrl("/")).href
}

/** How many bytes came; undefined when the upload expired, or became the file. */
async function offsetOf(address: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    const response = await sendFileRequest("HEAD", address, { headers: tus, signal })
    return Number(response.headers.get("upload-offset"))
  } catch (error) {
    if (error instanceof Failure && error.status === 404) return undefined
    throw error
  }
}
