import assert from "node:assert/strict"
import { test } from "node:test"
import { commandError, parseCommand, substitutePlaceholders } from "./formats/command.ts"
import { envError, parseEnv } from "./formats/env.ts"
import { accountNameError, parsePort, portError } from "./formats/names.ts"
import { ociReferenceError, parseOciReference } from "./formats/oci-reference.ts"
import { accessInfoError, mountPathError, planMounts, slugify } from "./formats/paths.ts"

const hex = "a".repeat(64)

test("image references follow the OCI grammar", () => {
  const right = [
    "a",
    "repo/name",
    "repo/name:tag",
    "host.example/repo/name:1.0",
    "localhost/x",
    "localhost:5000/x:y",
    "[::1]:5000/x",
    "a/b/c/d",
    "a_b/c__d/e-f.g",
    `x@sha256:${hex}`,
    `host:80/x:y@sha256:${hex}`,
    "x:_tag",
    `x:${"t".repeat(128)}`,
    "0",
    "UPPER.example/x",
    "a--b",
  ]
  const wrong = [
    "",
    "A",
    "a b",
    "/a",
    "a/",
    "a//b",
    "a:",
    ":a",
    "a@",
    "a@sha256:abc",
    `a@sha256:${"a".repeat(63)}`,
    `a@sha256:${"a".repeat(65)}`,
    `a@sha256:${"g".repeat(64)}`,
    `a@sha256:${"A".repeat(64)}`,
    "a:-tag",
    `x:${"t".repeat(129)}`,
    "a___b",
    "a..b",
    "-a",
    "a-",
    "http://a/b",
    "a\n",
    "ä",
    hex,
    `${"n".repeat(256)}`,
    "host:port/x",
    "a/B",
    "a:b:c",
  ]
  for (const text of right) assert.equal(ociReferenceError(text), undefined, text)
  for (const text of wrong) assert.match(String(ociReferenceError(text)), /image reference/, text)
  assert.deepEqual(parseOciReference(`h:1/a/b:t@sha256:${hex}`), { host: "h:1", path: "a/b", tag: "t", digest: `sha256:${hex}` })
  assert.equal(parseOciReference("library/python")?.host, "", "a first part without dot or colon is no host")
})

test("a command is empty, one line of a POSIX shell's words, or a JSON array of strings", () => {
  const cases: [string, string[]][] = [
    ["", []],
    ["  \t ", []],
    ["serve --port {port}", ["serve", "--port", "{port}"]],
    [`a 'b c' "d e" f\\ g`, ["a", "b c", "d e", "f g"]],
    [`a"b"'c'd`, ["abcd"]],
    [`'' ""`, ["", ""]],
    [`'a\\b' "a\\b" "a\\"b" "\\$x"`, ["a\\b", "a\\b", 'a"b', "$x"]],
    ["echo $HOME * ; rm", ["echo", "$HOME", "*", ";", "rm"]],
    ['["a b", "", "{port}", "\\n"]', ["a b", "", "{port}", "\n"]],
    [`$${"{NOT_OURS}"}`, [`$${"{NOT_OURS}"}`]],
  ]
  for (const [text, words] of cases) assert.deepEqual(parseCommand(text), words, text)
  for (const text of ["a 'b", 'a "b', "a \\", "a\nb", "[1]", '["a"', "[null]", '["\\u0000"]', '["\\ud800"]', "{}"]) {
    if (text === "{}") assert.deepEqual(parseCommand(text), ["{}"])
    else assert.equal(typeof commandError(text), "string", text)
  }
})

test("placeholders port and baseUrl are filled in, and others are rejected", () => {
  const shell = `$${"{port}"}`
  const words = parseCommand(`x --p={port} {baseUrl}lab ${shell} {} { port }`)
  assert.deepEqual(substitutePlaceholders(words, { port: "80", baseUrl: "/run/1/" }), [
    "x",
    "--p=80",
    "/run/1/lab",
    shell,
    "{}",
    "{",
    "port",
    "}",
  ])
  for (const text of ["{ports}", "{Port}", "--x={name}", '["{toString}"]', "{constructor}", "{port}{baseurl}"])
    assert.match(String(commandError(text)), /placeholders are \{port\} or \{baseUrl\}/, text)
})

