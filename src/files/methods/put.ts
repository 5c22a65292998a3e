import { fchmodSync, fstatSync, futimesSync } from "node:fs"
import { Failure } from "#contract"
import { checkWritePreconditions, etagOf, validatorsOf } from "../access/preconditions.ts"
import { forbidden, invalid } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { assertValidNewName } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import type { TempFile } from "../staging/temp-file.ts"
import type { Reservation } from "../storage/reservation.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { type EntryLocation, locateNewEntry } from "../tree/entry-location.ts"
import { allowHeaderFor } from "./method-names.ts"
import { receiveBody } from "./receive-body.ts"

/**
 * Creates or replaces a file in one step: a concurrent reader sees the old content or the new one.
 */
export async function put(request: DavRequest): Promise<void> {
  request.assertStillAllowed = () => request.assertReplaceable()
  await request.assertStillAllowed()
  checkForm(request)
  const account = await request.storageAccount()
  using upload = await startUpload(request, account)
  const { file, room } = upload
  request.sendContinue()
  const target = { path: `/proc/self/fd/${file.fd}` }
  const checkDisk = request.context.storage.pacedDiskCheck()
  const isOpenEnded = lengthOf(request) === undefined
  const onBytes = (bytes: number) => (isOpenEnded ? room.extend(bytes, target) : checkDisk(target, bytes))
  await receiveBody(request.incoming, { fd: file.fd, userId: request.userId, onBytes })
  await file.flush(request.userId)
  await request.revalidate()
  await request.assertStillAllowed()
  finishUpload(request, upload, {})
}

/** Undefined when the length is unknown before the end. */
function lengthOf(request: DavRequest): number | undefined {
  const length = request.headers["content-length"]
  return length === undefined && request.headers["transfer-encoding"] !== undefined ? undefined : Number(length ?? 0)
}

function checkForm(request: DavRequest): void {
  if (request.headers["content-range"] !== undefined)
    throw invalid(
      "A PUT replaces the whole file: Content-Range is not understood; a POST with Tus-Resumable begins an upload that can be resumed",
    )
}

/** Checks all that can be checked before the body comes. */
export function prepareUpload(request: DavRequest): EntryLocation {
  assertValidNewName(request.names)
  if (request.address.hasTrailingSlash)
    throw new Failure("method_not_allowed", "A file's address does not end with a slash; directories are made with MKCOL", {
      headers: { Allow: `${allowHeaderFor("directory").Allow}, MKCOL` },
    })
  const location = checkedLocation(request)
  try {
    assertNotClosed(location.parent)
    return location
  } catch (error) {
    location[Symbol.dispose]()
    throw error
  }
}

/** A file with its whole content, and the space for it. */
export interface ReceivedFile {
  file: Pick<TempFile, "fd" | "moveTo">
  room: Reservation
}

interface StartedUpload extends Disposable {
  file: TempFile
  room: Reservation
}

async function startUpload(request: DavRequest, account: string | undefined): Promise<StartedUpload> {
  const { storage, staging } = request.context
  using location = prepareUpload(request)
  using stack = new DisposableStack()
  // An empty file needs space, too.
  const length = lengthOf(request)
  const bytes = Math.max(length ?? 0, storage.maxSizeOf({ entries: 1, bytes: 0 }))
  const size = { bytes, name: location.name, isOpenEnded: length === undefined }
  const room = stack.use(await storage.reserve(account, location.parent, size))
  const file = stack.use(await staging.createTempFile(location.parent, request.userId))
  const resources = stack.move()
  return { file, room, [Symbol.dispose]: () => resources.dispose() }
}

/**
 * The time of modification, in seconds, as ownCloud's clients and rclone (`vendor = owncloud`) send
 * it.
 */
function modifiedOf(request: DavRequest): number | undefined {
  const seconds = Number(request.headers["x-oc-mtime"] ?? Number.NaN)
  return Number.isFinite(seconds) && Math.abs(seconds) < 2 ** 40 ? seconds : undefined
}

interface FinishOptions {
  headers?: Record<string, string>
  /** Default: 201 for a new file, 204 for a replaced one. */
  status?: number
}

/**
 * Gives a file its name and answers. Nothing else of this server runs between the last check and
 * the rename.
 */
export function finishUpload(request: DavRequest, { file, room }: ReceivedFile, options: FinishOptions): void {
  const { storage } = request.context
  using location = checkedLocation(request)
  room.assertReplaces(location.stats)
  const modified = modifiedOf(request)
  if (modified !== undefined) futimesSync(file.fd, modified, modified)
  const mode = (location.stats?.mode ?? 0o644) & 0o777
  if (mode !== 0o644) fchmodSync(file.fd, mode)
  file.moveTo(location.parent, location.name)
  const stats = fstatSync(file.fd)
  room.commit(storage.sizeOf(stats), { made: stats, replaced: location.stats })
  const headers: Record<string, string> = { ...options.headers, ETag: etagOf(stats) }
  if (modified !== undefined) headers["X-OC-Mtime"] = "accepted"
  sendEmpty(request.response, options.status ?? (location.stats ? 204 : 201), headers)
}

/** The place of the file, if preconditions and locks allow it. */
export function checkedLocation(request: DavRequest): EntryLocation {
  const location = locateNewEntry(request.context.root, request.names)
  try {
    if (location.stats?.isDirectory())
      throw new Failure("method_not_allowed", "A directory has this name", { headers: allowHeaderFor("directory") })
    checkWritePreconditions(request.headers, location.stats && validatorsOf(location.stats))
    checkLocks(request, [{ names: request.names, changesParent: !location.stats, isDeep: false }])
    return location
  } catch (error) {
    location[Symbol.dispose]()
    throw error
  }
}

/**
 * Checks permission before the body is sent rather than after it. `access` would ask for the real
 * user ID, which the worker opens no file with. For other owners' directories an access list may
 * allow more than the mode.
 */
function assertNotClosed(directory: DirectoryHandle): void {
  const { uid, mode } = directory.stat()
  if (uid === 0 || uid !== process.geteuid?.() || mode & 0o200) return
  throw forbidden("The file system does not allow it")
}
