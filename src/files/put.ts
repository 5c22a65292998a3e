import { fchmodSync, fstatSync, futimesSync, statfsSync } from "node:fs"
import { assertCreatable } from "./address.ts"
import type { Call } from "./call.ts"
import { checkWrite, etagOf, validatorsOf } from "./conditions.ts"
import type { Folder } from "./descriptor.ts"
import { checkLocks } from "./locking.ts"
import { allowOn } from "./methods.ts"
import { type Place, placeForNew } from "./place.ts"
import { receive } from "./receive.ts"
import { forbidden, invalid, Refusal } from "./refusal.ts"
import { answerEmpty } from "./respond.ts"
import type { Draft } from "./stage.ts"

/** Replaces a file, or makes it, in one step: whoever reads meanwhile sees the old content or the new. */
export async function put(call: Call): Promise<void> {
  await call.owned()
  checkForm(call)
  using draft = await begin(call)
  call.proceed()
  await receive(call.request, draft.fd)
  const modified = modifiedOf(call)
  if (modified !== undefined) futimesSync(draft.fd, modified, modified)
  await draft.flush()
  await call.renew()
  await call.owned()
  finish(call, draft, modified)
}

function checkForm(call: Call): void {
  assertCreatable(call.names)
  if (call.request.headers["content-range"] !== undefined) throw invalid("A PUT replaces the whole file: Content-Range is not understood")
  if (call.address.slash)
    throw new Refusal(405, "method_not_allowed", "A file's address does not end with a slash; directories are made with MKCOL", {
      headers: { Allow: `${allowOn("directory").Allow}, MKCOL` },
    })
}

async function begin(call: Call): Promise<Draft> {
  using place = checked(call)
  assertNotClosed(place.parent)
  const length = Number(call.request.headers["content-length"] ?? 0)
  if (length > 2 ** 20) assertRoom(place.parent, length)
  return await call.scene.workplace.draft(place.parent)
}

/** The time of modification, in seconds, as ownCloud's clients and rclone (`vendor = owncloud`) send it. */
function modifiedOf(call: Call): number | undefined {
  const seconds = Number(call.request.headers["x-oc-mtime"] ?? Number.NaN)
  return Number.isFinite(seconds) && Math.abs(seconds) < 2 ** 40 ? seconds : undefined
}

/** From the last check to the rename nothing else of this server runs. */
function finish(call: Call, draft: Draft, modified: number | undefined): void {
  using place = checked(call)
  const mode = (place.stats?.mode ?? 0o644) & 0o777
  if (mode !== 0o644) fchmodSync(draft.fd, mode)
  draft.place(place.parent, place.name)
  const headers: Record<string, string> = { ETag: etagOf(fstatSync(draft.fd)) }
  if (modified !== undefined) headers["X-OC-Mtime"] = "accepted"
  answerEmpty(call.response, place.stats ? 204 : 201, headers)
}

function checked(call: Call): Place {
  const place = placeForNew(call.scene.root, call.names)
  try {
    if (place.stats?.isDirectory())
      throw new Refusal(405, "method_not_allowed", "A directory has this name", { headers: allowOn("directory") })
    checkWrite(call.request.headers, place.stats && validatorsOf(place.stats))
    checkLocks(call, [{ names: call.names, member: !place.stats, deep: false }])
    return place
  } catch (error) {
    place[Symbol.dispose]()
    throw error
  }
}

/**
 * Better known before the body than after. `access` asks for the real user ID, which the worker opens no file with; of
 * other owners' directories an access list may say more than the mode.
 */
function assertNotClosed(folder: Folder): void {
  const { uid, mode } = folder.stat()
  if (uid === 0 || uid !== process.geteuid?.() || mode & 0o200) return
  throw forbidden("The file system does not allow it")
}

function assertRoom(folder: Folder, bytes: number): void {
  const { bavail, bsize } = statfsSync(folder.self)
  if (bytes > bavail * bsize) throw new Refusal(507, "storage_full", `The file has ${bytes} bytes; ${bavail * bsize} are free`)
}
