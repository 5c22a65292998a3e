import assert from "node:assert/strict"
import { createHash, createPublicKey } from "node:crypto"
import { test } from "node:test"
import { ManualClock } from "#kit"
import { type HostileIssuer, jwt, publicPart, startHostileIssuer } from "../../../test/fixtures/openid/hostile-issuer.ts"
import { type Jwk, signingKey } from "../../../test/fixtures/openid/openid-provider.ts"
import { AuthenticationFailure } from "../caller.ts"
import { createOpenId, type OpenId, type OpenIdOptions, openIdSignInMs } from "./openid.ts"

const baseUrl = "https://quayside.example"
const clientSecret = "what both know, and nobody else does"

function openIdAt(issuer: string, more: Partial<OpenIdOptions> = {}): OpenId {
  const names = { userClaim: "preferred_username", userSuffix: "", groupsClaim: "", admin: undefined }
  const used = new Set<string>()
  const claimProof = async ({ id }: { id: string }) => used.size < used.add(id).size
  const own = {
    claimProof,
    issuer,
    clientId: "quayside",
    clientSecret,
    scope: "openid",
    baseUrl,
    key: Buffer.alloc(32, 1),
    clock: new ManualClock(),
  }
  return createOpenId({ ...own, ...names, ...more })
}

const now = () => Math.floor(Date.now() / 1000)

function claimsOf(issuer: HostileIssuer, changes: object = {}) {
  const sound = { iss: issuer.url, sub: "s", aud: "quayside", exp: now() + 60, iat: now(), nonce: issuer.nonce, preferred_username: "ann" }
  return { ...sound, ...changes }
}

const signed = (issuer: HostileIssuer, changes: object = {}) =>
  jwt({ alg: "RS256", kid: issuer.key.kid }, claimsOf(issuer, changes), issuer)

/** Begins, and comes back with a code. */
async function signIn(issuer: HostileIssuer, openId: OpenId, change: (callback: URLSearchParams) => void = () => {}) {
  const { location, cookie } = await openId.begin(undefined)
  const parameters = new URL(location).searchParams
  issuer.nonce = String(parameters.get("nonce"))
  const callback = new URLSearchParams({ code: "c", state: String(parameters.get("state")) })
  change(callback)
  return openId.finish(callback.toString(), cookie)
}

const refusedAs = (code: string, words: RegExp) => (error: unknown) => {
  assert.ok(error instanceof AuthenticationFailure, String(error))
  assert.equal(error.code, code)
  assert.match(error.message, words)
  return true
}

test("a valid response authenticates the person, with the PKCE verifier and the client's secret", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  const openId = openIdAt(issuer.url)
  const { location, cookie } = await openId.begin("/open?ID=3")
  const parameters = Object.fromEntries(new URL(location).searchParams)
  assert.deepEqual(
    [parameters.response_type, parameters.redirect_uri, parameters.code_challenge_method],
    ["code", `${baseUrl}/oidc/callback`, "S256"],
  )
  issuer.nonce = String(parameters.nonce)
  const { person, next } = await openId.finish(`code=c&state=${parameters.state}`, cookie)
  assert.deepEqual([person.issuer, person.subject, person.userName, next], [issuer.url, "s", "ann", `${baseUrl}/open?ID=3`])
  const verifier = String(issuer.asked.get("code_verifier"))
  assert.equal(createHash("sha256").update(verifier).digest("base64url"), parameters.code_challenge)
  for (const secret of [verifier, parameters.nonce, parameters.state])
    assert.ok(
      !Buffer.from(String(cookie.split(".")[0]), "base64url")
        .toString()
        .includes(String(secret)),
      "the cookie does not tell them",
    )
})

const forgeries: Record<string, (issuer: HostileIssuer) => string> = {
  "another nonce": (issuer) => signed(issuer, { nonce: "another" }),
  "no nonce": (issuer) => signed(issuer, { nonce: undefined }),
  "another audience": (issuer) => signed(issuer, { aud: "somebody else" }),
  "several audiences, made for another": (issuer) => signed(issuer, { aud: ["quayside", "other"], azp: "other" }),
  "another issuer": (issuer) => signed(issuer, { iss: "https://issuer.example" }),
  "an end that has passed": (issuer) => signed(issuer, { exp: now() - 60, iat: now() - 120 }),
  "no end": (issuer) => signed(issuer, { exp: undefined }),
  "no subject": (issuer) => signed(issuer, { sub: undefined }),
  "no signature": (issuer) => jwt({ alg: "none" }, claimsOf(issuer)),
  "no signature, in capitals": (issuer) => jwt({ alg: "NONE" }, claimsOf(issuer)),
  "no signature behind a header that promises one": (issuer) => jwt({ alg: "RS256", kid: issuer.key.kid }, claimsOf(issuer)),
  "the signature of a key that was never published": (issuer) =>
    jwt({ alg: "RS256", kid: issuer.key.kid }, claimsOf(issuer), { key: signingKey() }),
  "a signature by the client's own secret": (issuer) => jwt({ alg: "HS256" }, claimsOf(issuer), { secret: clientSecret }),
  "a signature by the public key as if it were a secret": (issuer) => {
    const pem = createPublicKey({ key: publicPart(issuer.key), format: "jwk" }).export({ format: "pem", type: "spki" })
    return jwt({ alg: "HS256", kid: issuer.key.kid }, claimsOf(issuer), { secret: pem as string })
  },
  "claims that were changed after signing": (issuer) => {
    const [head, , signature] = signed(issuer).split(".")
    return [head, Buffer.from(JSON.stringify(claimsOf(issuer, { sub: "t" }))).toString("base64url"), signature].join(".")
  },
  "no JWT at all": () => "abc",
}

