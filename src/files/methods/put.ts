import { fchmod, fstatSync, futimes, type Stats } from "node:fs"
import { promisify } from "node:util"
import { Failure } from "#contract"
import { checkWritePreconditions, etagOf, validatorsOf } from "../access/preconditions.ts"
import { forbidden, invalid } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { assertValidNewName } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty } from "../responses.ts"
import type { TempFile } from "../staging/temp-file.ts"
import { isOutOfSpace } from "../storage/quota-project.ts"
import type { Reservation } from "../storage/reservation.ts"
import { type EntryLocation, locateNewEntry } from "../tree/entry-location.ts"
import type { TreeDirectory } from "../tree/tree-directory.ts"
import { allowHeaderFor } from "./method-names.ts"
import { fileWriter, isSmallBody, receiveBody } from "./receive-body.ts"

const changeMode = promisify(fchmod)
const changeTimes = promisify(futimes)

/**
 * Creates or replaces a file in one step: a concurrent reader sees the old content or the new one.
 */
export async function put(request: DavRequest): Promise<void> {
  request.assertStillAllowed = () => request.assertReplaceable()
  await request.assertStillAllowed()
  checkForm(request)
  const account = await request.storageAccount()
  using upload = await startUpload(request, account)
  const { room } = upload
  using file = await (isSmallBody(request.incoming) ? receiveSmall : receiveLarge)(request, upload)
  await finishUpload(request, { file, room }, {})
}

/**
 * The file is made when the whole body is there, in its project from the start. If that has no room
 * for two, the file is staged and takes the place of the one that it replaces.
 */
async function receiveSmall(request: DavRequest, { parent, mode }: StartedUpload): Promise<TempFile> {
  const { incoming, context, userId } = request
  const { staging } = context
  const body: Buffer[] = []
  request.sendContinue()
  await receiveBody(incoming, { userId, write: async (chunks) => void body.push(...chunks) })
  try {
    return await filled(await staging.createSmallFile(parent, mode), body, userId)
  } catch (error) {
    if (!isOutOfSpace(error)) throw error
    return await filled(await staging.createTempFile(parent), body, userId)
  }
}

async function filled(made: TempFile, body: Buffer[], userId: number): Promise<TempFile> {
  using stack = new DisposableStack()
  const file = stack.use(made)
  if (body.length > 0) await fileWriter(file.fd, userId)(body)
  if (body.length === 0 || !file.isFlushed) await file.flush()
  stack.move()
  return file
}

async function receiveLarge(request: DavRequest, { parent, room }: StartedUpload): Promise<TempFile> {
  const { incoming, context, userId } = request
  using stack = new DisposableStack()
  const file = stack.use(await context.staging.createTempFile(parent))
  const target = { path: `/proc/self/fd/${file.fd}` }
  const checkDisk = context.storage.pacedDiskCheck()
  const isOpenEnded = lengthOf(request) === undefined
  request.sendContinue()
  const onBytes = (bytes: number) => (isOpenEnded ? room.extend(bytes, target) : checkDisk(target, bytes))
  await receiveBody(incoming, { userId, write: fileWriter(file.fd, userId), onBytes })
  await file.flush()
  stack.move()
  return file
}

/** A file keeps the mode of the one that it replaces. */
const modeOf = (replaced: Stats | undefined): number => (replaced?.mode ?? 0o644) & 0o777

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
export async function prepareUpload(request: DavRequest): Promise<EntryLocation> {
  assertValidNewName(request.names)
  if (request.address.hasTrailingSlash)
    throw new Failure("method_not_allowed", "A file's address does not end with a slash; directories are made with MKCOL", {
      headers: { Allow: `${allowHeaderFor("directory").Allow}, MKCOL` },
    })
  const location = await checkedLocation(request)
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
  /** The directory of the file. */
  parent: TreeDirectory
  /** Nobody who may not read the old file reads the new one before it has its place. */
  mode: number
  room: Reservation
}

async function startUpload(request: DavRequest, account: string | undefined): Promise<StartedUpload> {
  const { storage } = request.context
  using stack = new DisposableStack()
  const { parent, name, stats } = stack.use(await prepareUpload(request))
  // An empty file needs space, too.
  const length = lengthOf(request)
  const bytes = Math.max(length ?? 0, storage.leastSize)
  const room = stack.use(await storage.reserve(account, parent, { bytes, name, isOpenEnded: length === undefined }))
  const resources = stack.move()
  return { parent, mode: modeOf(stats), room, [Symbol.dispose]: () => resources.dispose() }
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
 * Gives a file its name and answers. No other request changes the entry between the last checks and
 * the rename.
 */
export async function finishUpload(request: DavRequest, { file, room }: ReceivedFile, options: FinishOptions): Promise<void> {
  const { storage } = request.context
  using _lock = await request.lockPaths(request.names)
  await request.assertReplaceable()
  using location = await checkedLocation(request)
  // The look-ups may have waited for programs.
  await request.assertReplaceable()
  room.assertReplaces(location.stats)
  const modified = modifiedOf(request)
  if (modified !== undefined) await location.parent.inTurn(() => changeTimes(file.fd, modified, modified))
  const mode = modeOf(location.stats)
  if ((fstatSync(file.fd).mode & 0o777) !== mode) await location.parent.inTurn(() => changeMode(file.fd, mode))
  await file.moveTo(location.parent, location.name)
  const stats = fstatSync(file.fd)
  // A program may have given it more names by now.
  room.commit(storage.sizeOf({ blocks: stats.blocks, nlink: 1 }), { made: stats, replaced: location.stats })
  const headers: Record<string, string> = { ...options.headers, ETag: etagOf(stats) }
  if (modified !== undefined) headers["X-OC-Mtime"] = "accepted"
  sendEmpty(request.response, options.status ?? (location.stats ? 204 : 201), headers)
}

/** The place of the file, if preconditions and locks allow it. */
export async function checkedLocation(request: DavRequest): Promise<EntryLocation> {
  const location = await locateNewEntry(request.root, request.names)
  try {
    if (location.stats?.isDirectory())
      throw new Failure("method_not_allowed", "A directory has this name", { headers: allowHeaderFor("directory") })
    checkWritePreconditions(request.headers, location.stats && validatorsOf(location.stats))
    await checkLocks(request, [{ names: request.names, changesParent: !location.stats, isDeep: false }])
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
function assertNotClosed(directory: TreeDirectory): void {
  const { uid, mode } = directory.stat()
  if (uid === 0 || uid !== process.geteuid?.() || mode & 0o200) return
  throw forbidden("The file system does not allow it")
}
