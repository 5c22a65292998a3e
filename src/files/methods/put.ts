import { fchmodSync, fstatSync, futimesSync } from "node:fs"
import { Failure } from "#contract"
import { checkWrite, etagOf, validatorsOf } from "../access/preconditions.ts"
import { forbidden, invalid } from "../failures.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { assertCreatable } from "../requests/address.ts"
import type { Call } from "../requests/dav-request.ts"
import { answerEmpty } from "../respond.ts"
import type { Draft } from "../staging/staged-entry.ts"
import type { Reservation } from "../storage/ledger.ts"
import type { Folder } from "../tree/directory-handle.ts"
import { type Place, placeForNew } from "../tree/entry-location.ts"
import { allowOn } from "./method-names.ts"
import { receive } from "./receive-body.ts"

/**
 * Replaces a file, or makes it, in one step: whoever reads meanwhile sees the old content or the
 * new.
 */
export async function put(call: Call): Promise<void> {
  await call.owned()
  checkForm(call)
  const account = await call.account()
  using begun = await begin(call, account)
  const { draft, room } = begun
  call.proceed()
  const target = { self: `/proc/self/fd/${draft.fd}` }
  await receive(call.request, draft.fd, lengthOf(call) === undefined ? (bytes) => room.grow(bytes, target) : undefined)
  const modified = modifiedOf(call)
  if (modified !== undefined) futimesSync(draft.fd, modified, modified)
  await draft.flush()
  await call.renew()
  await call.owned()
  finish(call, begun, modified)
}

/** Undefined where it is not known before the end. */
function lengthOf(call: Call): number | undefined {
  const length = call.request.headers["content-length"]
  return length === undefined && call.request.headers["transfer-encoding"] !== undefined ? undefined : Number(length ?? 0)
}

function checkForm(call: Call): void {
  assertCreatable(call.names)
  if (call.request.headers["content-range"] !== undefined) throw invalid("A PUT replaces the whole file: Content-Range is not understood")
  if (call.address.slash)
    throw new Failure("method_not_allowed", "A file's address does not end with a slash; directories are made with MKCOL", {
      headers: { Allow: `${allowOn("directory").Allow}, MKCOL` },
    })
}

interface Begun extends Disposable {
  draft: Draft
  room: Reservation
}

async function begin(call: Call, account: string | undefined): Promise<Begun> {
  const { storage, workplace } = call.scene
  using place = checked(call)
  assertNotClosed(place.parent)
  using stack = new DisposableStack()
  // An empty file takes room, too.
  const length = lengthOf(call)
  const bytes = Math.max(length ?? 0, storage.sizeOfAll({ entries: 1, bytes: 0 }))
  const size = { bytes, replaced: place.stats, isOpen: length === undefined }
  const room = stack.use(await storage.reserve(account, place.parent, size))
  const draft = stack.use(await workplace.draft(place.parent))
  const held = stack.move()
  return { draft, room, [Symbol.dispose]: () => held.dispose() }
}

/**
 * The time of modification, in seconds, as ownCloud's clients and rclone (`vendor = owncloud`) send
 * it.
 */
function modifiedOf(call: Call): number | undefined {
  const seconds = Number(call.request.headers["x-oc-mtime"] ?? Number.NaN)
  return Number.isFinite(seconds) && Math.abs(seconds) < 2 ** 40 ? seconds : undefined
}

/** From the last check to the rename nothing else of this server runs. */
function finish(call: Call, { draft, room }: Begun, modified: number | undefined): void {
  const { storage } = call.scene
  using place = checked(call)
  const mode = (place.stats?.mode ?? 0o644) & 0o777
  if (mode !== 0o644) fchmodSync(draft.fd, mode)
  draft.place(place.parent, place.name)
  const stats = fstatSync(draft.fd)
  room.settle(storage.sizeOf(stats) - (place.stats ? storage.sizeOf(place.stats) : 0))
  const headers: Record<string, string> = { ETag: etagOf(stats) }
  if (modified !== undefined) headers["X-OC-Mtime"] = "accepted"
  answerEmpty(call.response, place.stats ? 204 : 201, headers)
}

function checked(call: Call): Place {
  const place = placeForNew(call.scene.root, call.names)
  try {
    if (place.stats?.isDirectory()) throw new Failure("method_not_allowed", "A directory has this name", { headers: allowOn("directory") })
    checkWrite(call.request.headers, place.stats && validatorsOf(place.stats))
    checkLocks(call, [{ names: call.names, member: !place.stats, deep: false }])
    return place
  } catch (error) {
    place[Symbol.dispose]()
    throw error
  }
}

/**
 * Better known before the body than after. `access` asks for the real user ID, which the worker
 * opens no file with; of other owners' directories an access list may say more than the mode.
 */
function assertNotClosed(folder: Folder): void {
  const { uid, mode } = folder.stat()
  if (uid === 0 || uid !== process.geteuid?.() || mode & 0o200) return
  throw forbidden("The file system does not allow it")
}
