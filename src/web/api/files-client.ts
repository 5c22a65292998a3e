import { Failure, readFailure } from "#contract"
import { texts } from "../text/index.ts"
import { client } from "./client.ts"
import { installation } from "./installation.ts"
import { sendUpload } from "./upload-request.ts"

/** An entry of a directory, as `?list=json` tells it. */
export interface FileEntry {
  Name: string
  IsDirectory: boolean
  ModifiedAt: string
  /** Of files. */
  Size?: number
  ETag?: string
}

export interface DirectoryList {
  /** `traverse`: only what leads to visible entries. */
  Level: "traverse" | "read" | "write"
  Entries: FileEntry[]
  /** False: there are more entries. */
  IsComplete: boolean
}

export interface FileRequest {
  headers?: Readonly<Record<string, string>>
  body?: BodyInit
  signal?: AbortSignal | undefined
  /** How long the request may take. The server ends it with its token. */
  maxMs?: number
  /** Of an upload: how many bytes of the body were sent. */
  onProgress?: (bytes: number) => void
}

/** A new token is made when the last one has less time left. */
const minTokenMs = 60_000
let token: Promise<{ text: string; expiresAt: number }> | undefined

/** A token for the files address, made with this session. */
async function filesToken(minMs = minTokenMs): Promise<string> {
  const last = token && (await token.catch(() => undefined))
  if (!last || last.expiresAt - Date.now() < minMs) {
    token = client.createFilesToken().then(({ Token, ExpiresAt }) => ({ text: Token, expiresAt: Date.parse(ExpiresAt) }))
  }
  return (await (token as NonNullable<typeof token>)).text
}

/** The address of a path below the files root. */
export function fileUrl(path: string): string {
  return installation.filesUrl + path.split("/").map(encodeURIComponent).join("/")
}

/** Sends a request to the files address. A refusal is thrown as `Failure`. */
export async function sendFileRequest(method: string, url: string, options: FileRequest = {}): Promise<Response> {
  const { headers, body, signal, maxMs, onProgress } = options
  const request = async () => {
    const init = {
      method,
      headers: { ...headers, authorization: `Bearer ${await filesToken(maxMs)}` },
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    }
    if (onProgress) return sendUpload(url, { ...init, onProgress })
    return fetch(url, { ...init, credentials: "omit", cache: "no-store" })
  }
  let response = await request()
  if (response.status === 401) {
    token = undefined
    response = await request()
  }
  if (response.ok) return response
  throw await readFailure(response, "The files address")
}

export async function listDirectory(path: string, signal?: AbortSignal): Promise<DirectoryList> {
  const response = await sendFileRequest("GET", `${fileUrl(path)}?list=json`, { signal })
  return (await response.json()) as DirectoryList
}

export async function createDirectory(path: string): Promise<void> {
  await sendFileRequest("MKCOL", fileUrl(path))
}

export async function deleteEntry(path: string): Promise<void> {
  await sendFileRequest("DELETE", fileUrl(path))
}

/** Renames or moves an entry; a name that is taken is refused. */
export async function moveEntry(from: string, to: string): Promise<void> {
  await sendFileRequest("MOVE", fileUrl(from), { headers: { destination: fileUrl(to), overwrite: "F" } }).catch((error) => {
    if (!(error instanceof Failure) || error.status !== 412) throw error
    throw new Failure("invalid", texts.errors.nameTaken(to.split("/").at(-1) ?? ""), { status: 412 })
  })
}

/** The first bytes of a file. */
export async function readFirstBytes(path: string, maxBytes: number, signal?: AbortSignal): Promise<Blob> {
  const response = await sendFileRequest("GET", fileUrl(path), { headers: { range: `bytes=0-${maxBytes - 1}` }, signal }).catch((error) => {
    // An empty file has no first byte.
    if (error instanceof Failure && error.status === 416) return undefined
    throw error
  })
  return response ? response.blob() : new Blob()
}

/** The bytes of a file from `start` to before `end`. */
export async function readRange(path: string, { start, end }: { start: number; end: number }, signal?: AbortSignal): Promise<ArrayBuffer> {
  const response = await sendFileRequest("GET", fileUrl(path), { headers: { range: `bytes=${start}-${end - 1}` }, signal })
  return response.arrayBuffer()
}

/**
 * Lets the browser save a file, or entries of a directory as a zip. A form carries the token, so it
 * stands in no address.
 */
export async function download(path: string, entries?: readonly string[]): Promise<void> {
  const fields: [string, string][] = [["token", await filesToken()]]
  if (entries) fields.push(["archive", "zip"], ...entries.map((name): [string, string] => ["name", name]))
  const form = Object.assign(document.createElement("form"), { method: "post", action: fileUrl(path), target: "_blank", hidden: true })
  for (const [name, value] of fields) form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }))
  document.body.append(form)
  form.submit()
  form.remove()
}
