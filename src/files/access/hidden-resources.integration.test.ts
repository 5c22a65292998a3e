import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { TestFilesServer, type TestResponse } from "../../../test/fixtures/files/files-server.ts"

/*
 * A condition on a hidden resource is judged as if that did not exist, so no response confirms a
 * guess. The tests send each method with each condition, for a hidden resource and for one that
 * never existed.
 */

let server: TestFilesServer
/** Of bob's, hidden from ann: the tag of a file, and the token of a lock on it. */
let etag = ""
let token = ""

const lockBody = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
const patch = '<propertyupdate xmlns="DAV:"><set><prop><c xmlns="urn:x">1</c></prop></set></propertyupdate>'

before(async () => {
  server = await TestFilesServer.start()
  server.makeDirectory("users/bob/dir")
  server.makeDirectory("data/shared")
  server.authority.add("eva", { "/users/bob/dir": "read" })
  server.makeDirectory("users/eva")
  const put = await server.ask("PUT", "/users/bob/secret.txt", { user: "bob", body: "secret" })
  etag = String(put.headers.etag)
  const lock = await server.ask("LOCK", "/users/bob/secret.txt", { user: "bob", body: lockBody, headers: { timeout: "Second-3600" } })
  token = String(lock.headers["lock-token"])
})
after(() => server[Symbol.asyncDispose]())

type Headers = Record<string, string>

/** Requests about one's own files, with what is done beforehand so that each begins alike. */
const methods: Record<string, { headers?: Headers; body?: string; at?: string }> = {
  PUT: { body: "new" },
  DELETE: {},
  MKCOL: { at: "/users/ann/new" },
  PROPPATCH: { body: patch },
  COPY: { headers: { destination: "/users/ann/new" } },
  MOVE: { headers: { destination: "/users/ann/new" } },
  LOCK: { body: lockBody },
  UNLOCK: { headers: { "lock-token": "<urn:uuid:none>" } },
  GET: {},
  HEAD: {},
  PROPFIND: { headers: { depth: "0" } },
  OPTIONS: {},
}

/** `If` headers about another resource. */
const tagged: Record<string, (path: string) => Headers> = {
  "its tag": (path) => ({ if: `<${path}> ([${etag}])` }),
  "not its tag": (path) => ({ if: `<${path}> (Not [${etag}])` }),
  "another tag": (path) => ({ if: `<${path}> (["x"])` }),
  "not another tag": (path) => ({ if: `<${path}> (Not ["x"])` }),
  "the token of its lock": (path) => ({ if: `<${path}> (${token})` }),
  "not the token of its lock": (path) => ({ if: `<${path}> (Not ${token})` }),
  "tag and token": (path) => ({ if: `<${path}> (${token} [${etag}])` }),
  "its tag, by its whole address": (path) => ({ if: `<${server.url}${path}> ([${etag}])` }),
  "its tag or one's own": (path) => ({ if: `<${path}> ([${etag}]) </users/ann/own.txt> (["none"])` }),
}

/** Conditions on a request about the hidden resource itself. */
const direct: Record<string, () => Headers> = {
  none: () => ({}),
  "If-Match with its tag": () => ({ "if-match": etag }),
  "If-Match: *": () => ({ "if-match": "*" }),
  "If-None-Match with its tag": () => ({ "if-none-match": etag }),
  "If-None-Match: *": () => ({ "if-none-match": "*" }),
  "If-Modified-Since": () => ({ "if-modified-since": new Date().toUTCString() }),
  "If-Unmodified-Since": () => ({ "if-unmodified-since": "Thu, 01 Jan 2015 00:00:00 GMT" }),
  "If with its tag": () => ({ if: `([${etag}])` }),
  "If with the token of its lock": () => ({ if: `(${token})` }),
  "an If that cannot be read": () => ({ if: "nonsense" }),
  "the token of its lock": () => ({ "lock-token": token }),
  "Overwrite: F": () => ({ overwrite: "F" }),
  "a range": () => ({ range: "bytes=0-1", "if-range": etag }),
}

const hiddenAndNever = ["/users/bob/secret.txt", "/users/bob/never.txt"] as const

async function prepare(): Promise<void> {
  await server.ask("DELETE", "/users/ann/new")
  await server.ask("DELETE", "/users/ann/own.txt")
  assert.equal((await server.ask("PUT", "/users/ann/own.txt", { body: "own" })).status, 201)
  server.files.invalidate()
  Object.assign(server.authority.asked, { identify: 0, access: 0 })
}

/**
 * All that an answer tells, but for what is another each time, and how often the authority was
 * asked.
 */
function comparable({ status, headers, text }: TestResponse, path: string): string {
  const { date: _date, etag: _etag, "last-modified": _modified, "lock-token": _token, ...rest } = headers
  const output = text.replaceAll(path, "PATH").replace(/urn:uuid:[0-9a-f-]+/g, "TOKEN")
  const words = output.replace(/<D:(getetag|getlastmodified|creationdate)>[^<]*/g, "")
  return JSON.stringify({ status, words, rest, asked: server.authority.asked })
}

