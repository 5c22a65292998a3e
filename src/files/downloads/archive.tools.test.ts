import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { appendFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { bounds } from "#contract"
import { basic, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start()
})
after(() => server[Symbol.asyncDispose]())

const python = `import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
print(json.dumps({"bad": archive.testzip(), "entries": {i.filename: [i.file_size, archive.read(i)[:40].decode("utf-8", "replace")] for i in archive.infolist()}}))`

/** The entries of an archive as Python's reader finds them, with size and first bytes. */
function entriesOf(archive: Buffer): Record<string, [number, string]> {
  const path = join(server.folder, "archive.zip")
  writeFileSync(path, archive)
  const { bad, entries } = JSON.parse(execFileSync("python3", ["-c", python, path]).toString())
  assert.equal(bad, null)
  return entries
}

test("a directory is sent as a zip with all files and empty directories, and nothing else", async () => {
  server.makeDirectory("users/ann/all/empty")
  server.makeDirectory("users/ann/all/deep/er")
  writeFileSync(server.at("all/ünï 🙂.txt"), "first")
  writeFileSync(server.at("all/deep/er/large"), Buffer.alloc(3_000_000, "x"))
  writeFileSync(join(server.folder, "outside/secret"), "secret")
  symlinkSync(join(server.folder, "outside/secret"), server.at("all/link"))
  symlinkSync(join(server.folder, "outside"), server.at("all/linked"))
  execFileSync("mkfifo", [server.at("all/fifo")])
  writeFileSync(server.at("all/.quayside-upload-1"), "hidden")
  const answer = await server.ask("GET", "/users/ann/all?archive=zip")
  assert.equal(answer.headers["content-type"], "application/zip")
  assert.equal(answer.headers["content-disposition"], "attachment; filename*=UTF-8''all.zip")
  assert.deepEqual(entriesOf(answer.body), {
    "all/": [0, ""],
    "all/empty/": [0, ""],
    "all/deep/": [0, ""],
    "all/deep/er/": [0, ""],
    "all/deep/er/large": [3_000_000, "x".repeat(40)],
    "all/ünï 🙂.txt": [5, "first"],
  })
  const path = join(server.folder, "archive.zip")
  execFileSync("unzip", ["-q", "-d", join(server.folder, "unzipped"), path])
  assert.equal(readFileSync(join(server.folder, "unzipped/all/ünï 🙂.txt"), "utf8"), "first")
  assert.ok(existsSync(join(server.folder, "unzipped/all/empty")))
})

test("some entries of a directory are sent without the others", async () => {
  mkdirSync(server.at("some"))
  for (const name of ["a", "b+c&d", "e"]) writeFileSync(server.at("some", name), name)
  const ask = (query: string) => server.ask("GET", `/users/ann/some/?${query}`)
  const chosen = await ask(`archive=zip&name=a&name=${encodeURIComponent("b+c&d")}&name=a`)
  assert.deepEqual(entriesOf(chosen.body), { "some/a": [1, "a"], "some/b+c&d": [5, "b+c&d"] })
  assert.equal((await ask("archive=zip&name=missing")).status, 404)
  for (const name of ["..", ".", "", "a%2Fb", "%00"]) assert.equal((await ask(`archive=zip&name=${name}`)).status, 400, name)
  for (const query of ["archive=tar", "archive=zip&list=json", "archive=zip&archive=zip", "list=xml", "upload=x", "page=1", ""])
    assert.match((await ask(query)).text, /takes archive=zip/, query)
})

test("an archive whose list of names is too long is refused before its first byte", async () => {
  server.makeDirectory("users/ann/long")
  const name = "n".repeat(255)
  const { value } = bounds.files.archiveDirectoryBytes
  let path = server.at("long")
  for (let level = 0; level < 10; level += 1) {
    path = join(path, name)
    mkdirSync(path)
  }
  const needed = Math.ceil(value / (10 * (name.length + 1)))
  for (let i = 0; i < needed; i += 1) writeFileSync(join(path, String(i)), "")
  const answer = await server.ask("GET", "/users/ann/long?archive=zip")
  assert.equal(answer.status, 403)
  assert.match(answer.text, /list of names/)
})