test("an environment is lines of KEY=VALUE with comments and quotes, or a JSON object of strings", () => {
  const cases: [string, Record<string, string>][] = [
    ["", {}],
    ["# only a comment\n\n", {}],
    ["A=1\nB = two words # rest\r\nexport C=3", { A: "1", B: "two words", C: "3" }],
    [`A='x # y'\nB="a\\nb" # c\nC='$raw\\n'`, { A: "x # y", B: "a\nb", C: "$raw\\n" }],
    ['A="over\ntwo lines"\nB=', { A: "over\ntwo lines", B: "" }],
    ["A=1\nA=2", { A: "2" }],
    ["A=x#y", { A: "x#y" }],
    ['{"A":"1","B":""}', { A: "1", B: "" }],
    ["A==b=", { A: "=b=" }],
  ]
  for (const [text, env] of cases) assert.deepEqual({ ...parseEnv(text) }, env, text)
  for (const text of [
    "A",
    "1A=x",
    "=x",
    "A B=x",
    'A="open',
    "A='x' rest",
    "{",
    '{"A":1}',
    '{"A B":"x"}',
    '{"A":"\\u0000"}',
    '{"A":"\\udc00"}',
    "A-ü=1",
  ])
    assert.equal(typeof envError(text), "string", text)
  assert.deepEqual(Object.entries(parseEnv("__proto__=x")), [["__proto__", "x"]], "a name like any other")
})

test("a port is a number from 1 to 65535, with or without /tcp, or empty", () => {
  for (const [text, port] of [
    ["8888", 8888],
    ["8888/tcp", 8888],
    ["1", 1],
    ["65535", 65_535],
  ] as const) {
    assert.equal(portError(text), undefined)
    assert.equal(parsePort(text), port)
  }
  assert.deepEqual([portError(""), parsePort("")], [undefined, undefined])
  for (const text of ["0", "65536", "80/udp", "08", "-1", "80/", " 80", "8e1", "99999", "80:80"])
    assert.equal(typeof portError(text), "string", text)
})

test("names of people and groups: 1 to 64 of a-z 0-9 . _ -, starting with a letter or digit, never ..", () => {
  for (const name of ["a", "0", "ann", "a.b_c-d", `a${"x".repeat(63)}`]) assert.equal(accountNameError(name), undefined, name)
  for (const name of ["", "A", ".a", "-a", "_a", "a..b", "a b", "ä", "a/b", `a${"x".repeat(64)}`, "a\n", "\u0430nn"])
    assert.equal(typeof accountNameError(name), "string", name)
})

test("a mount path is absolute, without detours, not / and not over a system directory", () => {
  for (const path of ["", "/work", "/home/me", "/usr/local/x", "/opt/x", "/var/x/", "/a/b.c/..d"])
    assert.equal(mountPathError(path), undefined, path)
  for (const path of [
    "a",
    "/",
    "//",
    "/a//b",
    "/a/..",
    "/./a",
    "/etc",
    "/etc/x",
    "/proc/1",
    "/usr",
    "/usr/bin",
    "/lib64/x",
    "/home",
    "/tmp",
    "/a\u007f",
    `/${"é".repeat(128)}`,
  ])
    assert.equal(typeof mountPathError(path), "string", path)
})

test("a dataset's location is a directory below the files root other than / and /users", () => {
  for (const path of ["", "/users/ann/x", "/shared", "/users/ann/"]) assert.equal(accessInfoError(path), undefined, path)
  for (const path of ["/", "/users", "/users/", "/.quayside", "/.quayside/work", "x", "/a/../b", "/a/./b"])
    assert.equal(typeof accessInfoError(path), "string", path)
})

test("default mount paths are made from the datasets' names and are unique within the project", () => {
  const none = { UserPath: "", CodePath: "", ModelPath: "" }
  const data = (id: number, name: string, mountPath = "") => ({ id, name, mountPath })
  assert.deepEqual(
    planMounts(none, [data(1, "Größe!"), data(2, "grosse"), data(3, "GRÖSSE?"), data(4, "日本"), data(5, "x", "/work/data/grosse/")]),
    {
      UserPath: "/work/home",
      CodePath: "/work/code",
      ModelPath: "/work/model",
      data: ["/work/data/gro-e", "/work/data/grosse-2", "/work/data/grosse-3", "/work/data/data-4", "/work/data/grosse"],
    },
  )
  assert.deepEqual(planMounts({ ...none, CodePath: "/work/home/" }, []), {
    field: "CodePath",
    expected: "another place than UserPath, which is at /work/home too",
  })
  assert.equal(slugify("..", "x"), "x")
  assert.equal(slugify("a".repeat(100), "x").length, 64)
})
