import { type Parser, repeated, testLinear } from "../../test/fixtures/linear.ts"
import { parseAuthorization } from "./credentials/authorization-header.ts"
import { verifyFilesToken } from "./credentials/files-token.ts"
import { toProviderUser } from "./openid/claims.ts"

const headerBytes = 32 * 1024
const names = { userClaim: "name", userSuffix: "@example.com", groupsClaim: "groups", admin: undefined }
const base64 = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`

const parsers: Parser[] = [
  {
    name: "Authorization",
    parse: parseAuthorization,
    size: headerBytes,
    shapes: [
      repeated("a"),
      repeated(" ", { start: "Basic", end: "\u0001 x" }),
      repeated("A", { start: "Basic ", end: "!" }),
      repeated("=", { start: "Basic " }),
      repeated("a", { start: "Bearer qs_" }),
      repeated(".", { start: "Bearer qf_" }),
      (length) => base64(":".repeat((length * 3) / 4)),
    ],
  },
  {
    name: "a files token",
    parse: (token) => verifyFilesToken(new Uint8Array(32), token),
    size: headerBytes,
    shapes: [repeated("a"), repeated("."), repeated("a", { end: ".b" })],
  },
  {
    name: "claims of an OpenID provider",
    parse: (text) => toProviderUser({ iss: text, sub: text, name: text, email: text, groups: text.split(",") }, names),
    size: 262_144,
    shapes: [repeated("a"), repeated(","), repeated("@example.com")],
  },
]
testLinear(parsers)
