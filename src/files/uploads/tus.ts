import { bounds, Failure } from "#contract"
import { invalid } from "../failures.ts"
import { checkedLocation, finishUpload, prepareUpload } from "../methods/put.ts"
import { fileWriter, receiveBody } from "../methods/receive-body.ts"
import { hrefOf } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import type { OpenUpload } from "./open-upload.ts"

/** The resumable upload protocol of tus.io. An upload belongs to the path of its file. */
export const tusVersion = "1.0.0"
export const tusExtensions = "creation,expiration,termination"
const bodyType = "application/offset+octet-stream"
const maxMetadata = bounds.files.uploadMetadataCharacters.value

/** POST to a file's path: begins an upload of `Upload-Length` bytes. */
export async function createUpload(request: DavRequest): Promise<void> {
  checkVersion(request)
  await request.assertReplaceable()
  const length = numberOf(request, "upload-length")
  const metadata = request.headers["upload-metadata"]?.toString()
  if (metadata !== undefined && metadata.length > maxMetadata)
    throw invalid(`Upload-Metadata may have ${maxMetadata} characters, it has ${metadata.length}`)
  const { storage, uploads } = request.context
  const account = await request.storageAccount()
  using location = await prepareUpload(request)
  using stack = new DisposableStack()
  const bytes = Math.max(length, storage.leastSize)
  const room = stack.use(await storage.reserve(account, location.parent, { bytes }))
  const id = await uploads.create(request.userId, { path: request.path, length, account, metadata }, { parent: location.parent, room })
  stack.move()
  const address = `${hrefOf({ path: request.path, isDirectory: false })}?upload=${id}`
  if (length > 0) return sendEmpty(request.response, 201, { Location: address, "Upload-Offset": "0" })
  using upload = await open(request, id)
  await upload.flush(request.userId)
  await commit(request, upload, { Location: address })
}

/** HEAD: how many bytes came. */
export async function describeUpload(request: DavRequest, id: string): Promise<void> {
  checkVersion(request)
  await request.assertVisible()
  using upload = await open(request, id)
  const { length, metadata } = upload.facts
  sendEmpty(request.response, 200, {
    ...progressOf(upload),
    "Upload-Length": String(length),
    ...(metadata === undefined ? {} : { "Upload-Metadata": metadata }),
  })
}

/**
 * PATCH: appends the body. With the last byte, the file takes its place under the same conditions
 * as after a PUT. If they do not hold, the upload stays, and an empty PATCH tries again.
 */
export async function continueUpload(request: DavRequest, id: string): Promise<void> {
  checkVersion(request)
  request.assertStillAllowed = () => request.assertReplaceable()
  await request.assertStillAllowed()
  if (request.headers["content-type"] !== bodyType)
    throw new Failure(
      "unsupported_media_type",
      `Content-Type must be ${bodyType}, got ${JSON.stringify(request.headers["content-type"] ?? "")}`,
    )
  ;(await checkedLocation(request))[Symbol.dispose]()
  using upload = await open(request, id)
  await receive(request, upload)
  if (upload.offset < upload.facts.length) return sendEmpty(request.response, 204, progressOf(upload))
  await commit(request, upload, {})
}

/** DELETE: forgets the upload and what came of it. */
export async function deleteUpload(request: DavRequest, id: string): Promise<void> {
  checkVersion(request)
  await request.assertVisible()
  using upload = await open(request, id)
  await upload.remove(request.userId)
  sendEmpty(request.response, 204)
}

function open(request: DavRequest, id: string): Promise<OpenUpload> {
  return request.context.uploads.open(request.userId, { id, path: request.path }, { abort: () => request.incoming.socket.destroy() })
}

async function receive(request: DavRequest, upload: OpenUpload): Promise<void> {
  const { context, incoming, userId } = request
  const { offset } = upload
  const given = numberOf(request, "upload-offset")
  if (given !== offset)
    throw new Failure("conflict", `The upload has ${offset} bytes; Upload-Offset says ${given}`, {
      headers: { "Upload-Offset": String(offset) },
    })
  const target = { path: `/proc/self/fd/${upload.fd}` }
  const checkDisk = context.storage.pacedDiskCheck()
  let left = upload.facts.length - offset
  const count = (bytes: number) => {
    left -= bytes
    if (left < 0) throw tooLong(upload)
    checkDisk(target, bytes)
  }
  if (Number(request.headers["content-length"] ?? 0) > left) throw tooLong(upload)
  await context.storage.reserveRest(upload.facts.account, upload.room, upload.facts.length)
  context.storage.assertDisk(target, left)
  request.sendContinue()
  // Bytes that came before an error stay, and are as durable as the rest.
  await receiveBody(incoming, { userId, write: fileWriter(upload.fd, userId, offset), onBytes: count }).finally(() => upload.flush(userId))
}

/** The upload is flushed. A second flush would have the disk write its cache again. */
async function commit(request: DavRequest, upload: OpenUpload, headers: Record<string, string>): Promise<void> {
  const more = { ...headers, "Upload-Offset": String(upload.facts.length) }
  await finishUpload(request, { file: upload, room: upload.room }, { headers: more, status: 204 })
}

function progressOf(upload: OpenUpload): Record<string, string> {
  return { "Upload-Offset": String(upload.offset), "Upload-Expires": upload.expiresAt.toUTCString() }
}

function checkVersion({ headers, response }: DavRequest): void {
  response.setHeader("Tus-Resumable", tusVersion)
  const version = headers["tus-resumable"]
  if (version !== tusVersion)
    throw new Failure("stale", `Tus-Resumable must be ${tusVersion}, got ${JSON.stringify(version ?? "")}`, {
      headers: { "Tus-Version": tusVersion },
    })
}

function numberOf({ headers }: DavRequest, name: "upload-length" | "upload-offset"): number {
  const text = headers[name]?.toString() ?? ""
  if (!/^\d{1,15}$/.test(text))
    throw invalid(`${name === "upload-length" ? "Upload-Length" : "Upload-Offset"} must be a number of bytes, got ${JSON.stringify(text)}`)
  return Number(text)
}

function tooLong({ facts }: OpenUpload): Failure {
  return new Failure("too_large", `The upload has ${facts.length} bytes by its Upload-Length; more came`)
}
