import { Failure } from "#contract"
import { createDirectory, fileUrl, sendFileRequest } from "../../api/files-client.ts"
import type { UploadItem, UploadSender } from "./upload-queue.ts"

type SendOptions = Parameters<UploadSender>[1]

/** A smaller file is sent by one PUT. */
const resumableBytes = 8 * 2 ** 20
/** A request goes on with a new one before its token, of five minutes, expires. */
const pieceMs = 120_000
const watchMs = 1_000
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

/** Sends one file. A lost connection keeps what came of a large one, and only the rest is sent. */
export const sendFile: UploadSender = async (item, options) => {
  await ensureDirectory(parentOf(item.path), item.target)
  const { file } = item
  const changed = new AbortController()
  // Chromium compares the time of modification when it opens a file, and never again.
  const watch = setInterval(() => void checkUnchanged(file).catch((error) => changed.abort(error)), watchMs)
  const signal = AbortSignal.any([options.signal, changed.signal])
  try {
    if (file.size < resumableBytes) return await putFile(item, { ...options, signal })
    await sendResumable(item, { ...options, signal })
    // The server has the file now: another attempt replaces it.
    item.mayReplace = true
    await checkUnchanged(file)
  } catch (error) {
    // A file that cannot be opened looks like a lost connection.
    if (error instanceof TypeError) await checkUnchanged(file)
    throw error
  } finally {
    clearInterval(watch)
  }
}

/** Rejects with a `NotReadableError` when the file is not as it was when it was chosen. */
async function checkUnchanged(file: Blob): Promise<void> {
  await file.slice(0, 1).arrayBuffer()
}

function conditions({ file, mayReplace }: UploadItem): Record<string, string> {
  const modified = file.lastModified === undefined ? {} : { "x-oc-mtime": String(Math.floor(file.lastModified / 1000)) }
  return mayReplace ? modified : { ...modified, "if-none-match": "*" }
}

async function putFile(item: UploadItem, { signal, onProgress }: SendOptions): Promise<void> {
  const options = { headers: conditions(item), body: item.file, signal, maxMs: pieceMs, onProgress }
  await sendFileRequest("PUT", fileUrl(item.path), options)
}

async function sendResumable(item: UploadItem, options: SendOptions): Promise<void> {
  let offset = item.address === undefined ? undefined : await offsetOf(item.address, options.signal)
  if (item.address === undefined || offset === undefined) {
    item.address = await beginUpload(item, options.signal)
    item.keptBytes = 0
    if (item.address === undefined) return putFile(item, options)
    offset = 0
  }
  do {
    // Attempts are counted in vain ones, not over the hours of a large file.
    if (offset > item.keptBytes) Object.assign(item, { keptBytes: offset, attempts: 0 })
    options.onProgress(offset)
    offset = await sendPiece({ item, address: item.address, offset }, options)
  } while (offset < item.file.size)
}

interface Piece {
  item: UploadItem
  address: string
  offset: number
}

/** Sends the rest of a file, as far as it gets in time. Returns how many bytes the server has. */
async function sendPiece({ item, address, offset }: Piece, { signal, onProgress }: SendOptions): Promise<number> {
  const timeout = AbortSignal.timeout(pieceMs)
  try {
    const response = await sendFileRequest("PATCH", address, {
      headers: { ...tus, ...conditions(item), "upload-offset": String(offset), "content-type": "application/offset+octet-stream" },
      body: offset === 0 ? item.file : item.file.slice(offset),
      signal: AbortSignal.any([signal, timeout]),
      maxMs: pieceMs,
      onProgress: (bytes) => onProgress(offset + bytes),
    })
    return Number(response.headers.get("upload-offset"))
  } catch (error) {
    if (error !== timeout.reason) throw error
    return (await offsetOf(address, signal)) ?? offset
  }
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
