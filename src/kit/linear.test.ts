import type { IncomingMessage } from "node:http"
import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { Callers } from "./caller.ts"
import { Signer } from "./signing.ts"
import { codingFault } from "./transfer-coding.ts"

const headerBytes = 32 * 1024
const callers = new Callers(["127.0.0.0/8", "10.0.0.0/8"])
const signer = new Signer(Buffer.alloc(32), "linear")

const parsers: Parser[] = [
  {
    name: "X-Forwarded-For",
    parse: (header) =>
      callers.addressOf({ headers: { "x-forwarded-for": header }, socket: { remoteAddress: "127.0.0.1" } } as unknown as IncomingMessage),
    size: headerBytes,
    shapes: [repeated(","), repeated("10.0.0.1,"), repeated(" "), repeated("::ffff:"), repeated("1.1.1.1, ")],
  },
  {
    name: "Transfer-Encoding",
    parse: (header) => codingFault({ "transfer-encoding": header }),
    size: headerBytes,
    shapes: [repeated(" ", { end: "x" }), repeated("chunked,")],
  },
  {
    name: "a signed value",
    parse: (value) => signer.verify(value),
    size: headerBytes,
    shapes: [repeated("a"), repeated("a."), repeated(".")],
  },
]
testLinear(parsers)
