import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { Failure } from "#contract"
import type { CopyTotals } from "#files"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { asRoot, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

/*
 * Programs may leave entries that are not plain files. The tests list, read, copy and remove each
 * kind over WebDAV, copy it as code, and remove it for the main process.
 */

interface Kind {
  name: string
  skip?: string | false
  /** Makes it in an empty directory. */
  make(at: string): void
  /** The entries in the listing of the directory. */
  listed: readonly string[]
  /** A copy of the directory as it should be; undefined: it is refused. */
  copied: { names: readonly (string | Buffer)[]; check?(at: string, from: string): void; counts?: CopyTotals } | undefined
  /** Checks what remains elsewhere after its removal. */
  kept?(): void
}

const gigantic = 2 ** 40
const long = "n".repeat(255)
let server: TestFilesServer
before(async () => {
  server = await TestFilesServer.start({ runIn: "worker" })
})
after(() => server[Symbol.asyncDispose]())
const linked = () => join(server.folder, "outside/linked")

const kinds: Kind[] = [
  {
    name: "a hard link",
    make(at) {
      if (!existsSync(linked())) writeFileSync(linked(), "content")
      linkSync(linked(), join(at, "f"))
    },
    listed: ["f"],
    copied: {
      names: ["f"],
      check(at) {
        assert.deepEqual([readFileSync(join(at, "f"), "utf8"), statSync(join(at, "f")).nlink], ["content", 1])
      },
    },
    kept: () => assert.equal(readFileSync(linked(), "utf8"), "content"),
  },
  { name: "a FIFO", make: (at) => void execFileSync("mkfifo", [join(at, "f")]), listed: [], copied: { names: [] } },
  {
    name: "a device",
    skip: !asRoot && "only root makes devices",
    make(at) {
      execFileSync("mknod", ["-m", "666", join(at, "zero"), "c", "1", "5"])
      execFileSync("mknod", ["-m", "666", join(at, "disk"), "b", "7", "0"])
    },
    listed: [],
    copied: { names: [] },
  },
  {
    name: "a set-uid program in a set-gid directory",
    make(at) {
      writeFileSync(join(at, "f"), "")
      mkdirSync(join(at, "d"))
      for (const name of ["f", "d"]) {
        own(join(at, name))
        chmodSync(join(at, name), 0o7755)
      }
    },
    listed: ["d/", "f"],
    copied: {
      names: ["d", "f"],
      check: (at) =>
        assert.deepEqual(
          ["d", "f"].map((name) => statSync(join(at, name)).mode & 0o7777),
          [0o755, 0o755],
        ),
    },
  },
  {
    name: "a sparse giant",
    make(at) {
      const fd = openSync(join(at, "f"), "w")
      writeSync(fd, "head", 0)
      writeSync(fd, "tail", gigantic - 4)
      closeSync(fd)
    },
    listed: ["f"],
    copied: {
      names: ["f"],
      check(at) {
        const { size, blocks } = statSync(join(at, "f"))
        assert.equal(size, gigantic)
        assert.ok(blocks * 512 < 2 ** 20, `${blocks * 512} bytes are taken`)
        assert.equal(execFileSync("tail", ["-c", "4", join(at, "f")], { encoding: "utf8" }), "tail")
        assert.equal(execFileSync("head", ["-c", "4", join(at, "f")], { encoding: "utf8" }), "head")
      },
    },
  },
  {
    name: "a name of 255 bytes",
    make(at) {
      mkdirSync(join(at, long))
      own(join(at, long))
      writeFileSync(join(at, long, long), long)
    },
    listed: [`${long}/`],
    copied: {
      names: [long],
      check: (at) => assert.equal(readFileSync(join(at, long, long), "utf8"), long),
      counts: { entries: 3, bytes: 255 },
    },
  },
  {
    name: "a name that is not UTF-8",
    make: (at) => writeFileSync(Buffer.concat([Buffer.from(`${at}/`), Buffer.from([0xff])]), "x"),
    listed: [],
    copied: { names: [Buffer.from([0xff])] },
  },
  {
    name: "a tree of three thousand levels",
    make(at) {
      const script = 'const fs = require("fs"); for (let i = 0; i < 3000; i++) { fs.mkdirSync("d"); process.chdir("d") }'
      execFileSync(process.execPath, ["-e", script], { cwd: at, ...(asRoot ? owner : {}) })
    },
    listed: ["d/"],
    copied: undefined,
  },
  {
    name: "a directory of 1,200 entries",
    make(at) {
      const script = "seq 0 899 | xargs touch; seq 900 1199 | xargs mkdir; seq -f %g/f 900 1199 | xargs touch"
      execFileSync("sh", ["-c", script], { cwd: at, ...(asRoot ? owner : {}) })
    },
    listed: Array.from({ length: 1_200 }, (_, i) => (i < 900 ? String(i) : `${i}/`)).toSorted(),
    copied: { names: Array.from({ length: 1_200 }, (_, i) => String(i)), counts: { entries: 1_501, bytes: 0 } },
  },
]

function own(path: string): void {
  if (asRoot) chownSync(path, owner.uid, owner.gid)
}

for (const kind of kinds) {
  const path = `/users/ann/odd/${kinds.indexOf(kind)}`
  const on = (name: string) => join(server.root, path, name)
  const make = (name: string) => {
    server.makeDirectory(`${path.slice(1)}/${name}`)
    kind.make(on(name))
  }
  const assertRemoved = async (name: string) => {
    assert.equal(lstatSync(on(name), { throwIfNoEntry: false }), undefined)
    await eventually("its space is free", () => server.unfinished().length === 0)
    kind.kept?.()
  }
  const options = { skip: kind.skip ?? false }

  test(`${kind.name}: is listed with its own type`, options, async () => {
    make("listed")
    const answer = await server.ask("PROPFIND", `${path}/listed`, { headers: { depth: "1" } })
    const hrefs = [...answer.text.matchAll(/<D:href>([^<]*)</g)].map(([, href = ""]) => href.slice(`${path}/listed/`.length))
    assert.deepEqual(hrefs.filter((href) => href !== "").toSorted(), kind.listed)
    for (const name of readdirSync(on("listed")).slice(0, 10)) {
      const { status, headers } = await server.ask("HEAD", `${path}/listed/${encodeURIComponent(name)}`)
      const isShown = kind.listed.includes(name) || kind.listed.includes(`${name}/`)
      assert.equal(status < 400 || status === 405, isShown, `${status} ${name}`)
      if (kind.listed.includes(name)) assert.equal(headers["content-length"], String(statSync(on(`listed/${name}`)).size))
    }
  })

  test(`${kind.name}: copied over WebDAV, and removed`, options, async () => {
    make("dav")
    const copy = await server.ask("COPY", `${path}/dav`, { headers: { destination: `${path}/dav2` } })
    if (kind.copied) assertCopied(kind, on("dav2"), on("dav"))
    assert.equal(copy.status, kind.copied ? 201 : 403, copy.text)
    for (const name of ["dav", "dav2"]) {
      assert.equal(
        (await server.ask("DELETE", `${path}/${name}`)).status,
        existsSync(on(name)) ? 500 : kind.copied || name === "dav" ? 204 : 404,
      )
      await assertRemoved(name)
    }
  })

  test(`${kind.name}: copied as code, and removed for the main process`, options, async () => {
    const { tree } = server.files
    make("code")
    const copying = tree.copyTree(`${path}/code`, `${path}/release`)
    if (kind.copied) {
      const counted = await copying
      assertCopied(kind, on("release"), on("code"))
      if (kind.copied.counts) assert.deepEqual(counted, kind.copied.counts)
      assert.ok((counted?.bytes ?? 0) < 2 ** 20, "holes count nothing")
    } else
      await assert.rejects(
        copying,
        (error) => error instanceof Failure && error.code === "conflict" && /deeper than 100/.test(error.message),
      )
    for (const name of ["code", "release"]) {
      await tree.removeTree(`${path}/${name}`)
      await assertRemoved(name)
    }
  })
}

function assertCopied({ copied }: Kind, at: string, from: string): void {
  const sorted = (names: readonly (string | Buffer)[]) => names.map((name) => Buffer.from(name).toString("latin1")).toSorted()
  assert.deepEqual(sorted(readdirSync(at, { encoding: "buffer" })), sorted(copied?.names ?? []))
  copied?.check?.(at, from)
}

const piece = Buffer.alloc(2 ** 20, "x")

/** The sparse file has 64 pieces of data, each followed by a hole. */
function assertSameData(path: string): void {
  const fd = openSync(path, "r")
  assert.equal(fstatSync(fd).size, 63 * 2 ** 24 + piece.length)
  const read = Buffer.alloc(2 * piece.length)
  for (let i = 0; i < 64; i += 1) {
    const count = readSync(fd, read, 0, read.length, i * 2 ** 24)
    assert.ok(read.subarray(0, count).equals(Buffer.concat([piece, Buffer.alloc(count - piece.length)])), `piece ${i}`)
  }
  closeSync(fd)
}

test("a cancelled copy of a sparse file, and one beyond the limit, leave nothing", async () => {
  server.makeDirectory("users/ann/sparse")
  const fd = openSync(server.at("sparse/f"), "w")
  for (let i = 0; i < 64; i += 1) writeSync(fd, piece, 0, piece.length, i * 2 ** 24)
  closeSync(fd)
  const { tree } = server.files
  const limited = tree.copyTree("/users/ann/sparse", "/users/ann/sparse2", { maxBytes: 2 ** 25 })
  await assert.rejects(limited, (error) => error instanceof Failure && error.code === "conflict")
  const controller = new AbortController()
  const onProgress = () => controller.abort(new Error("gone away"))
  await assert.rejects(tree.copyTree("/users/ann/sparse", "/users/ann/sparse2", { signal: controller.signal, onProgress }), /gone away/)
  assert.deepEqual([existsSync(server.at("sparse2")), server.unfinished()], [false, []])
  const copied = await tree.copyTree("/users/ann/sparse", "/users/ann/sparse2")
  assert.ok(copied && copied.bytes >= 2 ** 26 && copied.bytes < 2 ** 26 + 2 ** 20, `${copied?.bytes} bytes were counted`)
  assertSameData(server.at("sparse2/f"))
})
