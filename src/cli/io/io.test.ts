import assert from "node:assert/strict"
import { PassThrough, Readable } from "node:stream"
import { test } from "node:test"
import { Failure } from "#contract"
import { parsePorts } from "../commands/forward.ts"
import { assertPlainName, isSameFile } from "../files/trees.ts"
import { contextNameFor, parseServer } from "../session/contexts.ts"
import { Cli, type GlobalOptions } from "./cli.ts"
import { describeError } from "./failures.ts"
import { formatAge, formatBytes, parseMemory, parseTime } from "./formats.ts"
import { formatTable, sanitize, sanitizeLines, sanitizeOutput } from "./table.ts"

test("columns are as wide as their widest text, wide characters counted twice, and control characters are gone", () => {
  const rows = [
    { name: "数据", text: "a\u001b[31mb\r\nc" },
    { name: "long", text: "" },
  ]
  const table = formatTable(rows, { name: (row) => row.name, text: (row) => row.text })
  assert.equal(table, "NAME  TEXT\n数据  a [31mb c\nlong  -")
  assert.equal(sanitize("a\u0000\u009bb"), "a b")
  assert.equal(sanitize("photo_\u202egpj.exe"), "photo_ gpj.exe")
  assert.equal(sanitize("a\u200f.b"), "a .b")
  assert.equal(sanitizeLines("a\u001b[2J\n  b\r"), "a [2J\n  b")
})

test("a program's line keeps its colours and no other command to the terminal", () => {
  const red = "\u001b[31mred\u001b[0m"
  assert.equal(sanitizeOutput(`a\tb ${red} 50%\r`), `a\tb ${red} 50%\r\u001b[0m`)
  const commands = [
    "\u001b]52;c;ZXZpbA==\u0007",
    "\u001b]0;title\u001b\\",
    "\u001b[2J",
    "\u001b[?1049h",
    "\u001bc",
    "\u0007",
    "\u009b2J",
    "\u001b",
  ]
  assert.equal(sanitizeOutput(commands.join("x")), "xxxxxx2Jx")
})

test("a result gives a terminal colours and no command, also as JSON", () => {
  const shown = (isTTY: boolean, options: GlobalOptions, value: unknown) => {
    const stream = Object.assign(new PassThrough({ encoding: "utf8" }), { isTTY })
    const process = { env: {}, stdin: Readable.from([]), stdout: stream, stderr: stream, platform: "linux", version: "0" } as const
    const signal = new AbortController().signal
    new Cli({ ...process, program: [], signal }, options).show(value, () => String(value))
    return String(stream.read())
  }
  const name = "a\u001b]52;c;ZXZpbA==\u0007\u009b2J\u202eb"
  assert.equal(shown(true, {}, `${name}\n\u001b[1mbold\u001b[0m`), "a2J\u202eb\n\u001b[1mbold\u001b[0m\u001b[0m\n")
  assert.equal(shown(false, {}, name), `${name}\n`)
  for (const isTTY of [true, false]) {
    const json = shown(isTTY, { json: true }, { name })
    assert.deepEqual(JSON.parse(json), { name })
    assert.equal(
      ["\u001b", "\u009b", "\u202e"].some((each) => json.includes(each)),
      false,
    )
  }
})

test("sizes have a unit, and are rounded up to the server's", () => {
  assert.deepEqual(
    ["4GiB", "512 MiB", "2g", "1.5G", "1B"].map((text) => parseMemory(text, "MiB", "--memory")),
    [4_096, 512, 2_048, 1_536, 1],
  )
  assert.equal(parseMemory("1GiB", "bytes", "--memory"), 2 ** 30)
  for (const text of ["4", "-1GiB", "4XB", ""]) assert.throws(() => parseMemory(text, "MiB", "--memory"), { exitCode: 2 })
  assert.deepEqual([0, 1_023, 1_536, 2 ** 40 * 1.2].map(formatBytes), ["0 B", "1023 B", "1.5 KiB", "1.2 TiB"])
})

