import { Failure } from "#contract"
import { etagOf } from "../access/preconditions.ts"
import { joinPath, parseFileAddress } from "../requests/address.ts"
import type { DavRequest } from "../requests/dav-request.ts"
import { locateEntry } from "../tree/entry-location.ts"
import { type IfConditionList, parseIfHeader, submittedTokens } from "./if-header.ts"
import { lockedFailure } from "./lock-table.ts"
import { releaseStaleLocks } from "./stale-locks.ts"

/** A change that a request is about to make. */
export interface PlannedChange {
  names: readonly string[]
  /** The entry is created or removed, which also changes its parent. */
  changesParent: boolean
  /** Everything below it changes as well. */
  isDeep: boolean
}

/**
 * Checks the `If` header (412) and that the caller named the token of every lock that binds what
 * will change (423). The caller holds the path lock of what will change.
 */
export async function checkLocks(request: DavRequest, changes: readonly PlannedChange[]): Promise<void> {
  const header = request.headers.if
  const lists = header === undefined ? [] : parseIfHeader(header.toString())
  const etags = new Map<string, string>()
  let holds = lists.length === 0
  for (const list of lists) holds ||= await conditionsHold(request, list, etags)
  if (!holds) throw new Failure("stale", "The conditions of the If header do not hold")
  const submitted = submittedTokens(lists)
  for (const change of changes) checkChange(request, change, submitted)
}

function checkChange(request: DavRequest, { names, changesParent, isDeep }: PlannedChange, submitted: ReadonlySet<string>): void {
  const { locks } = request.context
  const path = joinPath(names)
  assertSubmitted(request, locks.locksBinding(path), submitted)
  if (changesParent && names.length > 0) assertSubmitted(request, locks.locksAt(joinPath(names.slice(0, -1))), submitted)
  if (!isDeep) return
  for (const lock of locks.locksBelow(path)) assertSubmitted(request, [lock], submitted)
}

/** One token is enough for several shared locks. */
function assertSubmitted(
  request: DavRequest,
  locks: ReturnType<DavRequest["context"]["locks"]["locksBinding"]>,
  submitted: ReadonlySet<string>,
): void {
  const [first] = locks
  if (first && !locks.some(({ token, userId }) => userId === request.userId && submitted.has(token))) {
    throw lockedFailure(first, "lock-token-submitted")
  }
}

/**
 * Finds the other resources in the `If` header that the caller may read. Conditions on any other
 * one are judged as if it did not exist: the response must not reveal whether a guess is right.
 */
export async function findReadableIfPaths(request: DavRequest): Promise<ReadonlySet<string>> {
  const header = request.headers.if?.toString()
  if (!header?.includes("(")) return new Set()
  const paths = [...new Set(taggedPaths(header))]
  if (paths.length === 0) return new Set()
  const accesses = await request.context.rights.fetchAccess(request.userId, paths)
  const readable = new Set(paths.filter((_, i) => ["read", "write"].includes(accesses[i]?.level ?? "none")))
  await releaseStaleLocks(request, new Set([...readable].flatMap((path) => request.context.locks.locksBinding(path))))
  return readable
}

/** A malformed header names none; `checkLocks` rejects it later. */
function taggedPaths(header: string): string[] {
  try {
    return parseIfHeader(header).flatMap(({ resource }) => {
      const names = resource === undefined ? undefined : splitPath(resource)
      return names ? [joinPath(names)] : []
    })
  } catch {
    return []
  }
}

/** `etags`: by path, those that earlier lists asked for. */
async function conditionsHold(
  request: DavRequest,
  { resource, conditions }: IfConditionList,
  etags: Map<string, string>,
): Promise<boolean> {
  const names = resource === undefined ? request.names : splitPath(resource)
  const isKnown = names && (resource === undefined || request.readableIfPaths.has(joinPath(names)))
  if (!isKnown) return conditions.every(({ isNegated }) => isNegated)
  const path = joinPath(names)
  if (conditions.some(({ kind }) => kind === "etag")) etags.set(path, etags.get(path) ?? (await etagAt(request, names)))
  const tokens = new Set(request.context.locks.locksBinding(path).map(({ token }) => token))
  return conditions.every(({ isNegated, kind, value }) => (kind === "token" ? tokens.has(value) : etags.get(path) === value) !== isNegated)
}

function splitPath(resource: string): readonly string[] | undefined {
  try {
    return parseFileAddress(resource).names
  } catch {
    return undefined
  }
}

async function etagAt(request: DavRequest, names: readonly string[]): Promise<string> {
  try {
    using location = await locateEntry(request.root, names)
    return location.stats?.isFile() ? etagOf(location.stats) : ""
  } catch {
    return ""
  }
}
