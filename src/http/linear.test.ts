import type { IncomingMessage } from "node:http"
import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { transferEncodingError } from "./requests/transfer-encoding.ts"
import { TrustedProxies } from "./requests/trusted-proxies.ts"

const headerBytes = 32 * 1024
const proxies = new TrustedProxies(["127.0.0.0/8", "10.0.0.0/8"])

const parsers: Parser[] = [
  {
    name: "X-Forwarded-For",
    parse: (header) =>
      proxies.clientAddress({
        headers: { "x-forwarded-for": header },
        socket: { remoteAddress: "127.0.0.1" },
      } as unknown as IncomingMessage),
    size: headerBytes,
    shapes: [repeated(","), repeated("10.0.0.1,"), repeated(" "), repeated("::ffff:"), repeated("1.1.1.1, ")],
  },
  {
    name: "Transfer-Encoding",
    parse: (header) => transferEncodingError({ "transfer-encoding": header }),
    size: headerBytes,
    shapes: [repeated(" ", { end: "x" }), repeated("chunked,")],
  },
]
testLinear(parsers)
