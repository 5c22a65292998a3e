import assert from "node:assert/strict"
import { describe, it } from "node:test"
import { AuthenticationFailure } from "../caller.ts"
import { parseAuthorization, readAuthorizationHeader } from "./authorization-header.ts"

const basic = (text: string | Buffer) => `Basic ${Buffer.from(text).toString("base64")}`
const token = `qs_${"a".repeat(43)}`

describe("an Authorization header", () => {
  it("is read as Basic with everything after the first colon as the password, in any case of the scheme", () => {
    assert.deepEqual(parseAuthorization(basic("ann:a:b")), { scheme: "basic", userName: "ann", password: "a:b" })
    assert.deepEqual(parseAuthorization(basic("ann:").replace("Basic", "bAsIc  ")), { scheme: "basic", userName: "ann", password: "" })
    assert.deepEqual(parseAuthorization(basic("ann:päß wörd😀")), { scheme: "basic", userName: "ann", password: "päß wörd😀" })
  })

  it("is read as a token or as a token for files by its form", () => {
    assert.deepEqual(parseAuthorization(`Bearer ${token}`), { scheme: "token", token })
    assert.deepEqual(parseAuthorization("bearer qf_abc.def"), { scheme: "files", token: "qf_abc.def" })
  })

  it("is refused with a sentence about the user name that says what is missing", () => {
    const wrong: [string, RegExp][] = [
      ["", /form/],
      ["Basic", /form/],
      ["Basic ", /form/],
      ["Negotiate abc", /Basic or Bearer, not Negotiate/],
      [basic("no colon"), /colon/],
      [basic(Buffer.from([0x61, 0x3a, 0xff, 0xfe])), /UTF-8/],
      ["Basic !!!", /Base64/],
      [`${basic("ann:x")}, ${basic("bob:y")}`, /form/],
      [`Bearer ${token}x`, /qs_ and 43/],
      ["Bearer", /form/],
      [`Bearer qf_${"a".repeat(3000)}.b`, /qs_ and 43/],
    ]
    for (const [header, sentence] of wrong) {
      const answer = parseAuthorization(header)
      assert.ok(answer instanceof AuthenticationFailure, header)
      assert.equal(answer.status, 401)
      assert.match(answer.message, sentence)
      assert.match(answer.message, /user name/)
    }
  })

  it("never repeats a secret in a refusal", () => {
    const answer = parseAuthorization(basic("secretwithoutcolon"))
    assert.ok(answer instanceof AuthenticationFailure)
    assert.doesNotMatch(answer.message, /secret/)
  })

  it("is refused if the request has two of them", () => {
    assert.equal(readAuthorizationHeader(["Host", "x"]), undefined)
    assert.equal(readAuthorizationHeader(["Host", "x", "authorization", "Basic a"]), "Basic a")
    assert.ok(
      readAuthorizationHeader(["Authorization", "Basic a", "Host", "x", "authorization", "Basic a"]) instanceof AuthenticationFailure,
    )
  })
})
