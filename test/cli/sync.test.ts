import assert from "node:assert/strict"
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises"
import { createServer, request } from "node:http"
import { join } from "node:path"
import { after, test } from "node:test"
import { eventually } from "../fixtures/eventually.ts"
import { freePorts } from "../fixtures/free-ports.ts"
import { startTestServer } from "../test-server.ts"
import { openCommandLine } from "./program.ts"

const [proxyPort = 0, filesPort = 0] = await freePorts(2)
/** Called before a request of the command line reaches the files address. */
let beforeRequest: (method: string, path: string) => Promise<void> = async () => {}
const proxy = createServer(async (incoming, response) => {
  const { method = "", url = "", headers } = incoming
  await beforeRequest(method, decodeURIComponent(url))
  const upstream = request({ port: filesPort, method, path: url, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 500, answer.headers)
    answer.pipe(response)
  })
  incoming.pipe(upstream)
})
proxy.listen(proxyPort)
after(() => proxy.close())
const server = await startTestServer({ "files-port": String(filesPort), "files-url": `http://localhost:${proxyPort}` })
after(() => server[Symbol.asyncDispose]())
const ann = await server.person("ann")
const cli = await openCommandLine()
after(() => cli[Symbol.asyncDispose]())
const env = { QUAYSIDE_SERVER: server.quayside.baseUrl, QUAYSIDE_TOKEN: ann.authorization.slice("Bearer ".length) }
let count = 0

interface SyncSummary {
  uploaded: number
  downloaded: number
  removedHere: number
  removedThere: number
  conflicts: string[]
  skipped: string[]
}

/** A folder, and a dataset that others change by WebDAV. */
async function openPair() {
  count += 1
  const name = `Pair ${count}`
  const { AccessInfo } = await ann.client.createData({ body: { Name: name } })
  const here = await mkdtemp(join(cli.directory, "pair-"))
  const dav = async (method: string, path: string, body?: string) => {
    const url = `http://localhost:${filesPort}${AccessInfo}/${path.split("/").map(encodeURIComponent).join("/")}`
    const response = await fetch(url, { method, headers: { authorization: ann.authorization }, ...(body === undefined ? {} : { body }) })
    return { status: response.status, text: await response.text() }
  }
  const run = (...words: string[]) => cli.run(["sync", here, name, "--json", ...words], { env })
  return {
    here,
    name,
    dav,
    run,
    read: (path: string) => readFile(join(here, path), "utf8"),
    write: (path: string, text: string) => writeFile(join(here, path), text),
    sync: async (...words: string[]) => {
      const outcome = await run(...words)
      assert.equal(outcome.code, 0, outcome.stderr)
      return outcome.json<SyncSummary>()
    },
    /** All names of this side, without those of our own. */
    names: async () => (await readdir(here, { recursive: true })).filter((each) => !each.startsWith(".quayside-sync-")).sort(),
  }
}

const counts = ({ uploaded, downloaded, removedHere, removedThere, conflicts }: SyncSummary) => [
  uploaded,
  downloaded,
  removedHere,
  removedThere,
  conflicts.length,
]

test("changes and removals of each side reach the other, and a second call does nothing", async () => {
  const { here, dav, sync, read, write, names } = await openPair()
  await mkdir(join(here, "deep/er"), { recursive: true })
  await write("deep/er/a b.txt", "from here")
  await write("kept.txt", "kept")
  await dav("MKCOL", "there")
  await dav("PUT", "there/ü.txt", "from there")
  assert.deepEqual(counts(await sync()), [2, 1, 0, 0, 0])
  assert.equal((await dav("GET", "deep/er/a b.txt")).text, "from here")
  assert.equal(await read("there/ü.txt"), "from there")
  assert.deepEqual(counts(await sync()), [0, 0, 0, 0, 0])
  await write("deep/er/a b.txt", "changed here")
  await dav("PUT", "there/ü.txt", "changed there")
  assert.deepEqual(counts(await sync()), [1, 1, 0, 0, 0])
  assert.deepEqual([(await dav("GET", "deep/er/a b.txt")).text, await read("there/ü.txt")], ["changed here", "changed there"])
  await rm(join(here, "deep"), { recursive: true })
  await dav("DELETE", "there")
  assert.deepEqual(counts(await sync()), [0, 0, 1, 1, 0])
  assert.deepEqual(await names(), ["kept.txt"])
  assert.equal((await dav("GET", "deep/")).status, 404)
})

