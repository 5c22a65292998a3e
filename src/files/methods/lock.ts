import { closeSync, constants } from "node:fs"
import { bounds, Failure } from "#contract"
import { checkWritePreconditions, validatorsOf } from "../access/preconditions.ts"
import { DavFailure, forbidden, invalid } from "../failures.ts"
import { parseIfHeader, submittedTokens } from "../locks/if-header.ts"
import { checkLocks } from "../locks/lock-check.ts"
import { type Lock, type LockRequest, maxLockMs } from "../locks/lock-table.ts"
import { lockDiscoveryXml } from "../locks/lock-xml.ts"
import { assertValidNewName, joinPath } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { sendEmpty, sendXml } from "../responses.ts"
import { locateNewEntry } from "../tree/entry-location.ts"
import { davNamespace, findChild, isDavElement, parseXml, serializeXml } from "../xml/xml.ts"
import { readXmlBody } from "./read-xml-body.ts"

const defaultLockMs = 600_000
const maxOwnerCharacters = bounds.files.lockOwnerCharacters.value

/**
 * Acquires a lock, or refreshes one when the body is empty. A missing file is created empty and
 * locked.
 */
export async function lock(request: DavRequest): Promise<void> {
  await request.assertWritable()
  request.sendContinue()
  const body = await readXmlBody(request)
  using _lock = await request.lockPaths(request.names)
  await request.assertWritable()
  if (body.length === 0) return refresh(request)
  const wanted = readLock(request, body)
  const isNew = await createIfMissing(request)
  // The look-ups may have waited for programs.
  await request.assertWritable()
  const acquired = request.context.locks.acquire(wanted)
  const headers = { "Lock-Token": `<${acquired.token}>` }
  sendXml(request.response, isNew ? 201 : 200, `<D:prop xmlns:D="DAV:">${lockDiscoveryXml([acquired], acquired.path)}</D:prop>`, headers)
}

function refresh(request: DavRequest): void {
  const header = request.headers.if?.toString()
  if (header === undefined) throw invalid("To refresh a lock, name its token in the If header; to acquire one, send a lockinfo element")
  const tokens = submittedTokens(parseIfHeader(header))
  const own = request.context.locks.locksBinding(request.path).find(({ token, userId }) => tokens.has(token) && userId === request.userId)
  if (!own)
    throw new DavFailure("stale", "You have no such lock here; it may have expired", { condition: "<D:lock-token-matches-request-uri/>" })
  request.context.locks.refresh(own, timeoutOf(request))
  sendXml(request.response, 200, `<D:prop xmlns:D="DAV:">${lockDiscoveryXml([own], own.path)}</D:prop>`)
}

function readLock(request: DavRequest, body: Buffer): LockRequest {
  const root = parseXml(body)
  const scope = findChild(root, davNamespace, "lockscope")
  const type = findChild(root, davNamespace, "locktype")
  const exclusive = scope !== undefined && findChild(scope, davNamespace, "exclusive") !== undefined
  const shared = scope !== undefined && findChild(scope, davNamespace, "shared") !== undefined
  if (!isDavElement(root, "lockinfo") || exclusive === shared || !type || !findChild(type, davNamespace, "write")) {
    throw invalid("A lockinfo element names a lockscope, exclusive or shared, and the locktype write")
  }
  const owner = findChild(root, davNamespace, "owner")
  const { userId } = request
  const text = owner ? serializeXml(owner) : ""
  if (text.length > maxOwnerCharacters)
    throw new Failure("too_large", `A lock's owner element has at most ${maxOwnerCharacters} characters`)
  return { path: request.path, isDeep: isDeep(request), exclusive, userId, owner: text, timeoutMs: timeoutOf(request) }
}

function isDeep(request: DavRequest): boolean {
  const depth = String(request.headers.depth ?? "infinity").toLowerCase()
  if (depth !== "0" && depth !== "infinity") throw invalid(`A lock's Depth is 0 or infinity, got ${JSON.stringify(depth)}`)
  return depth === "infinity"
}

/** Returns the first timeout that can be parsed, at most the longest one allowed. */
function timeoutOf(request: DavRequest): number {
  const timeouts = String(request.headers.timeout ?? "").split(",")
  for (const timeout of timeouts) {
    if (/^\s*infinite\s*$/i.test(timeout)) return maxLockMs
    const seconds = /^\s*second-(\d{1,15})\s*$/i.exec(timeout)?.[1]
    if (seconds !== undefined) return Math.max(1_000, Math.min(maxLockMs, Number(seconds) * 1_000))
  }
  return defaultLockMs
}

async function createIfMissing(request: DavRequest): Promise<boolean> {
  if (request.names.length === 0) return false
  assertValidNewName(request.names)
  const account = await request.storageAccount()
  using location = await locateNewEntry(request.root, request.names)
  checkWritePreconditions(request.headers, location.stats && validatorsOf(location.stats))
  if (location.stats) {
    await checkLocks(request, [])
    return false
  }
  const bytes = request.context.storage.leastSize
  using room = await request.context.storage.reserve(account, location.parent, { bytes })
  await checkLocks(request, [{ names: request.names, changesParent: true, isDeep: false }])
  await request.assertWritable()
  room.commit(bytes)
  closeSync(await location.parent.open(location.name, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o644))
  return true
}

/**
 * Releases a lock. The owner of the place may release anybody's: a person with a right to write
 * could otherwise keep the owner out by locks.
 */
export async function unlock(request: DavRequest): Promise<void> {
  await request.assertWritable()
  const token = /^\s*<([^<>]+)>\s*$/.exec(String(request.headers["lock-token"] ?? ""))?.[1]
  if (token === undefined) throw invalid("UNLOCK needs the header Lock-Token: <token>")
  const found: Lock | undefined = request.context.locks.locksBinding(joinPath(request.names)).find((one) => one.token === token)
  if (!found) {
    throw new DavFailure("conflict", "There is no such lock here; it may have expired", {
      condition: "<D:lock-token-matches-request-uri/>",
    })
  }
  if (found.userId !== request.userId && !(await request.isOwner(found.path)))
    throw forbidden("The lock belongs to somebody else; only its holder and the owner of the place may release it")
  request.context.locks.release(found)
  sendEmpty(request.response, 204)
}