for (const [method, how] of Object.entries(methods)) {
  test(`${method} answers an If header about a hidden resource as it does about none`, async () => {
    for (const [what, condition] of Object.entries(tagged)) {
      const answers: string[] = []
      for (const path of hiddenAndNever) {
        await prepare()
        const headers = { ...how.headers, ...condition(path) }
        const at = how.at ?? "/users/ann/own.txt"
        const answer = await server.ask(method, at, { headers, ...(how.body ? { body: how.body } : {}) })
        answers.push(comparable(answer, path))
        const lock = answer.headers["lock-token"]
        if (lock) await server.ask("UNLOCK", at, { headers: { "lock-token": lock } })
      }
      assert.equal(answers[0], answers[1], what)
    }
  })

  test(`${method} answers each condition on a hidden resource as it does on none`, async () => {
    for (const [what, condition] of Object.entries(direct)) {
      const answers: string[] = []
      for (const path of hiddenAndNever) {
        await prepare()
        const headers = { ...how.headers, ...condition() }
        answers.push(comparable(await server.ask(method, path, { headers, ...(how.body ? { body: how.body } : {}) }), path))
      }
      assert.equal(answers[0], answers[1], what)
      assert.match(answers[0] ?? "", /"status":404/, what)
    }
  })
}

for (const method of ["COPY", "MOVE"]) {
  test(`${method} to a hidden destination is answered as to none, whatever the conditions`, async () => {
    for (const [what, condition] of Object.entries({ ...direct, ...tagged })) {
      const answers: string[] = []
      for (const path of hiddenAndNever) {
        await prepare()
        const headers = { destination: path, ...condition(path) }
        answers.push(comparable(await server.ask(method, "/users/ann/own.txt", { headers }), path))
      }
      assert.equal(answers[0], answers[1], what)
    }
  })
}

test("a condition on a directory that the caller may only traverse is evaluated as if it did not exist", async () => {
  const lock = await server.ask("LOCK", "/users/bob", { user: "bob", body: lockBody, headers: { depth: "0" } })
  const passed = String(lock.headers["lock-token"])
  const request = async (path: string) => {
    await server.ask("DELETE", "/users/eva/f", { user: "eva" })
    const { status } = await server.ask("PUT", "/users/eva/f", { user: "eva", body: "x", headers: { if: `<${path}> (${passed})` } })
    return status
  }
  assert.equal(await request("/users/bob"), 412)
  assert.equal(await request("/users/never"), 412)
  await server.ask("UNLOCK", "/users/bob", { user: "bob", headers: { "lock-token": passed } })
})

test("a listing shows neither stored properties nor locks of a directory that the caller may only traverse", async () => {
  const noted = '<propertyupdate xmlns="DAV:"><set><prop><note xmlns="urn:x">private</note></prop></set></propertyupdate>'
  const owned = lockBody.replace("<locktype>", "<owner>private</owner><locktype>")
  for (const path of ["/users/bob", "/users/bob/dir"]) await server.ask("PROPPATCH", path, { user: "bob", body: noted })
  const lock = await server.ask("LOCK", "/users/bob", { user: "bob", body: owned, headers: { depth: "0" } })
  const bodies = {
    all: "",
    names: '<propfind xmlns="DAV:"><propname/></propfind>',
    some: '<propfind xmlns="DAV:"><prop><note xmlns="urn:x"/><lockdiscovery/></prop></propfind>',
  }
  for (const [what, body] of Object.entries(bodies)) {
    const shown = async (user: string, path: string, depth: string) => {
      const { text } = await server.ask("PROPFIND", path, { user, body, headers: { depth } })
      const [, at = ""] = /<D:href>\/users\/bob\/<\/D:href>(.*)/.exec(text) ?? []
      assert.ok(at.includes("lockdiscovery"), what)
      return /private|urn:uuid|:note\b.*200 OK/.test(at)
    }
    assert.equal(await shown("bob", "/users/bob", "0"), true, what)
    assert.equal(await shown("eva", "/users/bob", "0"), false, what)
    assert.equal(await shown("eva", "/users", "1"), false, what)
  }
  const below = await server.ask("PROPFIND", "/users/bob/dir", { user: "eva", body: bodies.some, headers: { depth: "0" } })
  assert.match(below.text, /private/, "of what the caller may read")
  await server.ask("UNLOCK", "/users/bob", { user: "bob", headers: { "lock-token": String(lock.headers["lock-token"]) } })
})

test("a condition on a readable resource is evaluated", async () => {
  const put = await server.ask("PUT", "/users/bob/dir/known", { user: "bob", body: "x" })
  const request = async (tag: string) => {
    const headers = { if: `</users/bob/dir/known> ([${tag}])` }
    return (await server.ask("PUT", "/users/eva/g", { user: "eva", body: "x", headers })).status
  }
  assert.equal(await request(String(put.headers.etag)), 201)
  assert.equal(await request('"x"'), 412)
})

test("an `If` header with too many lists is refused", async () => {
  const headers = { if: "</users/ann/x> (<urn:x>) ".repeat(65) }
  assert.equal((await server.ask("PUT", "/users/ann/own.txt", { body: "x", headers })).status, 400)
})
