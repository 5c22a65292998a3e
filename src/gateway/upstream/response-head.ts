import { bounds } from "#contract"

/** The validated head of a program's response. */
export interface ResponseHead {
  status: number
  message: string
  /** Name, value, name, value, … as they came, without hop-by-hop framing applied to them. */
  headers: string[]
  /** The names again, in lower case. */
  names: string[]
  framing: Framing
  /**
   * Whether the program accepts another request on the connection, and for how many milliseconds if
   * it declares that.
   */
  keepAlive: boolean
  keepAliveMs: number | undefined
}

/** The mark of a response's end. */
export type Framing = { kind: "none" } | { kind: "length"; length: number } | { kind: "chunked" } | { kind: "close" }

/** A program's response is not well-formed HTTP. */
export class BadResponseError extends Error {
  override readonly name = "BadResponseError"
}

const maxFields = bounds.gateway.answerFields.value

/** Anything but visible characters, spaces and tabs in lines that end with CR LF. */
const unclean = /[^\t\r\n\x20-\x7e\x80-\xff]|\r(?!\n)|(?<!\r)\n/
const statusLine = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: (.*))?$/
const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

/**
 * Parses a head without its last two line ends. `method` is the request's. Throws
 * `BadResponseError` on anything ambiguous.
 */
export function parseResponseHead(text: string, method: string): ResponseHead {
  if (unclean.test(text)) throw new BadResponseError("a control character in the answer's head")
  const lines = text.split("\r\n")
  if (lines.length > maxFields + 1) throw new BadResponseError(`more than ${maxFields} header fields`)
  const start = statusLine.exec(lines[0] ?? "")
  if (start === null) throw new BadResponseError("no HTTP/1 status line")
  const headers: string[] = []
  const names: string[] = []
  for (let i = 1; i < lines.length; i += 1) readField(lines[i] as string, headers, names)
  if (start[1] === "0" && (start[2] as string) < "200") throw new BadResponseError("an interim answer in HTTP/1.0")
  const head = { status: Number(start[2]), message: start[3] ?? "", headers, names }
  const { keepAlive, keepAliveMs } = connectionOf(head, start[1] === "1")
  return { ...head, keepAlive: keepAlive && !announcesForbiddenBody(head), keepAliveMs, framing: framingOf(head, method) }
}

/** Adds one `name: value` line to both lists. */
export function readField(line: string, headers: string[], names: string[]): void {
  const colon = line.indexOf(":")
  const name = line.slice(0, Math.max(colon, 0))
  if (!token.test(name)) throw new BadResponseError("a malformed header line")
  const plain = name.toLowerCase()
  // Some readers take `chunked` and a tab for another coding.
  if (plain === "transfer-encoding" && line.includes("\t")) throw new BadResponseError("a tab in Transfer-Encoding")
  headers.push(name, trimmed(line, colon + 1))
  names.push(plain)
}

function trimmed(line: string, from: number): string {
  let start = from
  let end = line.length
  while (start < end && isBlank(line.charCodeAt(start))) start += 1
  while (end > start && isBlank(line.charCodeAt(end - 1))) end -= 1
  return line.slice(start, end)
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09
}

type Fields = Pick<ResponseHead, "status" | "headers" | "names">

function framingOf({ status, headers, names }: Fields, method: string): Framing {
  const length = sole(headers, names, "content-length")
  const coding = sole(headers, names, "transfer-encoding")
  if (length !== undefined && coding !== undefined) throw new BadResponseError("both Content-Length and Transfer-Encoding")
  if (length !== undefined && !/^\d{1,15}$/.test(length)) throw new BadResponseError("a malformed Content-Length")
  if (coding !== undefined && coding.toLowerCase() !== "chunked") throw new BadResponseError("a Transfer-Encoding other than chunked")
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return { kind: "none" }
  if (coding !== undefined) return { kind: "chunked" }
  return length === undefined ? { kind: "close" } : { kind: "length", length: Number(length) }
}

/** A 204 that announces a body may send it: the start of the next response is unknown then. */
function announcesForbiddenBody({ status, headers, names }: Fields): boolean {
  if (status !== 204) return false
  const length = sole(headers, names, "content-length")
  return names.includes("transfer-encoding") || (length !== undefined && !/^0+$/.test(length))
}

function sole(headers: string[], names: string[], name: string): string | undefined {
  const at = names.indexOf(name)
  if (at < 0) return undefined
  if (names.indexOf(name, at + 1) >= 0) throw new BadResponseError(`two ${name} headers`)
  return headers[2 * at + 1]
}

function connectionOf({ headers, names }: Fields, isOneOne: boolean): Pick<ResponseHead, "keepAlive" | "keepAliveMs"> {
  const options = valuesOf(headers, names, "connection")
  const keepAlive = isOneOne ? !/(?:^|[\s,])close(?:$|[\s,])/i.test(options) : /(?:^|[\s,])keep-alive(?:$|[\s,])/i.test(options)
  const timeout = /(?:^|[\s,;])timeout=(\d{1,6})/i.exec(valuesOf(headers, names, "keep-alive"))
  return { keepAlive, keepAliveMs: timeout ? Number(timeout[1]) * 1000 : undefined }
}

function valuesOf(headers: string[], names: string[], name: string): string {
  let values = ""
  for (let at = names.indexOf(name); at >= 0; at = names.indexOf(name, at + 1)) values += `${headers[2 * at + 1]},`
  return values
}