test("a file that changed on both sides keeps both, and one that was removed on one side keeps the change", async () => {
  const { here, dav, sync, read, write, names } = await openPair()
  for (const name of ["both", "gone-here", "gone-there", "same"]) await write(name, "first")
  await sync()
  await write("both", "mine")
  await dav("PUT", "both", "theirs")
  await rm(join(here, "gone-here"))
  await dav("PUT", "gone-here", "changed there")
  await dav("DELETE", "gone-there")
  await write("gone-there", "changed here")
  await write("same", "equal")
  await dav("PUT", "same", "equal")
  const { conflicts } = await sync()
  assert.equal(conflicts.length, 1)
  const [conflict = ""] = conflicts
  assert.match(conflict, /^both\.conflict-\d{8}T\d{6}Z$/)
  assert.deepEqual(await names(), ["both", conflict, "gone-here", "gone-there", "same"])
  for (const [name, text] of [
    ["both", "theirs"],
    [conflict, "mine"],
    ["gone-here", "changed there"],
    ["gone-there", "changed here"],
    ["same", "equal"],
  ] as const)
    assert.deepEqual([await read(name), (await dav("GET", name)).text], [text, text], name)
})

test("a file here and a folder of the same name there are both kept", async () => {
  const { dav, sync, write, read } = await openPair()
  await write("x", "a file")
  await dav("MKCOL", "x")
  await dav("PUT", "x/in", "below")
  const { conflicts } = await sync()
  assert.deepEqual([await read("x/in"), await read(conflicts[0] ?? "")], ["below", "a file"])
  assert.equal((await dav("GET", conflicts[0] ?? "")).text, "a file")
})

test("ignored files stay where they are, on both sides", async () => {
  const { here, dav, sync, write, names } = await openPair()
  await write(".quaysideignore", "*.log\nbuild/\n!keep.log\n")
  await mkdir(join(here, "build"))
  for (const name of ["a.log", "keep.log", "build/x"]) await write(name, "local")
  await dav("PUT", "b.log", "remote")
  await sync()
  assert.deepEqual(await names(), [".quaysideignore", "a.log", "build", "build/x", "keep.log"])
  const there = await Promise.all(["a.log", "b.log", "keep.log", "build/x"].map(async (name) => (await dav("GET", name)).status))
  assert.deepEqual(there, [404, 200, 200, 404])
})

test("rules at the server neither replace nor remove those here, and are not sent", async () => {
  const { here, dav, sync, read, write } = await openPair()
  await mkdir(join(here, "sub"))
  for (const folder of ["", "sub/"]) {
    await write(`${folder}.quaysideignore`, ".env\n")
    await write(`${folder}.env`, "secret")
    await write(`${folder}data`, "shared")
  }
  await sync()
  const changes = [
    () => dav("PUT", ".quaysideignore", ""),
    () => dav("PUT", "sub/.quaysideignore", ""),
    () => dav("DELETE", ".quaysideignore"),
  ]
  for (const change of changes) {
    assert.ok((await change()).status < 300)
    assert.deepEqual(counts(await sync()), [0, 0, 0, 0, 0])
  }
  assert.deepEqual([await read(".quaysideignore"), await read("sub/.quaysideignore")], [".env\n", ".env\n"])
  const there = [".env", "sub/.env", ".quaysideignore", "data"].map(async (name) => (await dav("GET", name)).status)
  assert.deepEqual(await Promise.all(there), [404, 404, 404, 200])
})

test("a removed folder stays where it holds files that are ignored", async () => {
  const { here, dav, sync, write } = await openPair()
  await write(".quaysideignore", "*.log\n")
  await mkdir(join(here, "d"))
  await write("d/a", "text")
  await sync()
  await dav("PUT", "d/precious.log", "not ours to remove")
  await rm(join(here, "d"), { recursive: true })
  await sync()
  assert.equal((await dav("GET", "d/precious.log")).text, "not ours to remove")
  assert.equal((await dav("GET", "d/a")).status, 404)
})

test("nothing is written through a link, and links are not sent", async () => {
  const { here, dav, sync } = await openPair()
  const outside = await mkdtemp(join(cli.directory, "outside-"))
  await writeFile(join(outside, "secret"), "secret")
  await symlink(outside, join(here, "link"))
  await symlink(join(outside, "secret"), join(here, "file-link"))
  await dav("MKCOL", "link")
  await dav("PUT", "link/evil", "evil")
  await dav("PUT", "file-link", "evil")
  const { skipped } = await sync()
  assert.deepEqual(skipped.sort(), ["file-link", "link", "link/evil"])
  assert.deepEqual([await readdir(outside), await readFile(join(outside, "secret"), "utf8")], [["secret"], "secret"])
  assert.deepEqual((await readdir(here)).sort(), ["file-link", "link"])
  assert.equal((await dav("GET", "link/secret")).status, 404)
})

test("a side that lost all its files is an error, and a missing folder as well", async () => {
  const { here, dav, sync, run, write } = await openPair()
  await write("a", "1")
  await write("b", "2")
  await sync()
  await rm(join(here, "a"))
  await rm(join(here, "b"))
  const emptied = await run()
  assert.deepEqual([emptied.code, /All 2 files are gone here/.test(emptied.stderr)], [5, true], emptied.stderr)
  await rename(here, `${here}-away`)
  assert.equal((await run()).code, 2)
  await rename(`${here}-away`, here)
  assert.equal((await dav("GET", "a")).text, "1")
  assert.deepEqual(counts(await sync("--force")), [0, 0, 0, 2, 0])
})

