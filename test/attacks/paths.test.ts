import assert from "node:assert/strict"
import { lstatSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { sendRaw, sendRequest } from "../api/http-client.ts"
import { type Person, startTestServer, type TestServer } from "../test-server.ts"

/*
 * Every known spelling of "one directory up", at the files address, at the gateway and in fields of
 * the API with paths.
 */

const canary = "canary-of-bob"
/** Includes its slash. */
const ups = [
  "../",
  "..%2f",
  "..%2F",
  "%2e%2e/",
  "%2e./",
  ".%2E/",
  "%2e%2e%2f",
  "%252e%252e/",
  "..%252f",
  "..%5c",
  "..\\",
  "..;/",
  "....//",
  "..%00/",
  "%00../",
  "%c0%ae%c0%ae/",
  "..%c0%af",
  "..%ef%bc%8f",
  "%uff0e%uff0e/",
  "%u002e%u002e/",
  "\xef\xbc\x8e\xef\xbc\x8e/",
  "./../",
  "x/../../",
  ".. /",
  "..%20/",
  "..%09/",
  "//../",
]

let testServer: TestServer
let [ann, bob]: Person[] = []
before(async () => {
  testServer = await startTestServer()
  ;[ann, bob] = [await testServer.person("ann"), await testServer.person("bob")]
  assert.equal(
    (await sendRequest(testServer.quayside.filesUrl, "PUT", "/users/bob/secret.txt", { as: bob.authorization, body: canary })).status,
    201,
  )
  assert.equal(
    (await sendRequest(testServer.quayside.filesUrl, "PUT", "/users/ann/mine.txt", { as: ann?.authorization, body: "mine" })).status,
    201,
  )
})
after(() => testServer[Symbol.asyncDispose]())

/**
 * Every path in the data directory with the content of its files, except the database's own writes.
 */
function contents(): Record<string, string> {
  const below = readdirSync(testServer.dataDir, { recursive: true, withFileTypes: true })
  const remaining = below
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !/quayside\.db|\/\.quayside\/|\/users\/ann(\/|$)/.test(path))
  return Object.fromEntries(remaining.map((path) => [path, lstatSync(path).isFile() ? readFileSync(path, "latin1") : ""]))
}

