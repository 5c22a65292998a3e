import assert from "node:assert/strict"
import { test } from "node:test"
import { Signer } from "#kit"
import { ProgramCookies } from "./program-cookies.ts"

const port = 21_000

/** A signer that counts what it verifies. */
class CountingSigner extends Signer {
  verified = 0

  override verify(signed: string): unknown {
    this.verified += 1
    return super.verify(signed)
  }
}

const signer = new CountingSigner(Buffer.alloc(32, 1), "program cookie")
const cookiesOfRequest = () => new ProgramCookies({ signer, port, key: "k", userId: 1 })

test("a request costs few signatures, however many cookies and headers it has", () => {
  const cookies = cookiesOfRequest()
  const forged = `quayside-at-${port}-a=${"A".repeat(10)}.${"A".repeat(43)}; `
  for (let header = 0; header < 10; header += 1) cookies.decode(forged.repeat(400))
  assert.ok(signer.verified <= 100, `${signer.verified} were verified`)
})

test("cookies of other ports and of scripts leave a program its own", () => {
  const own = cookiesOfRequest().encode("a=b")?.split(";")[0]
  const others = `quayside-at-${port + 1}-a=x.y; own=script; `.repeat(300)
  assert.equal(cookiesOfRequest().decode(others + own), "a=b")
})
