import { bounds } from "#contract"
import { type Parser, repeated, testLinear } from "../../../test/fixtures/linear.ts"
import { checkWritePreconditions, isNotModified } from "../access/preconditions.ts"
import { parseIfHeader, submittedTokens } from "../locks/if-header.ts"
import { escapeXml, parseXml } from "../xml/xml.ts"
import { parseFileAddress } from "./address.ts"

const headerBytes = 32 * 1024
const current = { etag: '"a"', mtimeMs: 0 }

const parsers: Parser[] = [
  {
    name: "If",
    parse: (header) => submittedTokens(parseIfHeader(header)),
    size: headerBytes,
    shapes: [
      repeated("(<a>)"),
      repeated("(["),
      repeated("<a> (<b>) "),
      repeated("Not <a> ", { start: "(", end: ")" }),
      repeated(" ", { start: "(<a>", end: "x)" }),
      repeated("not", { start: "(" }),
      repeated('["a"]', { start: "(", end: ")" }),
      repeated("<"),
      repeated(" ", { end: "x" }),
    ],
  },
  {
    name: "If-Match and If-None-Match",
    parse: (header) => [isNotModified({ "if-none-match": header }, current), checkWritePreconditions({ "if-match": header }, current)],
    size: headerBytes,
    shapes: [repeated('"'), repeated('"b",'), repeated("W/"), repeated(" ", { end: "x" })],
  },
  {
    name: "If-Modified-Since",
    parse: (header) => isNotModified({ "if-modified-since": header }, current),
    size: headerBytes,
    shapes: [repeated("1"), repeated("("), repeated(" Mon")],
  },
  {
    name: "a target",
    parse: parseFileAddress,
    size: headerBytes,
    shapes: [
      repeated("/"),
      repeated("/a"),
      repeated("%41", { start: "/" }),
      repeated("\xe9", { start: "/" }),
      repeated("/", { start: "http:" }),
    ],
  },
  {
    name: "XML",
    parse: (body) => parseXml(Buffer.from(body)),
    size: bounds.files.xmlBytes.value,
    shapes: [
      repeated("<a>"),
      repeated("<a/>", { start: "<r>", end: "</r>" }),
      repeated("&amp;", { start: "<r>", end: "</r>" }),
      repeated("]]", { start: "<r><![CDATA[", end: "]]></r>" }),
      repeated("-", { start: "<r><!--", end: "--></r>" }),
      repeated(" ", { start: "<r", end: "/>" }),
      (length) => `<r ${Array.from({ length: length / 12 }, (_, i) => `a${i}="${i}"`).join(" ")}/>`,
      (length) => `<r ${Array.from({ length: length / 18 }, (_, i) => `xmlns:a${i}="${i}"`).join(" ")}/>`,
    ],
  },
  { name: "text of an answer", parse: escapeXml, size: 262_144, shapes: [repeated("&"), repeated("\u0001"), repeated("a")] },
]
testLinear(parsers)