/** Sent unchanged: a client would normalize the path. */
function send(url: string, method: string, path: string, headers: Record<string, string> = {}): Promise<string> {
  const { host } = new URL(url)
  const all = { Host: host, Authorization: ann?.authorization ?? "", Connection: "close", "Content-Length": "5", ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return sendRaw(url, Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join("")}\r\nspoil`, "latin1"))
}

function wayUp(up: string, to: string): string[] {
  return [`/users/ann/${up}${to}`, `/users/ann/x/${up}${up}${to}`, `/${up}files/users/${to}`, `/${up}${to}`]
}

const targets = ["bob/secret.txt", "bob", "secrets/gateway-cookie", "quayside.db"]

test("no spelling of a path, in the target or in Destination, escapes the files that a person may see", async () => {
  const { filesUrl } = testServer.quayside
  const before = contents()
  const cookieKey = readFileSync(join(testServer.dataDir, "secrets", "gateway-cookie"), "latin1").trim()
  assert.ok(before[join(testServer.dataDir, "files/users/bob/secret.txt")] === canary && cookieKey.length > 20)
  for (const path of ups.flatMap((up) => ["bob/secret.txt", "secrets/gateway-cookie"].flatMap((to) => wayUp(up, to)))) {
    for (const method of ["GET", "PROPFIND", "PUT", "DELETE"]) {
      const answer = await send(filesUrl, method, path, { Depth: "1" })
      assert.match(answer, /^HTTP\/1\.1 (?:201|207|400|403|404|405|409|415) /, `${method} ${path}`)
      for (const secret of [canary, cookieKey, "secret.txt<", "SQLite format"])
        assert.ok(!answer.includes(secret), `${method} ${path}: ${answer}`)
    }
    for (const method of ["COPY", "MOVE"]) {
      const to = await send(filesUrl, method, "/users/ann/mine.txt", { Destination: path, Overwrite: "T" })
      assert.match(to, /^HTTP\/1\.1 (?:201|204|400|403|404|409|502) /, `${method} to ${path}`)
      if (/^HTTP\/1\.1 20/.test(to)) await sendRequest(filesUrl, "PUT", "/users/ann/mine.txt", { as: ann?.authorization, body: "mine" })
      const from = await send(filesUrl, method, path, { Destination: "/users/ann/taken.txt", Overwrite: "T" })
      assert.match(from, /^HTTP\/1\.1 (?:201|204|400|403|404|409) /, `${method} of ${path}`)
    }
    assert.equal(
      (await sendRequest(filesUrl, "GET", "/users/ann/taken.txt", { as: ann?.authorization })).text.includes(canary),
      false,
      path,
    )
  }
  assert.deepEqual(contents(), before)
})

test("a path of thousands of names is refused, and stops nobody else", async () => {
  const { filesUrl } = testServer.quayside
  const deep = `/users/bob${"/a".repeat(2_000)}`
  const requests = Promise.all([
    sendRequest(filesUrl, "GET", deep, { as: ann?.authorization }),
    sendRequest(filesUrl, "MOVE", "/users/ann/mine.txt", { as: ann?.authorization, headers: { Destination: deep } }),
  ])
  const start = performance.now()
  assert.equal((await sendRequest(filesUrl, "GET", "/users/bob/secret.txt", { as: bob?.authorization })).text, canary)
  const ms = performance.now() - start
  assert.deepEqual(
    (await requests).map(({ status }) => status),
    [414, 414],
  )
  assert.ok(ms < 2_000, `${ms} ms`)
  const result = await ann?.client.createData({ body: { Name: "d", AccessInfo: deep } }).catch((error: unknown) => error)
  assert.match(String(result), /at most 256 names/)
})

test("no spelling of a path leads from one run to another, to the gateway's own paths or to the other addresses", async () => {
  const { appsUrl } = testServer.quayside
  const start = async ({ client }: Person, name: string) => {
    const image = await client.createImage({ body: { Name: name, Image: "fake/http" } })
    const project = await client.createProject({ body: { ProjectName: name, Type: "http", ImageID: image.ID } })
    return client.startRun({ body: { ProjectID: project.ID } })
  }
  const [own, other] = [await start(ann as Person, "own"), await start(bob as Person, "other")]
  const echo = async (path: string) => (await sendRequest(appsUrl, "GET", path, { as: bob?.authorization })).text
  await echo(`/run/${other.ID}/log/${canary}`)
  const marker = async () => JSON.stringify(await Array.fromAsync((await bob?.client.runLogs({ query: { ID: other.ID } })) ?? []))
  const before = await marker()
  assert.match(before, new RegExp(canary))
  for (const up of ups) {
    for (const path of [
      `/run/${own.ID}/${up}${other.ID}/log/reached`,
      `/run/${own.ID}/${up}${up}run/${other.ID}/log/reached`,
      `/${up}run/${other.ID}/log/reached`,
    ]) {
      const answer = await send(appsUrl, "GET", path)
      assert.match(answer, /^HTTP\/1\.1 (?:200|308|400|404) /, path)
    }
  }
  assert.equal(await marker(), before)
  for (const [person, run] of [
    [ann, own],
    [bob, other],
  ] as const)
    await person?.client.stopRun({ query: { ID: run.ID } })
})

test("no spelling of a path creates a dataset on another person's or the server's directory", async () => {
  const before = contents()
  for (const up of ups) {
    for (const path of targets.flatMap((to) => wayUp(up, to))) {
      const result = await ann?.client.createData({ body: { Name: "d", AccessInfo: path } }).catch((error: unknown) => error)
      if (result instanceof Error) continue
      const { AccessInfo } = result as { AccessInfo: string }
      assert.match(AccessInfo, /^\/users\/ann\/(?!(?:.*\/)?\.\.(?:\/|$))/, path)
    }
  }
  writeFileSync(join(testServer.dataDir, "files/users/bob/after.txt"), "")
  const now = contents()
  delete now[join(testServer.dataDir, "files/users/bob/after.txt")]
  assert.deepEqual(now, before)
})
