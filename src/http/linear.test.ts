import type { IncomingMessage } from "node:http"
import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { cookieValues, uniqueCookie } from "./requests/cookies.ts"
import { hostName } from "./requests/host.ts"
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
  {
    name: "Cookie",
    parse: (header) => [uniqueCookie(header, "quayside_session"), cookieValues(header, "a")],
    size: headerBytes,
    shapes: [repeated(";"), repeated(" "), repeated("quayside_session=;"), repeated("a=b; ")],
  },
  {
    name: "Host",
    parse: hostName,
    size: headerBytes,
    shapes: [repeated("a"), repeated(":1"), repeated("["), repeated("a", { start: "[" }), repeated(":", { start: "[" })],
  },
]
testLinear(parsers)