test("a file that changes while it is read leaves a whole archive that says so", async () => {
  server.makeDirectory("users/ann/live")
  for (const name of ["grows", "shrinks"]) writeFileSync(server.at("live", name), Buffer.alloc(30_000_000, "x"))
  const reader = await server.raw()
  reader.write(`GET /users/ann/live?archive=zip HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nConnection: close\r\n\r\n`)
  reader.socket.pause()
  await new Promise((resolve) => setTimeout(resolve, 100))
  // The socket's buffers hold a few megabytes; both files are still to be read to their end.
  const ask = server.ask("GET", "/users/ann/live?archive=zip")
  const change = setInterval(() => appendFileSync(server.at("live/grows"), "more"), 1)
  const answer = await ask
  clearInterval(change)
  truncateSync(server.at("live/shrinks"), 10)
  const entries = entriesOf(answer.body)
  assert.match(entries["NOT-AS-EXPECTED.txt"]?.[1] ?? "", /^live\/grows: changed while it was read/)
  reader.socket.resume()
  const received = Buffer.from(await reader.end(), "latin1")
  assert.match(received.toString("latin1"), /live\/shrinks: changed while it was read/)
})

test("a form of a page downloads with a files token, and with nothing else", async () => {
  server.makeDirectory("users/ann/form")
  writeFileSync(server.at("form/x.txt"), "text")
  const send = (path: string, body: string, headers = {}) =>
    server.ask("POST", path, { user: null, body, headers: { "content-type": "application/x-www-form-urlencoded", ...headers } })
  const file = await send("/users/ann/form/x.txt", "token=qf_ann", { origin: "null", "sec-fetch-site": "same-site" })
  assert.equal(file.text, "text")
  assert.equal(file.headers["content-disposition"], "attachment; filename*=UTF-8''x.txt")
  const archive = await send("/users/ann/form", "token=qf_ann&archive=zip")
  assert.deepEqual(Object.keys(entriesOf(archive.body)), ["form/", "form/x.txt"])
  for (const token of ["", "qs_other"]) {
    const { status, text } = await send("/users/ann/form/x.txt", `token=${token}`)
    assert.deepEqual([status, JSON.parse(text).msg], [401, "The field token must hold a files token (POST /files-token)"], token)
  }
  assert.equal((await send("/users/ann/form/x.txt", "token=qf_nobody")).status, 401)
  assert.equal((await send("/users/ann/form/x.txt", "token=qf_bob")).status, 404)
  assert.equal((await send("/users/ann/form", "token=qf_ann&list=json")).status, 400)
  assert.equal((await send("/users/ann/form", `token=qf_ann&name=${"x".repeat(70_000)}`)).status, 413)
})

test("a directory's entries come as JSON", async () => {
  server.makeDirectory("users/ann/json/sub")
  writeFileSync(server.at('json/a"b'), "12345")
  const answer = await server.ask("GET", "/users/ann/json?list=json")
  const { Entries, ...others } = JSON.parse(answer.text)
  assert.deepEqual(others, { ok: true, Level: "write", IsComplete: true })
  const head = await server.ask("HEAD", "/users/ann/json/a%22b")
  const [file, directory] = Entries.toSorted((one: { Name: string }, other: { Name: string }) => (one.Name < other.Name ? -1 : 1))
  assert.equal(file.ETag, head.headers.etag)
  assert.deepEqual({ ...file, ETag: "", ModifiedAt: "" }, { Name: 'a"b', IsDirectory: false, Size: 5, ETag: "", ModifiedAt: "" })
  assert.deepEqual({ ...directory, ModifiedAt: "" }, { Name: "sub", IsDirectory: true, ModifiedAt: "" })
  assert.equal(new Date(file.ModifiedAt).toUTCString(), head.headers["last-modified"])
  assert.equal((await server.ask("GET", "/users/ann/json/a%22b?list=json")).status, 404)
  assert.equal((await server.ask("GET", "/users/bob?list=json")).status, 404)
  const above = JSON.parse((await server.ask("GET", "/users?list=json")).text)
  assert.deepEqual([above.Level, above.Entries.map(({ Name }: { Name: string }) => Name)], ["traverse", ["ann"]])
})
