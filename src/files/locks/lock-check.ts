import { Failure } from "#contract"
import { etagOf } from "../access/preconditions.ts"
import { parseTarget, pathText } from "../requests/address.ts"
import type { Call } from "../requests/dav-request.ts"
import { placeOf } from "../tree/entry-location.ts"
import { type ConditionList, parseIf, tokensIn } from "./if-header.ts"
import { lockedBy } from "./lock-table.ts"

/** What a request is about to change. */
export interface Change {
  names: readonly string[]
  /** The entry appears or vanishes, which changes the directory that holds it, too. */
  member: boolean
  /** Everything below it changes, too. */
  deep: boolean
}

/**
 * Checks the `If` header (412) and that the caller named the token of every lock that binds what
 * will change (423). Synchronous, so that it can stand directly before the change.
 */
export function checkLocks(call: Call, changes: readonly Change[]): void {
  const header = call.request.headers.if
  const lists = header === undefined ? [] : parseIf(header.toString())
  if (lists.length > 0 && !lists.some((list) => holds(call, list))) {
    throw new Failure("stale", "What the If header says does not hold")
  }
  const submitted = tokensIn(lists)
  for (const change of changes) checkChange(call, change, submitted)
}

function checkChange(call: Call, { names, member, deep }: Change, submitted: ReadonlySet<string>): void {
  const { locks } = call.scene
  const path = pathText(names)
  assertSubmitted(call, locks.on(path), submitted)
  if (member && names.length > 0) assertSubmitted(call, locks.exactlyAt(pathText(names.slice(0, -1))), submitted)
  if (!deep) return
  for (const lock of locks.below(path)) assertSubmitted(call, [lock], submitted)
}

/** Of several shared locks one token is enough. */
function assertSubmitted(call: Call, locks: ReturnType<Call["scene"]["locks"]["on"]>, submitted: ReadonlySet<string>): void {
  const [first] = locks
  if (first && !locks.some(({ token, userId }) => userId === call.person.userId && submitted.has(token))) {
    throw lockedBy(first, "lock-token-submitted")
  }
}

/**
 * Looks up which of the other resources that the `If` header names the caller may read. A condition
 * about any other one is judged as if that did not exist: the answer must not tell whether a guess
 * about it is right.
 */
export async function readableTags(call: Call): Promise<ReadonlySet<string>> {
  const header = call.request.headers.if?.toString()
  if (!header?.includes("(")) return new Set()
  const paths = [...new Set(taggedIn(header))]
  if (paths.length === 0) return new Set()
  const accesses = await call.scene.rights.accesses(call.person.userId, paths)
  return new Set(paths.filter((_, i) => ["read", "write"].includes(accesses[i]?.level ?? "none")))
}

/** A header that cannot be read names none; `checkLocks` refuses it when it is reached. */
function taggedIn(header: string): string[] {
  try {
    return parseIf(header).flatMap(({ resource }) => {
      const names = resource === undefined ? undefined : splitPath(resource)
      return names ? [pathText(names)] : []
    })
  } catch {
    return []
  }
}

function holds(call: Call, { resource, conditions }: ConditionList): boolean {
  const names = resource === undefined ? call.names : splitPath(resource)
  const isKnown = names && (resource === undefined || call.readableTags.has(pathText(names)))
  if (!isKnown) return conditions.every(({ not }) => not)
  const tokens = new Set(call.scene.locks.on(pathText(names)).map(({ token }) => token))
  let etag: string | undefined
  return conditions.every(({ not, kind, value }) => {
    if (kind === "token") return tokens.has(value) !== not
    etag ??= etagAt(call, names)
    return (etag === value) !== not
  })
}

function splitPath(resource: string): readonly string[] | undefined {
  try {
    return parseTarget(resource).names
  } catch {
    return undefined
  }
}

function etagAt(call: Call, names: readonly string[]): string {
  try {
    using place = placeOf(call.scene.root, names)
    return place.stats?.isFile() ? etagOf(place.stats) : ""
  } catch {
    return ""
  }
}