test("times are spans or RFC 3339", () => {
  const now = Date.parse("2026-01-01T00:00:00Z")
  assert.equal(parseTime("2h", "--since", { now, sign: -1 }), "2025-12-31T22:00:00.000Z")
  assert.equal(parseTime("7d", "--until", { now, sign: 1 }), "2026-01-08T00:00:00.000Z")
  assert.throws(() => parseTime("soon", "--since", { now, sign: -1 }), /--since must be a time such as 10m.*got "soon"/)
  assert.deepEqual(
    [now, now - 300_000, now - 9e8].map((time) => formatAge(new Date(time).toISOString(), now)),
    ["0 s", "5 min", "10 d"],
  )
})

test("a server's address gets https, but http on this machine, and loses the path of the web UI", () => {
  assert.equal(parseServer("quayside.example.com"), "https://quayside.example.com")
  assert.equal(parseServer("localhost:8080"), "http://localhost:8080")
  assert.equal(parseServer("https://example.com/ui/"), "https://example.com")
  for (const text of ["ftp://x", "https://user:secret@x", "https://"]) assert.throws(() => parseServer(text), /must be an address/)
})

test("contexts of the same host get different names, and signing in again replaces one's own", () => {
  const server = "http://a:1"
  assert.equal(contextNameFor(server, { contexts: {} }, "ann"), "a")
  const contexts = { a: { server: "http://a:2", userName: "ann", token: "t" } }
  assert.equal(contextNameFor(server, { contexts }, "ann"), "a-1")
  assert.equal(contextNameFor("http://a:2", { contexts }, "ann"), "a")
})

test("ports are PORT or LOCAL:REMOTE, with a host between them or as the last", () => {
  const texts = ["80", "5:80", ":80", "5432:db", "5433:db-1.example.org:5432", ":db:80", "80:10.0.0.1", ":[fd00::1]:80", "80:[fd00::1]"]
  assert.deepEqual(texts.map(parsePorts), [
    { local: 80, remote: 80 },
    { local: 5, remote: 80 },
    { local: 0, remote: 80 },
    { local: 5432, host: "db", remote: 5432 },
    { local: 5433, host: "db-1.example.org", remote: 5432 },
    { local: 0, host: "db", remote: 80 },
    { local: 80, host: "10.0.0.1", remote: 80 },
    { local: 0, host: "fd00::1", remote: 80 },
    { local: 80, host: "fd00::1", remote: 80 },
  ])
  const numbers = ["0", "x", "1:2:3", "70000", "1:0", ":", "80:", "1:db:0", "1:db:70000", ":db", "db:80"]
  const hosts = ["80:-x", "80:a b", "80:a/b", "80:$(x)", "80:`x`", "80:a'b", "80:[]", "80:[a", "80:a:b:80", `80:${"a".repeat(256)}`]
  for (const text of [...numbers, ...hosts]) assert.throws(() => parsePorts(text), { exitCode: 2 }, text)
})

test("a name from the server that leads elsewhere is refused", () => {
  for (const name of ["", ".", "..", "a/b", "..\\x", "a\0"]) assert.throws(() => assertPlainName(name), /cannot be written here/)
  assertPlainName("a b%.txt")
})

test("files are the same if size and seconds are", () => {
  const file = { path: "a", size: 1, modifiedMs: 5_900 }
  assert.equal(isSameFile(file, { ...file, modifiedMs: 5_000 }), true)
  assert.equal(isSameFile(file, { ...file, modifiedMs: 6_000 }), false)
  assert.equal(isSameFile(file, { ...file, size: 2 }), false)
  assert.equal(isSameFile(file, undefined), false)
})

test("each kind of error has its exit code", () => {
  const codeOf = (error: unknown) => describeError(error, "https://x").exitCode
  const statuses = [400, 401, 403, 404, 409, 412, 429, 500, 503]
  assert.deepEqual(
    statuses.map((status) => codeOf(new Failure("invalid", "m", { status }))),
    [1, 3, 3, 4, 5, 5, 7, 7, 7],
  )
  assert.equal(codeOf(new Failure("exited", "m", { extra: { Reason: { hint: "h" } } })), 6)
  const refused = new TypeError("fetch failed", { cause: Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }) })
  assert.deepEqual(describeError(refused, "https://x").msg, "https://x cannot be reached: connect ECONNREFUSED")
  assert.equal(codeOf(new DOMException("", "AbortError")), 130)
})
