import assert from "node:assert/strict"
import { test } from "node:test"
import { repeated, testLinear } from "../../test/fixtures/linear.ts"
import { TarCheck } from "./tar-check.ts"

interface Entry {
  name?: string
  flag?: string
  link?: string
  content?: string
  size?: string
  prefix?: string
  /** With the version. */
  magic?: string
}

/** One header with its content, padded to blocks. */
function entry({ name = "f", flag = "0", link = "", content = "", size, prefix = "", magic = "ustar\u000000" }: Entry): Buffer {
  const header = Buffer.alloc(512)
  header.write(name, 0, 100)
  header.write("0000644\0", 100)
  header.write(size ?? `${Buffer.byteLength(content).toString(8).padStart(11, "0")}\0`, 124, "latin1")
  header.write(flag, 156)
  header.write(link, 157)
  header.write(magic, 257)
  header.write(prefix, 345)
  header.fill(" ", 148, 156)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148)
  const body = Buffer.from(content)
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)])
}

const pax = (records: string): Buffer => entry({ name: "pax", flag: "x", content: records })
const record = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`
  const length = Buffer.byteLength(rest)
  return `${length + String(length + 2).length}${rest}`
}

/** Checks an archive in chunks of every size that could split it. */
function check(...entries: Buffer[]): void {
  const archive = Buffer.concat([...entries, Buffer.alloc(1_024)])
  for (const length of [archive.length, 512, 100, 1]) {
    const tar = new TarCheck()
    for (let at = 0; at < archive.length; at += length) tar.check(archive.subarray(at, at + length))
    tar.end()
  }
}

test("an archive of files, directories, links and long names is accepted", () => {
  const long = `${"d/".repeat(80)}f`
  check(
    entry({ name: "./", flag: "5" }),
    entry({ name: "a/", flag: "5" }),
    entry({ name: "a/f..txt", content: "x".repeat(1_000) }),
    entry({ name: "a/l", flag: "2", link: "/etc" }),
    entry({ name: "a/h", flag: "1", link: "a/f..txt" }),
    entry({ name: "f", prefix: "p/q" }),
    entry({ name: "././@LongLink", flag: "L", content: `${long}\0` }),
    entry({ name: "cut", content: "y" }),
    pax(record("path", long) + record("mtime", "1.5")),
    entry({ name: "cut" }),
  )
})

for (const [what, entries] of Object.entries({
  "an absolute name": [entry({ name: "/etc/x" })],
  "a name with `..`": [entry({ name: "a/../../x" })],
  "`..` in a prefix": [entry({ name: "x", prefix: "../y" })],
  "`..` in a long name": [entry({ flag: "L", content: "../x\0" }), entry({})],
  "`..` in a pax header": [pax(record("path", "../x")), entry({})],
  "a name on a Windows drive": [entry({ name: "C:x" })],
  "a name with backslashes": [entry({ name: "..\\x" })],
  "a name through a link": [entry({ name: "l", flag: "2", link: ".." }), entry({ name: "l/x" })],
  "a name through a link in other case": [entry({ name: "Link", flag: "2", link: ".." }), entry({ name: "./lINK//x" })],
  "a name through a link in other letters": [entry({ name: "stra\u00dfe", flag: "2", link: ".." }), entry({ name: "STRASSE/x" })],
  "a name through a link with a dot at the end": [entry({ name: "l", flag: "2", link: ".." }), entry({ name: "l./x" })],
  "a name through a link with an invisible character": [entry({ name: "l", flag: "2", link: ".." }), entry({ name: "l\u200b/x" })],
  "`..` and a space": [entry({ name: ".. /x" })],
  "`..` in the header's own name beside a pax name": [pax(record("path", "x")), entry({ name: "../x" })],
  "`..` in a pax header before a long name": [pax(record("path", "../x")), entry({ flag: "L", content: "x\0" }), entry({})],
  "a link's name by pax, used by its own name": [
    pax(record("path", "y")),
    entry({ name: "l", flag: "2", link: ".." }),
    entry({ name: "l/x" }),
  ],
  "two sizes": [pax(record("size", "512")), entry({ content: "x" })],
  "a file in the place of a link": [entry({ name: "l", flag: "2", link: "/etc/passwd" }), entry({ name: "l" })],
  "a hard link to a link": [entry({ name: "l", flag: "2", link: "/etc" }), entry({ name: "h", flag: "1", link: "l" })],
  "a hard link to the outside": [entry({ name: "h", flag: "1", link: "../../etc/passwd" })],
  "a hard link to the outside by pax": [pax(record("linkpath", "/etc/passwd")), entry({ name: "h", flag: "1", link: "f" })],
  "a link in the place of the directory": [entry({ name: ".", flag: "2", link: "/" })],
  "a character device": [entry({ flag: "3" })],
  "a block device": [entry({ flag: "4" })],
  "a pipe": [entry({ flag: "6" })],
  "a sparse file": [entry({ flag: "S" })],
  "a global header": [entry({ flag: "g", content: record("path", "../x") })],
  "a link with content": [entry({ flag: "2", link: "x", content: "y" })],
  "a size that is no number": [entry({ size: "zzz" })],
  "a size by pax that hides an entry": [pax(record("size", "-512")), entry({})],
  "an empty size by pax": [pax(record("size", "")), entry({})],
  "a hexadecimal size by pax": [pax(record("size", "0x200")), entry({ content: "x" })],
  "blanks before a pax name, which GNU's tar passes over": [pax(record(" path", "../x")), entry({})],
  "a tab before a pax size": [pax(record("\tsize", "0")), entry({ content: "x" })],
  "`..` in the first of two pax names": [pax(record("path", "../x") + record("path", "x")), entry({})],
  "`..` in a prefix that only some programs read": [entry({ name: "x", prefix: "../y", magic: "ustar  \0" })],
  "a prefix without a known format": [entry({ name: "x", prefix: "y", magic: "" })],
  "a broken pax record": [pax("99 path=../x\n"), entry({})],
  "hundreds of accents on a letter": [entry({ flag: "L", content: `e${"\u0315\u200b".repeat(31)}` }), entry({})],
  "a name that is no UTF-8": [entry({ flag: "L", content: "" }), entry({ name: "f" }).fill(0xff, 0, 1)],
})) {
  test(`an archive with ${what} is rejected`, () => {
    assert.throws(() => check(...entries), { code: "unsafe_archive" })
  })
}

test("an archive that ends in the middle of a file is rejected", () => {
  const tar = new TarCheck()
  tar.check(entry({ content: "x".repeat(600) }).subarray(0, 700))
  assert.throws(() => tar.end(), { code: "unsafe_archive" })
})

test("an archive that ends between two entries is rejected", () => {
  const tar = new TarCheck()
  tar.check(entry({ content: "x" }))
  assert.throws(() => tar.end(), { code: "unsafe_archive", message: /cut off/ })
})

test("a header that was changed afterwards is rejected", () => {
  const changed = entry({ name: "abc" })
  changed.write("../", 0)
  assert.throws(() => check(changed), /checksum/)
})

test("an archive whose links have very many names is rejected", () => {
  const tar = new TarCheck()
  const wide = (n: number) =>
    Buffer.concat([pax(record("path", `${n}${"/b".repeat(2_000)}`)), entry({ name: `${n}`, flag: "2", link: "x" })])
  assert.throws(
    () => {
      for (let n = 0; n < 1_000; n += 1) tar.check(wide(n))
    },
    { code: "unsafe_archive", message: /too many links/ },
  )
})

const longName = 4_096
testLinear([
  {
    name: "an entry's name that is compared with links",
    parse: (name) => {
      const tar = new TarCheck()
      tar.check(entry({ name: "l", flag: "2", link: "x" }))
      tar.check(Buffer.concat([entry({ flag: "L", content: name }), entry({})]))
    },
    size: longName,
    shapes: [
      (length) => `${".".repeat(length - 1)}a`,
      (length) => `${" ".repeat(length - 1)}a`,
      (length) => `${".".repeat(length - 2)}\u00e9`,
      repeated("a/"),
      repeated("\u0316\u0315"),
      repeated("e\u0315\u200b\u0316"),
      repeated("\ufdfa"),
      repeated(`e${"\u0315\u0316".repeat(15)}`),
    ],
  },
])