for (const [what, idToken] of Object.entries(forgeries)) {
  test(`an ID token with ${what} proves nobody`, async () => {
    await using issuer = await startHostileIssuer()
    issuer.idToken = () => idToken(issuer)
    await assert.rejects(signIn(issuer, openIdAt(issuer.url)), refusedAs("unauthorized", /does not prove a user name/))
    issuer.metadata.id_token_signing_alg_values_supported = ["RS256", "HS256", "none", "NONE"]
    await assert.rejects(
      signIn(issuer, openIdAt(issuer.url)),
      refusedAs("unauthorized", /does not prove a user name/),
      "whatever it says it signs with",
    )
    issuer.idToken = () => signed(issuer)
    assert.equal((await signIn(issuer, openIdAt(issuer.url))).person.subject, "s")
  })
}

test("a response of another provider, or with an error, is rejected", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  issuer.metadata.authorization_response_iss_parameter_supported = true
  const openId = openIdAt(issuer.url)
  const mixedUp = signIn(issuer, openId, (callback) => callback.set("iss", "https://issuer.example"))
  await assert.rejects(mixedUp, refusedAs("unauthorized", /does not prove a user name/))
  const failed = signIn(issuer, openId, (callback) => {
    callback.set("iss", issuer.url)
    callback.set("error", "<script>login_required")
  })
  await assert.rejects(failed, refusedAs("unauthorized", /\(\w*login_required\)/))
  assert.equal((await signIn(issuer, openId, (callback) => callback.set("iss", issuer.url))).person.subject, "s")
})

test("metadata of another issuer is rejected, and fetched again", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  const openId = openIdAt(issuer.url)
  issuer.metadata.issuer = "https://issuer.example"
  await assert.rejects(openId.begin(undefined), refusedAs("unavailable", /cannot be reached/))
  issuer.metadata.issuer = issuer.url
  assert.equal((await signIn(issuer, openId)).person.subject, "s")
})

test("a provider that does not listen, or responds with a server error, is unavailable", async () => {
  const issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  const openId = openIdAt(issuer.url)
  issuer.tokenAnswer = { status: 502, body: "<html>" }
  await assert.rejects(signIn(issuer, openId), refusedAs("unavailable", /signing in with a password still works/))
  issuer.tokenAnswer = { status: 400, body: '{"error": "invalid_grant"}' }
  await assert.rejects(signIn(issuer, openId), refusedAs("unauthorized", /invalid_grant/))
  await issuer[Symbol.asyncDispose]()
  await assert.rejects(signIn(issuer, openId), refusedAs("unavailable", /signing in with a password still works/))
  await assert.rejects(openIdAt(issuer.url).begin(undefined), refusedAs("unavailable", /signing in with a password still works/))
})

const places = ["/.well-known/openid-configuration", "/token", "/jwks", "/userinfo"]

test("a provider that never ends its response is unavailable after the time-out", async () => {
  for (const place of places) {
    await using issuer = await startHostileIssuer()
    issuer.idToken = () => signed(issuer, { preferred_username: undefined })
    issuer.spoiled[place] = (response) => void response.writeHead(200, { "content-type": "application/json" }).write("{")
    const openId = openIdAt(issuer.url, { timeoutSeconds: 1 })
    await assert.rejects(signIn(issuer, openId), refusedAs("unavailable", /signing in with a password still works/), place)
  }
})

test("a provider with an endless response is unavailable, and its response is not read further", async () => {
  for (const place of places) {
    await using issuer = await startHostileIssuer()
    issuer.idToken = () => signed(issuer, { preferred_username: undefined })
    const closed = Promise.withResolvers<number>()
    issuer.spoiled[place] = (response) => {
      let sent = 0
      response.writeHead(200, { "content-type": "application/json" }).on("close", () => closed.resolve(sent))
      const more = () => {
        if (response.destroyed) return
        sent += 65_536
        if (response.write(" ".repeat(65_536))) setImmediate(more)
        else response.once("drain", more)
      }
      more()
    }
    await assert.rejects(signIn(issuer, openIdAt(issuer.url)), refusedAs("unavailable", /signing in with a password still works/), place)
    assert.ok((await closed.promise) < 16 * 1024 * 1024, place)
  }
})