test("all files gone at the server is an error, and so is a folder that is gone there", async () => {
  const { here, name, dav, write, names } = await openPair()
  const run = () => cli.run(["sync", here, `${name}:raw`, "--json"], { env })
  for (const each of ["a", "b"]) await write(each, "text")
  assert.equal((await run()).code, 0)
  for (const each of ["a", "b"]) await dav("DELETE", `raw/${each}`)
  const emptied = await run()
  assert.deepEqual([emptied.code, /All 2 files are gone at the server/.test(emptied.stderr)], [5, true], emptied.stderr)
  await dav("DELETE", "raw")
  const missing = await run()
  assert.deepEqual([missing.code, /There is no folder .* at the server/.test(missing.stderr)], [4, true], missing.stderr)
  assert.deepEqual(await names(), ["a", "b"])
})

test("without the state, contents are compared and nothing is removed", async () => {
  const { here, dav, sync, read, write, names } = await openPair()
  for (const name of ["same", "gone-here", "gone-there", "other"]) await write(name, "first")
  await sync()
  await rm(join(cli.directory, "state/quayside/sync"), { recursive: true })
  await rm(join(here, "gone-here"))
  await dav("DELETE", "gone-there")
  await write("other", "mine")
  const { conflicts, removedHere, removedThere } = await sync()
  assert.deepEqual([conflicts.length, removedHere, removedThere], [1, 0, 0])
  assert.deepEqual(await names(), ["gone-here", "gone-there", "other", ...conflicts, "same"])
  assert.deepEqual([await read("other"), await read(conflicts[0] ?? ""), await read("gone-here")], ["first", "mine", "first"])
  assert.equal((await dav("GET", "gone-there")).text, "first")
})

test("--dry-run names the steps and does none", async () => {
  const { dav, run, write, names } = await openPair()
  await write("new", "1")
  await dav("PUT", "other", "2")
  const outcome = await run("--dry-run")
  assert.deepEqual(outcome.json(), [
    { path: "other", action: "download" },
    { path: "new", action: "upload" },
  ])
  assert.deepEqual([await names(), (await dav("GET", "new")).status], [["new"], 404])
})

test("--watch sends what changes here until Ctrl-C", async () => {
  const { here, name, dav, write } = await openPair()
  const controller = new AbortController()
  const watching = Promise.withResolvers<void>()
  const onOutput = (text: string) => text.includes("Watching") && watching.resolve()
  const running = cli.run(["sync", "--watch", here, name], { env, signal: controller.signal, onOutput })
  await watching.promise
  await write("later", "1")
  await eventually("the file is at the server", async () => (await dav("GET", "later")).text === "1")
  await write("later", "2, and longer")
  await eventually("the change is at the server", async () => (await dav("GET", "later")).text === "2, and longer")
  controller.abort()
  assert.equal((await running).code, 0)
})

test("a change of the last moment is never overwritten or removed, on either side", async () => {
  const { here, dav, sync, read, write } = await openPair()
  await mkdir(join(here, "folder"))
  for (const name of ["put", "removed", "received", "folder/x"]) await write(name, "first")
  await writeFile(join(here, "large"), Buffer.alloc(9 * 2 ** 20))
  await sync()
  await write("put", "mine")
  await writeFile(join(here, "large"), Buffer.alloc(9 * 2 ** 20 + 1))
  for (const name of ["removed", "folder"]) await rm(join(here, name), { recursive: true })
  await dav("PUT", "received", "theirs")
  const late = new Map<string, () => Promise<unknown>>([
    ["PUT put", () => dav("PUT", "put", "late")],
    ["PATCH ", () => dav("PUT", "large", "late")],
    ["DELETE removed", () => dav("PUT", "removed", "late")],
    ["MOVE folder", () => dav("PUT", "folder/late", "late")],
    ["GET received", () => write("received", "late here")],
  ])
  beforeRequest = async (method, path) => {
    const key = method === "PATCH" ? "PATCH " : `${method} ${path.split("/").at(-1)}`
    const change = late.get(key)
    late.delete(key)
    await change?.()
  }
  const { conflicts } = await sync()
  assert.deepEqual([...late.keys()], [], "each change came at its moment")
  const texts = await Promise.all(["put", "removed", "received", "large"].map(read))
  assert.deepEqual(texts, ["late", "late", "theirs", "late"])
  assert.deepEqual(conflicts.map((each) => each.split(".")[0]).sort(), ["large", "put", "received"])
  const kept = (await readdir(here, { recursive: true })).filter((each) => /conflict/.test(each)).sort()
  assert.deepEqual(
    kept.map((each) => each.replace(/conflict-[\dTZ]+/, "conflict")),
    ["folder.conflict", "folder.conflict/late", "large.conflict", "put.conflict", "received.conflict"],
  )
  assert.deepEqual([await read(kept[3] ?? ""), await read(kept[4] ?? "")], ["mine", "late here"])
})
