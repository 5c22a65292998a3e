import { closeSync, constants } from "node:fs"
import { bounds, Failure } from "#contract"
import { checkWrite, validatorsOf } from "../access/preconditions.ts"
import { readXml } from "../body.ts"
import { DavFailure, forbidden, invalid } from "../failures.ts"
import { parseIf, tokensIn } from "../locks/if-header.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { type Lock, longestLockMs, type NewLock } from "../locks/lock-table.ts"
import { lockDiscovery } from "../locks/lock-xml.ts"
import { assertCreatable, pathText } from "../requests/address.ts"
import type { Call } from "../requests/dav-request.ts"
import { answerEmpty, answerXml } from "../respond.ts"
import { placeForNew } from "../tree/entry-location.ts"
import { child, DAV, isDav, parseXml, serializeXml } from "../xml/xml.ts"

const usualLockMs = 600_000
const mostOwner = bounds.files.lockOwnerCharacters.value

/**
 * Takes a lock, or with an empty body renews one. Where nothing is, an empty file is made and
 * locked.
 */
export async function lock(call: Call): Promise<void> {
  await call.writable()
  call.proceed()
  const body = await readXml(call)
  if (body.length === 0) return renew(call)
  const wanted = readLock(call, body)
  const created = await makeIfMissing(call)
  const made = call.scene.locks.add(wanted)
  const headers = { "Lock-Token": `<${made.token}>` }
  answerXml(call.response, created ? 201 : 200, `<D:prop xmlns:D="DAV:">${lockDiscovery([made], made.path)}</D:prop>`, headers)
}

function renew(call: Call): void {
  const header = call.request.headers.if?.toString()
  if (header === undefined) throw invalid("To renew a lock name its token in the If header; to take one send a lockinfo element")
  const tokens = tokensIn(parseIf(header))
  const held = call.scene.locks.on(call.path).find(({ token, userId }) => tokens.has(token) && userId === call.person.userId)
  if (!held)
    throw new DavFailure("stale", "You hold no such lock here; it may have ended", { condition: "<D:lock-token-matches-request-uri/>" })
  call.scene.locks.refresh(held, timeoutOf(call))
  answerXml(call.response, 200, `<D:prop xmlns:D="DAV:">${lockDiscovery([held], held.path)}</D:prop>`)
}

function readLock(call: Call, body: Buffer): NewLock {
  const root = parseXml(body)
  const scope = child(root, DAV, "lockscope")
  const type = child(root, DAV, "locktype")
  const exclusive = scope !== undefined && child(scope, DAV, "exclusive") !== undefined
  const shared = scope !== undefined && child(scope, DAV, "shared") !== undefined
  if (!isDav(root, "lockinfo") || exclusive === shared || !type || !child(type, DAV, "write")) {
    throw invalid("A lockinfo element names a lockscope, exclusive or shared, and the locktype write")
  }
  const owner = child(root, DAV, "owner")
  const { userId } = call.person
  const text = owner ? serializeXml(owner) : ""
  if (text.length > mostOwner) throw new Failure("too_large", `A lock's owner element has at most ${mostOwner} characters`)
  return { path: call.path, deep: isDeep(call), exclusive, userId, owner: text, timeoutMs: timeoutOf(call) }
}

function isDeep(call: Call): boolean {
  const depth = String(call.request.headers.depth ?? "infinity").toLowerCase()
  if (depth !== "0" && depth !== "infinity") throw invalid(`A lock's Depth is 0 or infinity, got ${JSON.stringify(depth)}`)
  return depth === "infinity"
}

/** The first wish that can be read; longer ones are cut. */
function timeoutOf(call: Call): number {
  const wishes = String(call.request.headers.timeout ?? "").split(",")
  for (const wish of wishes) {
    if (/^\s*infinite\s*$/i.test(wish)) return longestLockMs
    const seconds = /^\s*second-(\d{1,15})\s*$/i.exec(wish)?.[1]
    if (seconds !== undefined) return Math.max(1_000, Math.min(longestLockMs, Number(seconds) * 1_000))
  }
  return usualLockMs
}

async function makeIfMissing(call: Call): Promise<boolean> {
  if (call.names.length === 0) return false
  assertCreatable(call.names)
  const account = await call.account()
  using place = placeForNew(call.scene.root, call.names)
  checkWrite(call.request.headers, place.stats && validatorsOf(place.stats))
  if (place.stats) {
    checkLocks(call, [])
    return false
  }
  const bytes = call.scene.storage.sizeOfAll({ entries: 1, bytes: 0 })
  using room = await call.scene.storage.reserve(account, place.parent, { bytes })
  checkLocks(call, [{ names: call.names, member: true, deep: false }])
  room.settle(bytes)
  closeSync(place.parent.open(place.name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644))
  return true
}

/** Gives a lock back. */
export async function unlock(call: Call): Promise<void> {
  await call.writable()
  const token = /^\s*<([^<>]+)>\s*$/.exec(String(call.request.headers["lock-token"] ?? ""))?.[1]
  if (token === undefined) throw invalid("UNLOCK needs the header Lock-Token: <token>")
  const held: Lock | undefined = call.scene.locks.on(pathText(call.names)).find((one) => one.token === token)
  if (!held) {
    throw new DavFailure("conflict", "There is no such lock here; it may have ended", {
      condition: "<D:lock-token-matches-request-uri/>",
    })
  }
  if (held.userId !== call.person.userId) throw forbidden("The lock belongs to somebody else")
  call.scene.locks.remove(held)
  answerEmpty(call.response, 204)
}