test("claims that are missing from the ID token come from userinfo of the same subject", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer, { preferred_username: undefined })
  issuer.userinfo = { sub: "s", preferred_username: "from-userinfo", iss: "https://issuer.example" }
  const { person } = await signIn(issuer, openIdAt(issuer.url))
  assert.deepEqual([person.userName, person.issuer], ["from-userinfo", issuer.url], "what was signed wins")
  issuer.userinfo = { sub: "another", preferred_username: "ann" }
  await assert.rejects(signIn(issuer, openIdAt(issuer.url)), refusedAs("unauthorized", /does not prove a user name/))
})

test("a sign-in expires after ten minutes, and needs a cookie that this installation signed", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  const clock = new ManualClock()
  const openId = openIdAt(issuer.url, { clock })
  const { location, cookie } = await openId.begin(undefined)
  const query = `code=c&state=${new URL(location).searchParams.get("state")}`
  const foreign = openIdAt(issuer.url, { key: Buffer.alloc(32, 2) })
  await assert.rejects(foreign.finish(query, cookie), refusedAs("unauthorized", /not started in this browser/))
  for (const bad of [undefined, "", "a.b", `${cookie}x`]) {
    await assert.rejects(openId.finish(query, bad), refusedAs("unauthorized", /not started in this browser/))
  }
  await clock.advance(openIdSignInMs)
  await assert.rejects(openId.finish(query, cookie), refusedAs("unauthorized", /took too long/))
})

test("user names are in lower case without their suffix; a claim names groups and administrators", async () => {
  await using issuer = await startHostileIssuer()
  let claims: object = {}
  issuer.idToken = () => signed(issuer, claims)
  const openId = openIdAt(issuer.url, { userSuffix: "@Example.com", groupsClaim: "groups", admin: { claim: "roles", value: "boss" } })
  const signInWith = async (values: object) => {
    claims = values
    const { userName, groups, isAdmin } = (await signIn(issuer, openId)).person
    return [userName, groups, isAdmin]
  }
  assert.deepEqual(await signInWith({ preferred_username: "Ann@example.COM", groups: ["a", 5], roles: "boss" }), ["ann", ["a"], true])
  assert.deepEqual(await signInWith({ preferred_username: "ann@evil.com", groups: "a", roles: ["bossy"] }), ["", ["a"], false])
  assert.deepEqual(await signInWith({ preferred_username: ["ann"], groups: { a: 1 }, roles: null }), ["", [], false])
})

test("a proof is claimed once the provider has confirmed the code, and at no made-up one", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  let claims = 0
  const claimProof = async () => {
    claims += 1
    return claims === 1
  }
  const openId = openIdAt(issuer.url, { claimProof })
  issuer.tokenAnswer = { status: 400, body: '{"error": "invalid_grant"}' }
  await assert.rejects(signIn(issuer, openId), refusedAs("unauthorized", /invalid_grant/))
  assert.equal(claims, 0)
  issuer.tokenAnswer = undefined
  await signIn(issuer, openId)
  await assert.rejects(signIn(issuer, openId), refusedAs("unauthorized", /used before/))
})

test("neither an address that the provider has not verified nor a letter that becomes another is a user name", async () => {
  await using issuer = await startHostileIssuer()
  let claims: object = {}
  issuer.idToken = () => signed(issuer, claims)
  const nameOf = async (values: object, userClaim = "email") => {
    claims = values
    return (await signIn(issuer, openIdAt(issuer.url, { userClaim, userSuffix: "@example.com" }))).person.userName
  }
  const email = "ann@example.com"
  for (const email_verified of [false, "false", null, 1]) assert.equal(await nameOf({ email, email_verified }), "", String(email_verified))
  for (const email_verified of [true, "true", undefined])
    assert.equal(await nameOf({ email, email_verified }), "ann", String(email_verified))
  const otherClaim = { email, email_verified: false, upn: email }
  assert.equal(await nameOf(otherClaim, "upn"), "ann")
  assert.equal(await nameOf({ email: "\u212aate@example.com" }), "")
})

test("a public client signs in by PKCE, without a secret", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  const { person } = await signIn(issuer, openIdAt(issuer.url, { clientSecret: "" }))
  assert.deepEqual([person.userName, issuer.asked.get("client_id"), issuer.asked.has("client_secret")], ["ann", "quayside", false])
})

test("tokens of a new signing key are accepted once it is published", async () => {
  await using issuer = await startHostileIssuer()
  issuer.idToken = () => signed(issuer)
  const openId = openIdAt(issuer.url)
  await signIn(issuer, openId)
  const next: Jwk = signingKey()
  issuer.key = next
  await assert.rejects(signIn(issuer, openId), refusedAs("unauthorized", /does not prove a user name/))
  issuer.keys = [publicPart(next)]
  assert.equal((await signIn(issuer, openId)).person.subject, "s")
})
