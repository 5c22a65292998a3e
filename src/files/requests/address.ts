import { bounds, Failure } from "#contract"
import { invalid, notFound } from "../failures.ts"

/** A request target as single names from the root downwards, and whether it ends with a slash. */
export interface FileAddress {
  names: readonly string[]
  hasTrailingSlash: boolean
}

/**
 * Names that Quayside itself uses: `/.quayside` at the root, and uploads beside their target
 * anywhere. They are neither listed nor addressable.
 */
export const reservedDirectory = ".quayside"
export const reservedPrefix = ".quayside-upload-"

export function isReservedName(name: string, depth: number): boolean {
  return (depth === 0 && name === reservedDirectory) || name.startsWith(reservedPrefix)
}

const maxNames = bounds.files.pathNames.value

/**
 * Parses a request target in origin or absolute form. Bytes that cannot be a name (a bad escape,
 * not UTF-8, NUL) are 400. Names that could lead elsewhere (`.`, `..`, an encoded slash) do not
 * exist: 404. Repeated slashes count once. The number of names is bounded: rights, locks and files
 * are looked up by name.
 */
export function parseFileAddress(target: string): FileAddress {
  const path = pathOf(target)
  const names: string[] = []
  for (const part of path.split("/")) {
    if (part === "") continue
    const name = decodeName(part)
    if (isReservedName(name, names.length)) throw notFound()
    if (names.push(name) > maxNames) throw tooManyNames()
  }
  return { names, hasTrailingSlash: path.endsWith("/") }
}

function tooManyNames(): Failure {
  return new Failure("too_large", `A path may have ${maxNames} names at most`, { status: 414 })
}

function pathOf(target: string): string {
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target)
  const path = absolute ? target.slice(absolute[0].length) || "/" : target
  if (!path.startsWith("/")) throw invalid("The request's target must be a path that starts with /")
  if (path.includes("#")) throw invalid("The request's target must not contain a fragment (#); encode the character as %23")
  if (path.includes("?")) throw invalid("This path takes no query; encode a question mark in a name as %3F")
  return path
}

function decodeName(part: string): string {
  const name = decode(part)
  if (name.includes("\0")) throw invalid("A name must not contain NUL")
  if (name === "." || name === ".." || name.includes("/")) throw notFound()
  return name
}

function decode(part: string): string {
  if (!needsDecoding.test(part)) return part
  try {
    // Node reads the request line as Latin-1. Unescaped bytes are escaped here, and then decoded as
    // UTF-8 together with the others.
    return decodeURIComponent(part.replace(/[\x80-\xff]/g, (byte) => `%${byte.charCodeAt(0).toString(16)}`))
  } catch {
    throw invalid("The request's target is not percent-encoded UTF-8")
  }
}
const needsDecoding = /[%\x80-\xff]/

/** Checks a new entry's name: file systems allow 255 bytes. */
export function assertValidNewName(names: readonly string[]): void {
  const name = names.at(-1) ?? ""
  const bytes = Buffer.byteLength(name)
  if (bytes > 255) throw new Failure("invalid", `A name has at most 255 bytes; this one has ${bytes}`)
}

/** `/a/b` for names; `/` for none. The authority uses this form. */
export function joinPath(names: readonly string[]): string {
  return `/${names.join("/")}`
}

export function encodeName(name: string): string {
  return name === "" || plain.test(name)
    ? name
    : encodeURIComponent(name).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
}
const plain = /^[A-Za-z0-9._~-]+$/

/** The percent-encoded form of a path; a directory's ends with a slash. */
export function hrefOf({ path, isDirectory }: { path: string; isDirectory: boolean }): string {
  if (path === "/") return "/"
  const encoded = path.split("/").map(encodeName).join("/")
  return isDirectory ? `${encoded}/` : encoded
}
