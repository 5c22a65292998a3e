import { cookieValues } from "#http"
import { Signer } from "#kit"
import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { parseRunPath, sanitizePath } from "./addressing/paths.ts"
import { includesProtocol } from "./proxy/tunnel.ts"
import { confineCookie, stripOwnCookies } from "./sessions/cookies.ts"
import { ProgramCookies } from "./sessions/program-cookies.ts"
import { ResponseParser } from "./upstream/response-parser.ts"

const headerBytes = 32 * 1024
const answerBytes = 65_536
const signer = new Signer(Buffer.alloc(32), "linear")
const programCookies = () => new ProgramCookies({ signer, port: 21_000, key: "k", userId: 1 })

/** Feeds an answer in pieces of so many bytes. */
function feed(answer: string, piece: number): void {
  const parser = new ResponseParser()
  parser.begin("GET", { onHead: () => {}, onData: () => {}, onEnd: () => {} })
  const bytes = Buffer.from(answer, "latin1")
  for (let at = 0; at < bytes.length; at += piece) parser.feed(bytes.subarray(at, at + piece))
}
const head = "HTTP/1.1 200 OK\r\n"

const parsers: Parser[] = [
  {
    name: "a program's answer in one piece",
    parse: (answer) => feed(answer, answerBytes),
    size: answerBytes,
    shapes: [
      repeated("a: b\r\n", { start: head, end: "\r\n" }),
      repeated("Connection: ,\r\n", { start: head, end: "\r\n" }),
      repeated(" ", { start: `${head}a:`, end: "b\r\n\r\n" }),
      repeated("\r", { start: head }),
      repeated("1\r\na\r\n", { start: `${head}Transfer-Encoding: chunked\r\n\r\n` }),
    ],
  },
  {
    name: "a program's answer byte by byte",
    parse: (answer) => feed(answer, 1),
    size: answerBytes,
    shapes: [repeated("a", { start: `${head}a: ` }), repeated("a: b\r\n", { start: head })],
  },
  {
    name: "a chunk's size",
    parse: (line) => feed(`${head}Transfer-Encoding: chunked\r\n\r\n${line}\r\n`, answerBytes),
    size: 4_096,
    shapes: [repeated(";a=b", { start: "1", end: "!" }), repeated(";a", { start: "1", end: "\u0001" }), repeated('"', { start: '1;a="' })],
  },
  {
    name: "a visitor's cookies",
    parse: (header) => [cookieValues(header, "quayside_run"), stripOwnCookies(header), programCookies().decode(header)],
    size: headerBytes,
    shapes: [
      repeated(";", { end: "quayside_run=" }),
      repeated("quayside_run=;"),
      repeated("__host-", { end: "quayside" }),
      repeated(" =", { end: "quayside" }),
      repeated("quayside-at-21000-a=b.c;"),
    ],
  },
  {
    name: "a program's Set-Cookie",
    parse: (header) => [confineCookie(header, "/run/1"), programCookies().encode(header)],
    size: answerBytes,
    shapes: [
      repeated(" ", { end: "x" }),
      repeated("a", { end: " " }),
      repeated(" a", { end: "=" }),
      repeated("; path=/"),
      repeated(" ", { start: "a=b; path", end: "x" }),
    ],
  },
  {
    name: "a path",
    parse: (path) => [sanitizePath(path), parseRunPath(path)],
    size: headerBytes,
    shapes: [repeated("/"), repeated("/..", { start: "/run/1" }), repeated("1", { start: "/run/" })],
  },
  {
    name: "Upgrade",
    parse: (header) => includesProtocol(header, "websocket"),
    size: headerBytes,
    shapes: [repeated(" ", { start: "a", end: "b" }), repeated(","), repeated(" ,")],
  },
]
testLinear(parsers)
