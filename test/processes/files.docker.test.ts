import assert from "node:assert/strict"
import { after, before, test } from "node:test"
import { setTimeout as sleep } from "node:timers/promises"
import { basicAuth } from "#client"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { type Installation, openInstallation, type RoleProcess } from "./installation.ts"

let installation: Installation
let first: FilesProcess
let second: FilesProcess
before(async () => {
  const [port] = await freePorts(1)
  installation = await openInstallation()
  await installation.start("api")
  first = { process: await installation.start("files"), url: installation.filesUrl, start: () => installation.start("files") }
  const elsewhere = () => installation.startWith({ env: { QUAYSIDE_FILES_PORT: String(port) } }, "files")
  second = { process: await elsewhere(), url: `http://localhost:${port}`, start: elsewhere }
})
after(() => installation[Symbol.asyncDispose]())

interface FilesProcess {
  process: RoleProcess
  url: string
  start(): Promise<RoleProcess>
}

type Options = { user?: string; headers?: Record<string, string>; body?: RequestInit["body"] }

async function ask({ url }: FilesProcess, method: string, path: string, { user, headers = {}, body = null }: Options = {}) {
  const authorization = user ?? basicAuth("admin", installation.password)
  const init = { method, headers: { authorization, ...headers }, body, duplex: "half" } as RequestInit
  const answer = await fetch(`${url}/users/admin/${path}`, init)
  return { status: answer.status, headers: answer.headers, text: await answer.text() }
}

/** Also while it starts to listen. */
const tells = (process: FilesProcess, text: string) =>
  ask(process, "GET", "kept.txt").then(
    (answer) => answer.text === text,
    () => false,
  )
const says = async ({ process }: FilesProcess) => (await process.checks()).files
const lockBody = '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>'

test("a lock and a property of one process hold in the other, and both are ready", async () => {
  assert.match((await says(first))?.msg ?? "", /^The file server answers/)
  assert.deepEqual(await says(second), { ok: true, msg: "Another process serves the files; this one passes requests on to it" })
  for (const [here, there] of [
    [first, second],
    [second, first],
  ] as const) {
    const name = here === first ? "one.txt" : "two.txt"
    assert.equal((await ask(here, "PUT", name, { body: "by one" })).status, 201)
    const locked = await ask(here, "LOCK", name, { body: lockBody })
    const token = locked.headers.get("lock-token") ?? ""
    assert.equal((await ask(there, "PUT", name, { body: "by the other" })).status, 423)
    assert.equal((await ask(there, "PUT", name, { body: "with the lock", headers: { if: `(${token})` } })).status, 204)
    const set = '<D:propertyupdate xmlns:D="DAV:"><D:set><D:prop><x:a xmlns:x="urn:x">kept</x:a></D:prop></D:set></D:propertyupdate>'
    assert.equal((await ask(here, "PROPPATCH", name, { body: set, headers: { if: `(${token})` } })).status, 207)
    assert.match((await ask(there, "PROPFIND", name, { headers: { depth: "0" } })).text, /kept/)
    assert.equal((await ask(there, "UNLOCK", name, { headers: { "lock-token": token } })).status, 204)
  }
})

test("what is passed on stays as it is: large bodies, ranges, refusals", async () => {
  const bytes = Buffer.alloc(20 * 2 ** 20, "passed on ")
  const stream = new Blob([bytes]).stream()
  assert.equal((await ask(second, "PUT", "large", { body: stream })).status, 201)
  assert.equal((await ask(first, "GET", "large")).text, bytes.toString())
  const part = await ask(second, "GET", "large", { headers: { range: "bytes=10-29" } })
  assert.deepEqual([part.status, part.text], [206, bytes.subarray(10, 30).toString()])
  const refused = await ask(second, "PUT", "large", { user: basicAuth("admin", "wrong"), body: bytes })
  assert.deepEqual([refused.status, refused.headers.get("www-authenticate")], [401, 'Basic realm="Quayside"'])
  assert.equal((await ask(second, "DELETE", "large", { body: new Blob(["a body"]).stream() })).status, 204)
  assert.equal((await ask(first, "GET", "large")).status, 404)
})

test("when the process that serves is killed, the other one takes over, and it passes requests on when it is back", async () => {
  await ask(second, "PUT", "kept.txt", { body: "kept" })
  await first.process.kill()
  await eventually("the other one serves", () => tells(second, "kept"), 20_000)
  // An answer of /readyz may be half a second old.
  await eventually("it says so", async () => /^The file server answers/.test((await says(second))?.msg ?? ""))
  first.process = await first.start()
  assert.equal((await ask(first, "GET", "kept.txt")).text, "kept")
  await eventually("the other one says so", async () => /^Another process serves/.test((await says(first))?.msg ?? ""))
})

test("a process that is killed and started again serves at once", async () => {
  await second.process.kill()
  second.process = await second.start()
  await eventually("one of them serves", async () => {
    const serving = await Promise.all([says(first), says(second)])
    return serving.filter((each) => /^The file server answers/.test(each?.msg ?? "")).length === 1
  })
  assert.equal((await ask(second, "GET", "kept.txt")).text, "kept")
})

test("a process that stood still serves nothing more once another one does", async () => {
  const [serving, other] = /^The file server/.test((await says(second))?.msg ?? "") ? [second, first] : [first, second]
  serving.process.child.kill("SIGSTOP")
  await eventually("the other one serves", async () => /^The file server/.test((await says(other))?.msg ?? ""), 20_000)
  assert.equal((await ask(other, "PUT", "kept.txt", { body: "by the new one" })).status, 204)
  const locked = await ask(other, "LOCK", "kept.txt", { body: lockBody })
  assert.equal(locked.status, 200)
  const old = await ask(serving, "PUT", "kept.txt", { body: "by the old one" })
  assert.deepEqual([old.status, old.headers.get("retry-after")], [503, "1"])
  serving.process.child.kill("SIGCONT")
  await eventually("it passes requests on", () => tells(serving, "by the new one"), 20_000)
  assert.equal((await ask(serving, "PUT", "kept.txt", { body: "x" })).status, 423)
})

test("an upload goes on while the database is away for longer than the right to serve lasts", async () => {
  const [serving, other] = /^The file server/.test((await says(second))?.msg ?? "") ? [second, first] : [first, second]
  // The first process that renews or acquires the lease afterwards would serve.
  other.process.child.kill("SIGSTOP")
  try {
    await eventually("an upload is kept", () => uploadsAcrossRestart(serving), 120_000)
  } finally {
    other.process.child.kill("SIGCONT")
  }
  await eventually("it is read", async () => (await ask(serving, "GET", "slow.txt")).text === "before, after")
})

/** False if the database, on a busy disk, took too long to tell the rights once more at the end. */
async function uploadsAcrossRestart(serving: FilesProcess): Promise<boolean> {
  const pieces = new TransformStream<Uint8Array, Uint8Array>()
  const writer = pieces.writable.getWriter()
  const put = ask(serving, "PUT", "slow.txt", { body: pieces.readable })
  await writer.write(Buffer.from("before, "))
  await installation.postgres.crash?.()
  await sleep(6_000)
  await installation.postgres.start?.()
  await eventually("it serves again", () => tells(serving, "by the new one"), 20_000)
  await writer.write(Buffer.from("after"))
  await writer.close()
  const { status, text } = await put
  if (status === 503 && /try again/.test(text)) return false
  assert.equal(status, 201, text)
  return true
}
