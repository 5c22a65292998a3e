import assert from "node:assert/strict"
import { createHash, randomBytes } from "node:crypto"
import { after, test } from "node:test"
import { bearerAuth, createClient } from "#client"
import { bounds } from "#contract"
import { sendRequest } from "../api/http-client.ts"
import { type Person, startTestServer } from "../test-server.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const [ann, bob] = [await server.person("ann"), await server.person("bob")]
const anonymous = createClient({ baseUrl })

function newPair() {
  const verifier = randomBytes(32).toString("base64url")
  return { verifier, challenge: createHash("sha256").update(verifier).digest("base64url") }
}

async function codeOf({ client }: Pick<Person, "client">, challenge: string, fields: object = {}): Promise<string> {
  return (await client.createTokenCode({ body: { Name: "a program", CodeChallenge: challenge, ...fields } })).Code
}

const exchange = (Code: string, CodeVerifier: string) => anonymous.exchangeTokenCode({ body: { Code, CodeVerifier } })
const refused = { status: 400, code: "invalid", field: "Code" }

test("a code becomes the token that its person allowed, once", async () => {
  const { verifier, challenge } = newPair()
  const code = await codeOf(ann, challenge, { Scopes: ["read"], ExpiresAt: "2100-01-01T00:00:00Z" })
  const { Token, ID, Scopes, ExpiresAt } = await exchange(code, verifier)
  assert.deepEqual([Scopes, Date.parse(ExpiresAt as string)], [["read"], Date.parse("2100-01-01T00:00:00Z")])
  const client = createClient({ baseUrl, authorization: bearerAuth(Token) })
  assert.equal((await client.whoami()).UserName, "ann")
  await assert.rejects(client.createData({ body: { Name: "written" } }), { status: 403 })
  await assert.rejects(exchange(code, verifier), refused)
  const { data } = await server.admin.listAudit({ query: { UserName: "ann", Action: "token.created" } })
  assert.equal(data[0]?.Thing?.ID, ID)
})

test("of many simultaneous exchanges of a code one succeeds", async () => {
  const { verifier, challenge } = newPair()
  const code = await codeOf(ann, challenge)
  const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => exchange(code, verifier)))
  assert.equal(outcomes.filter(({ status }) => status === "fulfilled").length, 1)
})

test("a wrong verifier is refused, and the right one after it", async () => {
  const { verifier, challenge } = newPair()
  const code = await codeOf(ann, challenge)
  await assert.rejects(exchange(code, newPair().verifier), refused)
  await assert.rejects(exchange(code, verifier), refused)
  const plain = await codeOf(ann, challenge)
  await assert.rejects(exchange(plain, challenge), refused, "the challenge itself is no verifier")
})

test("another person's code does not fit a program's verifier", async () => {
  const [mine, theirs] = [newPair(), newPair()]
  const [, code] = [await codeOf(ann, mine.challenge), await codeOf(bob, theirs.challenge)]
  await assert.rejects(exchange(code, mine.verifier), refused)
})

test("a guessed code has the answer of a used one", async () => {
  const { verifier, challenge } = newPair()
  const code = await codeOf(ann, challenge)
  await exchange(code, verifier)
  const message = (text: string) => exchange(text, verifier).catch((error: Error) => error.message)
  assert.equal(await message(randomBytes(32).toString("base64url")), await message(code))
})

test("malformed codes, verifiers and challenges are refused with their field", async () => {
  const { verifier, challenge } = newPair()
  for (const bad of ["", "x", `${challenge}=`, "ä".repeat(43)]) {
    await assert.rejects(codeOf(ann, bad), { status: 400, field: "CodeChallenge" }, bad)
    await assert.rejects(exchange(bad, verifier), refused, bad)
    await assert.rejects(exchange(challenge, bad.replace("=", "/").slice(0, 42)), { status: 400, field: "CodeVerifier" }, bad)
  }
})

test("a code ends with the session that allowed it, and with its person", async () => {
  const cat = await server.person("cat")
  const { ID } = await server.admin.readUser({ query: { UserName: "cat" } })
  const session = await openSession(cat)
  const [first, second] = [newPair(), newPair()]
  const codes = [await session.codeFor(first.challenge), await codeOf(cat, second.challenge)] as const
  await session.end()
  await assert.rejects(exchange(codes[0], first.verifier), refused)
  await server.admin.updateUser({ body: { ID, IsDisabled: true } })
  await assert.rejects(exchange(codes[1], second.verifier), refused)
})

test("a person has a bounded number of waiting codes, and the oldest ends", async () => {
  const most = bounds.accounts.tokenCodes.value
  const pairs = Array.from({ length: most + 1 }, newPair)
  const codes: string[] = []
  const own = newPair()
  const other = await codeOf(bob, own.challenge)
  for (const { challenge } of pairs) codes.push(await codeOf(ann, challenge))
  const exchangeAt = (i: number) => exchange(codes[i] as string, pairs[i]?.verifier as string)
  await assert.rejects(exchangeAt(0), refused)
  for (let i = 1; i <= most; i++) await exchangeAt(i)
  await exchange(other, own.verifier)
})

test("a credential that only reads allows no program anything, and a token none that outlives it", async () => {
  const limited = async (fields: object) => {
    const { Token } = await ann.client.createToken({ body: { Name: "limited", ...fields } })
    return createClient({ baseUrl, authorization: bearerAuth(Token) })
  }
  const { verifier, challenge } = newPair()
  await assert.rejects(codeOf({ client: await limited({ Scopes: ["read"] }) }, challenge), { status: 403 })
  const code = await codeOf({ client: await limited({ ExpiresAt: "2090-01-01T00:00:00Z" }) }, challenge, { ExpiresAt: null })
  await assert.rejects(exchange(code, verifier), { status: 403, field: "ExpiresAt" })
})

test("a page of another site obtains no code with a person's session", async () => {
  const { cookie } = await openSession(ann)
  const body = { Name: "theirs", CodeChallenge: newPair().challenge }
  for (const origin of ["https://elsewhere.example", "null", `${baseUrl}.elsewhere.example`]) {
    const answer = await sendRequest(baseUrl, "POST", "/token/code", { body, headers: { cookie, origin } })
    assert.equal(answer.status, 403, origin)
  }
})

/** A person's session in a browser. */
async function openSession({ userName, password }: Person) {
  const signedIn = await sendRequest(baseUrl, "POST", "/session", { body: { UserName: userName, Password: password } })
  const cookie = String(signedIn.headers["set-cookie"]).split(";", 1)[0] as string
  const headers = { cookie, "sec-fetch-site": "same-origin" }
  return {
    cookie,
    codeFor: async (CodeChallenge: string) => {
      const { status, text, body } = await sendRequest(baseUrl, "POST", "/token/code", {
        body: { Name: "a program", CodeChallenge },
        headers,
      })
      assert.equal(status, 200, text)
      return String(body.Code)
    },
    end: () => sendRequest(baseUrl, "DELETE", "/session", { headers }),
  }
}
