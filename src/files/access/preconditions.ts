import type { Stats } from "node:fs"
import type { IncomingHttpHeaders } from "node:http"
import { Failure } from "#contract"

/**
 * A strong validator: another file (inode), another length or another time of modification is
 * another entity. It misses a program in a container that rewrites a file in place, with the same
 * length and within the same tick of the kernel's clock (4 ms).
 */
export function etagOf(stats: Stats): string {
  return `"${stats.ino.toString(36)}-${stats.size.toString(36)}-${Math.round(stats.mtimeMs * 1000).toString(36)}"`
}

/** The target's current validators. `etag` is empty for a directory. */
export interface Validators {
  etag: string
  mtimeMs: number
}

export function validatorsOf(stats: Stats): Validators {
  return { etag: stats.isFile() ? etagOf(stats) : "", mtimeMs: stats.mtimeMs }
}

/** Checks the preconditions of a request that writes (RFC 9110, 13.2.2); throws 412. */
export function checkWritePreconditions(headers: IncomingHttpHeaders, current: Validators | undefined): void {
  const { "if-match": match, "if-none-match": noneMatch } = headers
  if (match !== undefined) {
    if (!current || !matches(match, current.etag, "strong")) throw preconditionFailed("The file is not the one that If-Match names")
  } else if (current && changedSince(headers["if-unmodified-since"], current)) {
    throw preconditionFailed("The file was changed after the time in If-Unmodified-Since")
  }
  if (noneMatch !== undefined && current && matches(noneMatch, current.etag, "weak"))
    throw preconditionFailed("If-None-Match: the file exists")
}

/** Checks the preconditions of a request that reads; throws 412. */
export function checkReadPreconditions(headers: IncomingHttpHeaders, current: Validators): void {
  const { "if-match": match } = headers
  if (match !== undefined) {
    if (!matches(match, current.etag, "strong")) throw preconditionFailed("The file is not the one that If-Match names")
  } else if (changedSince(headers["if-unmodified-since"], current)) {
    throw preconditionFailed("The file was changed after the time in If-Unmodified-Since")
  }
}

/** Whether the caller's copy is still current: 304. */
export function isNotModified(headers: IncomingHttpHeaders, current: Validators): boolean {
  const { "if-none-match": noneMatch, "if-modified-since": modifiedSince } = headers
  if (noneMatch !== undefined) return matches(noneMatch, current.etag, "weak")
  const since = modifiedSince === undefined ? Number.NaN : Date.parse(modifiedSince)
  return seconds(current.mtimeMs) <= since
}

/** Whether the range applies: there is no `If-Range`, or it names the current entity. */
export function isRangeApplicable(ifRange: string | undefined, current: Validators): boolean {
  if (ifRange === undefined) return true
  if (ifRange.startsWith('"')) return ifRange === current.etag
  return Date.parse(ifRange) === seconds(current.mtimeMs)
}

const preconditionFailed = (msg: string): Failure => new Failure("stale", msg)

/** HTTP dates have whole seconds. */
const seconds = (ms: number): number => Math.floor(ms / 1000) * 1000

function changedSince(header: string | undefined, current: Validators): boolean {
  return header !== undefined && seconds(current.mtimeMs) > Date.parse(header)
}

function matches(list: string, etag: string, strength: "strong" | "weak"): boolean {
  if (list.trim() === "*") return true
  if (etag === "") return false
  const tags = list.match(/(?:W\/)?"[^"]*"/g) ?? []
  return tags.some((tag) => tag === etag || (strength === "weak" && tag === `W/${etag}`))
}
