import type { IncomingMessage, ServerResponse } from "node:http"
import { Readable } from "node:stream"
import { bounds } from "#contract"
import { TrustedProxies } from "#http"
import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { prefersAsync } from "./handlers/runs/prefer.ts"
import { checkSize } from "./http/body.ts"
import { checkIfMatch } from "./http/etag.ts"
import { RequestContext } from "./http/request-context.ts"

const headerBytes = 32 * 1024
const row = { id: 1, version: 1, updatedAt: 0 }
const withHeader = (name: string, value: string) =>
  Object.assign(Readable.from([]), { headers: { [name]: value }, url: "/" }) as unknown as IncomingMessage

const parsers: Parser[] = [
  {
    name: "depth and values of a JSON body",
    parse: (text) => checkSize(Buffer.from(text)),
    size: bounds.texts.projectBodyBytes.value,
    shapes: [
      repeated("\\", { start: '"' }),
      repeated('\\"', { start: '"' }),
      repeated('"'),
      repeated("["),
      repeated("\\\\", { start: '"', end: '"' }),
      repeated(" "),
      repeated(","),
    ],
  },
  {
    name: "If-Match",
    parse: (header) => checkIfMatch(header, row),
    size: headerBytes,
    shapes: [
      repeated(","),
      repeated(" ", { end: "x" }),
      repeated(" , "),
      repeated('"a", ', { end: "x" }),
      repeated('"', { end: "x" }),
      repeated('W/"", '),
    ],
  },
  {
    name: "Prefer",
    parse: (header) => prefersAsync({ header: () => header }),
    size: headerBytes,
    shapes: [repeated(","), repeated("respond-asyn"), repeated(" ", { end: "x" })],
  },
  {
    name: "X-Request-ID and the request's target",
    parse: (value) => new RequestContext(withHeader("x-request-id", value), {} as ServerResponse, new TrustedProxies([])),
    size: headerBytes,
    shapes: [repeated("a"), repeated("-")],
  },
]
testLinear(parsers)
