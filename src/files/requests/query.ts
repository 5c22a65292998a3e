import { invalid } from "../failures.ts"
import { type FileAddress, parseFileAddress } from "./address.ts"

/** The meaning of the query of a request's target. */
export type FileQuery =
  /** A directory as a zip; with names, only these of its entries. */
  | { kind: "archive"; entries: readonly string[] }
  /** A directory's entries as JSON. */
  | { kind: "list" }
  /** A resumable upload. */
  | { kind: "upload"; id: string }

/** A request's target: the path, and what its query asks for. */
export function parseFileTarget(target: string): { address: FileAddress; query: FileQuery | undefined } {
  const at = target.indexOf("?")
  if (at < 0) return { address: parseFileAddress(target), query: undefined }
  return { address: parseFileAddress(target.slice(0, at)), query: parseFileQuery(new URLSearchParams(target.slice(at + 1))) }
}

/** Parses `archive=zip` with any number of `name`, `list=json`, or `upload=<id>`. */
export function parseFileQuery(query: URLSearchParams): FileQuery {
  const names = [...new Set(query.keys())]
  const [kind = ""] = names.filter((name) => name !== "name")
  const value = query.getAll(kind).join(", ")
  if (names.length === 1 && kind === "list" && value === "json") return { kind }
  if (names.length === 1 && kind === "upload" && /^[0-9a-f]{32}$/.test(value)) return { kind, id: value }
  if (kind === "archive" && value === "zip" && names.every((name) => name === kind || name === "name"))
    return { kind, entries: query.getAll("name") }
  throw invalid(
    `The files address takes archive=zip (with name=), list=json, or upload=<id>, got ${JSON.stringify(query.toString())}; a question mark in a name is %3F`,
  )
}
