import assert from "node:assert/strict"
import { readFile } from "node:fs/promises"
import { request } from "node:http"
import { join } from "node:path"
import { after, test } from "node:test"
import { startTestServer } from "../test-server.ts"
import { openCommandLine } from "./program.ts"
import { startLogin, type WaitingLogin } from "./terminal-login.ts"

const server = await startTestServer()
after(() => server[Symbol.asyncDispose]())
const { baseUrl } = server.quayside
const ann = await server.person("ann")

async function newCommandLine() {
  const cli = await openCommandLine()
  after(() => cli[Symbol.asyncDispose]())
  return cli
}

/** The page allows it for Ann: a code for the challenge of its address. */
async function allow({ page }: WaitingLogin): Promise<string> {
  const [name, challenge] = [page.searchParams.get("name"), page.searchParams.get("challenge")]
  const body = { Name: String(name), CodeChallenge: String(challenge), Scopes: ["read", "write"] }
  return (await ann.client.createTokenCode({ body })).Code
}

interface Callback {
  query: Record<string, string>
  path?: string
  method?: string
  headers?: Record<string, string>
}

/** A request to the port of the command, as a browser or any other program sends it. */
function callback({ page }: WaitingLogin, { query, path = "/callback", method = "GET", headers = {} }: Callback) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; text: string }>()
  const port = Number(page.searchParams.get("port"))
  const options = { host: "127.0.0.1", port, path: `${path}?${new URLSearchParams(query)}`, method, headers, agent: false }
  request(options, (response) => {
    const { statusCode: status } = response
    response.toArray().then((chunks) => resolve({ status, text: Buffer.concat(chunks).toString() }), reject)
  })
    .on("error", reject)
    .end()
  return promise
}

const stateOf = ({ page }: WaitingLogin) => String(page.searchParams.get("state"))

test("login by the browser makes a token of a code that the page brings, and logout revokes it", async () => {
  const cli = await newCommandLine()
  const login = await startLogin(cli, baseUrl)
  assert.equal(login.page.origin + login.page.pathname, `${baseUrl}/ui/authorize`)
  const code = await allow(login)
  const shown = await callback(login, { query: { code, state: stateOf(login) } })
  assert.deepEqual([shown.status, /You are signed in/.test(shown.text)], [200, true], shown.text)
  const outcome = await login.ended
  assert.equal(outcome.code, 0, outcome.stderr)
  assert.match(outcome.stdout, /Signed in to http:\/\/localhost:\d+ as ann/)
  const stored = JSON.parse(await readFile(join(cli.directory, "config/quayside/contexts.json"), "utf8"))
  const { token, tokenId } = stored.contexts.localhost
  for (const text of [outcome.stdout, outcome.stderr, shown.text, login.page.href]) assert.ok(!text.includes(token), "no one prints it")
  const { data } = await ann.client.listTokens({})
  const [made] = data.filter(({ ID }) => ID === tokenId)
  assert.match(String(made?.Name), /^quayside on ./)
  assert.equal((await cli.run(["whoami", "--json"])).json().UserName, "ann")
  const left = await cli.run(["logout", "--json"])
  assert.deepEqual(left.json(), { context: "localhost", isRevoked: true })
  assert.ok(!(await ann.client.listTokens({})).data.some(({ ID }) => ID === tokenId))
})

test("signing in again revokes the token of the context that it replaces", async () => {
  const cli = await newCommandLine()
  const tokenIds: number[] = []
  for (let i = 0; i < 2; i++) {
    const login = await startLogin(cli, baseUrl)
    await callback(login, { query: { code: await allow(login), state: stateOf(login) } })
    assert.equal((await login.ended).code, 0)
    const stored = JSON.parse(await readFile(join(cli.directory, "config/quayside/contexts.json"), "utf8"))
    tokenIds.push(stored.contexts.localhost.tokenId)
  }
  const live = (await ann.client.listTokens({})).data.map(({ ID }) => ID)
  assert.deepEqual([live.includes(tokenIds[0] as number), live.includes(tokenIds[1] as number)], [false, true])
})

test("a denied login exits with 3, and stores nothing", async () => {
  const cli = await newCommandLine()
  const login = await startLogin(cli, baseUrl)
  const shown = await callback(login, { query: { error: "access_denied", state: stateOf(login) } })
  assert.match(shown.text, /You are not signed in/)
  const { code, stderr } = await login.ended
  assert.deepEqual([code, /You denied it/.test(stderr)], [3, true], stderr)
  assert.equal((await cli.run(["ls"])).code, 3)
})

test("requests without the state, with another one, or to another path or host change nothing", async () => {
  const cli = await newCommandLine()
  const login = await startLogin(cli, baseUrl)
  const code = await allow(login)
  const state = stateOf(login)
  const other = "s".repeat(43)
  const foreign: [Callback, number][] = [
    [{ query: { code } }, 400],
    [{ query: { code, state: other } }, 400],
    [{ query: { error: "access_denied", state: other } }, 400],
    [{ query: { state } }, 400],
    [{ query: { code, state, error: "access_denied" } }, 400],
    [{ query: { code, state }, path: "/" }, 404],
    [{ query: { code, state }, path: "//callback" }, 404],
    [{ query: { code, state }, path: "//[" }, 404],
    [{ query: { code, state }, method: "POST" }, 404],
    [{ query: { code, state }, headers: { host: "elsewhere.example" } }, 404],
    [{ query: { code, state }, headers: { host: `localhost:${login.page.searchParams.get("port")}` } }, 404],
  ]
  for (const [sent, status] of foreign) assert.equal((await callback(login, sent)).status, status, JSON.stringify(sent))
  await callback(login, { query: { code, state } })
  assert.equal((await login.ended).code, 0, "it still waited for the right one")
})

test("a code of another sign-in, whose verifier this one lacks, signs nobody in", async () => {
  const [mine, theirs] = [await newCommandLine(), await newCommandLine()]
  const [login, stranger] = [await startLogin(mine, baseUrl), await startLogin(theirs, baseUrl)]
  const code = await allow(stranger)
  const shown = await callback(login, { query: { code, state: stateOf(login) } })
  assert.match(shown.text, /You are not signed in[\s\S]*Code must be one/)
  const { code: exitCode, stderr } = await login.ended
  assert.deepEqual([exitCode, /Code must be one/.test(stderr)], [1, true], stderr)
  stranger.interrupt()
  assert.equal((await stranger.ended).code, 130)
})

test("Ctrl-C ends a login that waits, and closes its port", async () => {
  const login = await startLogin(await newCommandLine(), baseUrl)
  login.interrupt()
  assert.equal((await login.ended).code, 130)
  await assert.rejects(callback(login, { query: { state: stateOf(login) } }), { code: "ECONNREFUSED" })
})

test("without a terminal, the error names all ways to pass a token", async () => {
  const { code, stderr } = await (await newCommandLine()).run(["login", baseUrl])
  assert.deepEqual([code, /--token-stdin[\s\S]*QUAYSIDE_TOKEN/.test(stderr)], [2, true], stderr)
})
