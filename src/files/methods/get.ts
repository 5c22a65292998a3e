import { constants, fstatSync, type Stats } from "node:fs"
import parseRange from "range-parser"
import { Failure } from "#contract"
import { checkReadPreconditions, etagOf, isNotModified, isRangeApplicable } from "../access/preconditions.ts"
import { sendArchive } from "../downloads/archive.ts"
import { attachment } from "../downloads/attachment.ts"
import { listJson } from "../downloads/list-json.ts"
import { notFound } from "../failures.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { securityHeaders } from "../responses.ts"
import { readCached } from "../tree/cached-calls.ts"
import { disposableDescriptor } from "../tree/directory-handle.ts"
import { contentHeaders, mediaTypeOf } from "./media-types.ts"
import { allowHeaderFor } from "./method-names.ts"
import { sendFile } from "./send-file.ts"

/** A file of up to this size is read at once, if it is in memory. */
const smallFileBytes = 65_536

/**
 * GET and HEAD of a file, of a directory as an archive, and of its list. PROPFIND lists a directory
 * as WebDAV.
 */
export async function get(request: DavRequest): Promise<void> {
  const { query } = request
  if (query?.kind === "archive") return sendArchive(request, query.entries)
  if (query?.kind === "list") return listJson(request)
  const level = await request.assertVisible()
  const name = request.names.at(-1)
  if (name === undefined || level === "traverse") throw directoryFailure()
  using parent = await request.root.openDescendant(request.names.slice(0, -1))
  using file = disposableDescriptor(await parent.open(name, constants.O_RDONLY))
  const stats = fstatSync(file.fd)
  if (stats.isDirectory()) throw directoryFailure()
  if (!stats.isFile() || request.address.hasTrailingSlash) throw notFound()
  await sendResponse(request, file.fd, stats)
}

const directoryFailure = (): Failure =>
  new Failure("method_not_allowed", "This is a directory; PROPFIND lists its content, and ?archive=zip downloads it", {
    headers: allowHeaderFor("directory"),
  })

async function sendResponse(request: DavRequest, fd: number, stats: Stats): Promise<void> {
  const { incoming, response } = request
  const validators = { etag: etagOf(stats), mtimeMs: stats.mtimeMs }
  const headers: Record<string, string> = {
    ...securityHeaders,
    ETag: validators.etag,
    "Last-Modified": stats.mtime.toUTCString(),
    "Cache-Control": "private, no-cache",
    "Accept-Ranges": "bytes",
  }
  checkReadPreconditions(incoming.headers, validators)
  if (isNotModified(incoming.headers, validators)) {
    response.writeHead(304, headers).end()
    return
  }
  const name = request.names.at(-1) ?? ""
  Object.assign(headers, contentHeaders(mediaTypeOf(name)), request.isFormDownload ? { "Content-Disposition": attachment(name) } : {})
  const part = isRangeApplicable(incoming.headers["if-range"]?.toString(), validators)
    ? partOf(incoming.headers.range, stats.size)
    : undefined
  if (part) headers["Content-Range"] = `bytes ${part.start}-${part.end}/${stats.size}`
  const { start, end } = part ?? { start: 0, end: stats.size - 1 }
  headers["Content-Length"] = String(end - start + 1)
  response.writeHead(part ? 206 : 200, headers)
  if (incoming.method === "HEAD") response.end()
  else await sendBytes(request, fd, start, end + 1)
}

/**
 * Returns a single byte range. For several ranges, or ranges of another unit, the response contains
 * the whole file, as RFC 9110 allows.
 */
function partOf(range: string | undefined, size: number): { start: number; end: number } | undefined {
  if (range === undefined) return undefined
  const parts = parseRange(size, range, { combine: true })
  if (parts === -1) {
    throw new Failure("invalid", `The file has ${size} bytes; the range asks for others`, {
      status: 416,
      headers: { "Content-Range": `bytes */${size}` },
    })
  }
  if (parts === -2 || parts.type !== "bytes" || parts.length !== 1) return undefined
  return parts[0]
}

async function sendBytes(request: DavRequest, fd: number, start: number, end: number): Promise<void> {
  const { response } = request
  const length = end - start
  const bytes = length <= smallFileBytes ? Buffer.allocUnsafe(length) : undefined
  if (bytes && (length === 0 || readCached(fd, bytes, start) === length)) response.end(bytes)
  // If a program shortened the file meanwhile, the client sees that the content is incomplete.
  else {
    using _held = request.holdOpen(fd)
    await sendFile(request, fd, { start, end })
  }
}
