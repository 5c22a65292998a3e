import assert from "node:assert/strict"
import { linkSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { after, before, describe, test } from "node:test"
import { setTimeout as pause } from "node:timers/promises"
import { bounds } from "#contract"
import type { FileTree } from "#files"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, owner, TestFilesServer, type TestRequest, workerPid } from "../../../test/fixtures/files/files-server.ts"
import { cannotHoldCalls, type HeldCalls, HeldFileSystem } from "../../../test/fixtures/files/held-file-system.ts"
import type { ListedEntry } from "../../../test/fixtures/files/memory-tree.ts"
import { mount } from "../../../test/fixtures/mount.ts"

/*
 * A program can hold the kernel's locks of its directories and files for seconds, so no call that
 * waits for one is made in the event loop. Here mal's home is on a file system that holds each call
 * of each request, one after another, until ann's requests are answered.
 */

/** The test fails when ann waited so long. */
const guardMs = 10_000
const atOnce = 30

/** A request of mal, or an operation of the main process, in a directory that has some entries. */
interface Row {
  name: string
  send(server: TestFilesServer, directory: string): Promise<unknown>
  result: unknown
  /** Names whose calls are held. Default: the directory's. */
  names?: readonly string[]
  /** The kind of calls that are held. Default: any. */
  kind?: string
}

/** `DIR` in a header is the directory. */
function request(name: string, method: string, path: string, status: number, options: TestRequest = {}): Row {
  return {
    name,
    async send(server, directory) {
      const fields = Object.entries(options.headers ?? {}).map(([field, value]) => [field, String(value).replaceAll("DIR", directory)])
      return (await server.ask(method, `${directory}/${path}`, { ...options, headers: Object.fromEntries(fields), user: "mal" })).status
    },
    result: status,
  }
}

function operation(name: string, operate: (tree: FileTree, directory: string) => Promise<unknown>, result: unknown): Row {
  return { name: `the operation ${name}`, send: ({ files }, directory) => operate(files.tree, directory), result }
}

const to = (name: string) => ({ headers: { destination: `DIR/${name}` } })
const depth = (value: string) => ({ headers: { depth: value } })
const large = Buffer.alloc(200_000)
const tus = { "tus-resumable": "1.0.0" }
const lock = '<lockinfo xmlns="DAV:"><lockscope><exclusive/></lockscope><locktype><write/></locktype></lockinfo>'
const patch = '<propertyupdate xmlns="DAV:"><set><prop><a xmlns="x:">1</a></prop></set></propertyupdate>'

const rows: Row[] = [
  request("GET of a missing name", "GET", "none", 404),
  request("GET of a file", "GET", "file", 200),
  request("GET of a directory", "GET", "folder/", 405),
  request("GET of a list", "GET", "?list=json", 200),
  request("GET of an archive", "GET", "?archive=zip", 200),
  request("HEAD", "HEAD", "file", 200),
  request("PROPFIND of a file", "PROPFIND", "file", 207, depth("0")),
  request("PROPFIND of a directory", "PROPFIND", "", 207, depth("1")),
  request("PROPFIND of a tree", "PROPFIND", "", 207, depth("infinity")),
  request("PUT of a new file", "PUT", "new", 201, { body: "x" }),
  request("PUT of a large file", "PUT", "new", 201, { body: large }),
  request("PUT over a file", "PUT", "file", 204, { body: "x" }),
  request("PUT with a time", "PUT", "file", 204, { body: "x", headers: { "x-oc-mtime": "1000" } }),
  request("PUT below a file", "PUT", "file/new", 409, { body: "x" }),
  request("PUT with a condition on another file", "PUT", "file", 412, { body: "x", headers: { if: '<DIR/folder/inner/leaf> (["x"])' } }),
  request("MKCOL", "MKCOL", "new", 201),
  request("DELETE of a file", "DELETE", "file", 204),
  request("DELETE of a tree", "DELETE", "folder", 204),
  request("MOVE of a file", "MOVE", "file", 201, to("new")),
  request("MOVE over a file", "MOVE", "file", 204, to("folder/inner/leaf")),
  request("MOVE of a tree", "MOVE", "folder", 201, to("empty/new")),
  request("COPY of a file", "COPY", "file", 201, to("new")),
  request("COPY over a file", "COPY", "file", 204, to("folder/inner/leaf")),
  request("COPY of a tree", "COPY", "folder", 201, to("empty/new")),
  request("COPY over a tree", "COPY", "empty", 204, to("folder")),
  request("LOCK of a missing name", "LOCK", "new", 201, { body: lock }),
  request("LOCK of a file", "LOCK", "file", 200, { body: lock }),
  request("PROPPATCH", "PROPPATCH", "file", 207, { body: patch }),
  operation("exists", (tree, at) => tree.exists(`${at}/folder/inner`), true),
  operation("ensureDirectory", (tree, at) => tree.ensureDirectory(`${at}/folder/new/deep`), undefined),
  operation("makeNewDirectory", (tree, at) => tree.makeNewDirectory(`${at}/folder/new`), true),
  operation("removeEmptyDirectory", (tree, at) => tree.removeEmptyDirectory(`${at}/empty`), undefined),
  operation("copyTree", (tree, at) => tree.copyTree(`${at}/folder`, `${at}/new`), { entries: 4, bytes: 14 }),
  operation("copyTree over a tree", (tree, at) => tree.copyTree(`${at}/folder/inner`, `${at}/folder`), { entries: 2, bytes: 7 }),
  operation("move", (tree, at) => tree.move(`${at}/folder`, `${at}/new/folder`), true),
  operation("breakHardLinks", (tree, at) => tree.breakHardLinks(at), undefined),
  operation("removeTree", (tree, at) => tree.removeTree(`${at}/folder`), undefined),
  operation("countStorage", async (tree, at) => (await tree.countStorage(accountOf(at))).refused, 0),
]
/** The log of stored properties, and the next one. */
const propertyLogs = ["properties.jsonl", "properties.jsonl.new"]
/** Requests that change stored properties: their calls on the log are held, too. */
const propertyRows = [
  request("PROPPATCH of a file with properties", "PROPPATCH", "file", 207, { body: patch }),
  request("DELETE of a file with properties", "DELETE", "file", 204),
  request("MOVE of a file with properties", "MOVE", "file", 201, to("new")),
  request("COPY of a file with properties", "COPY", "file", 201, to("new")),
].map(
  ({ name, send, result }): Row => ({
    name,
    async send(server, directory) {
      await server.ask("PROPPATCH", `${directory}/file`, { user: "mal", body: patch })
      return await send(server, directory)
    },
    result,
    names: propertyLogs,
  }),
)
const largePatch = patch.replace("1", "x".repeat(60_000))

/** Requests after which the log of properties is compacted, until it is. */
async function compactLog(server: TestFilesServer, directory: string): Promise<void> {
  const log = join(server.root, ".quayside/properties.jsonl")
  for (let i = 0; i < 20; i += 1) await server.ask("PROPPATCH", `${directory}/file`, { user: "mal", body: largePatch })
  await eventually("the log is compacted", async () => (await stat(log)).size < 2 ** 20)
  await server.ask("DELETE", `${directory}/file`, { user: "mal" })
}
const compactionRows = ["create", "read", "fsync", "rename"].map(
  (kind): Row => ({ name: `the compaction of properties (${kind})`, send: compactLog, result: undefined, names: propertyLogs, kind }),
)
const refusedUpload = request("a resumable upload that is refused", "POST", "file", 409, { headers: { ...tus, "upload-length": "1" } })
const upload: Row = {
  name: "a resumable upload",
  async send(server, directory) {
    const { status, headers } = await server.ask("POST", `${directory}/file`, { user: "mal", headers: { ...tus, "upload-length": "1" } })
    const piece = { ...tus, "upload-offset": "0", "content-type": "application/offset+octet-stream" }
    return [status, (await server.ask("PATCH", String(headers.location), { user: "mal", headers: piece, body: "x" })).status]
  },
  result: [201, 204],
}

/** ann's requests. `N` is another number each time. */
const others: [method: string, path: string, status: number, options?: TestRequest][] = [
  ["GET", "/users/ann/file", 200],
  ["PROPFIND", "/users/ann/", 207, { headers: { depth: "1" } }],
  ["PUT", "/users/ann/newN", 201, { body: "x" }],
  ["PUT", "/users/ann/newN", 204, { body: large }],
  ["DELETE", "/users/ann/newN", 204],
]

function accountOf(directory: string) {
  return { name: "mal", userId: 3, roots: [directory], excluded: [], subAreas: [] }
}

class HeldServer implements AsyncDisposable {
  readonly #files: HeldFileSystem
  readonly #server: TestFilesServer
  #directories = 0
  #probes = 0

  private constructor(files: HeldFileSystem, server: TestFilesServer) {
    this.#files = files
    this.#server = server
  }

  static async start(heldPart: string): Promise<HeldServer> {
    await using stack = new AsyncDisposableStack()
    const files = stack.use(await HeldFileSystem.mount(owner))
    // The others' flushes wait for no disk.
    const prepare = (root: string) => {
      const undo = [mount(root, { size: "64m", ...owner }), files.bindTo(join(root, heldPart))]
      return () => {
        for (const unmount of undo.toReversed()) unmount()
      }
    }
    const server = await TestFilesServer.start({ runIn: "worker", prepare })
    server.authority.add("mal")
    mkdirSync(join(server.root, "users/mal"), { recursive: true })
    writeFileSync(server.at("file"), "content")
    // From now on the properties are in memory.
    await server.ask("PROPFIND", "/users/ann/file")
    stack.move()
    return new HeldServer(files, server)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server[Symbol.asyncDispose]()
    await this.#files[Symbol.asyncDispose]()
  }

  #makeDirectory(): { name: string; path: string } {
    this.#directories += 1
    const name = `directory-${this.#directories}`
    const path = `/users/mal/${name}`
    const at = (entry: string) => join(this.#server.root, path, entry)
    for (const entry of ["folder/inner", "empty"]) mkdirSync(at(entry), { recursive: true })
    for (const entry of ["file", "folder/inner/leaf"]) writeFileSync(at(entry), "content")
    linkSync(at("file"), at("folder/second"))
    return { name, path }
  }

  async #assertOthersAreServed(meanwhile: string): Promise<void> {
    this.#probes += 1
    for (const [method, path, expected, options] of others) {
      const answer = this.#server.ask(method, path.replace("N", String(this.#probes)), options).then(({ status }) => status)
      const status = await Promise.race([answer, pause(guardMs, undefined, { ref: false })])
      if (status === undefined) assert.fail(`${method} of another person has no answer while ${meanwhile}\n${threadStacks()}`)
      assert.equal(status, expected, `${method} of another person fails while ${meanwhile}`)
    }
  }

  /** Resolves when all is answered and nothing remains to be removed. */
  async #settled(answers: Promise<unknown>[]): Promise<undefined> {
    await Promise.all(answers)
    const isUnfinished = ({ path, madeAt }: ListedEntry) => path.includes("/.quayside") && madeAt.includes("/directory-")
    await eventually("nothing is left", async () => !(await this.#files.list()).some(isUnfinished))
    return undefined
  }

  /** Returns the kind of the call during which `check` ran; undefined: none was held. */
  async #whileHeld(
    { send, result, names, kind }: Row,
    how: { count: number; index?: number; kind?: string },
    check: (held: HeldCalls) => Promise<void>,
  ) {
    const { count, ...which } = how
    const directories = Array.from({ length: count }, () => this.#makeDirectory())
    const held = await this.#files.hold({ names: names ?? directories.map(({ name }) => name), ...(kind && { kind }), ...which })
    const answers = directories.map(({ path }) => send(this.#server, path))
    const call = await Promise.race([held.first, this.#settled(answers)])
    try {
      if (call) await check(held)
    } finally {
      await this.#files.release()
    }
    const isTooMany = (answer: unknown) => count > 1 && answer === 429
    for (const answer of await Promise.all(answers)) if (!isTooMany(answer)) assert.deepEqual(answer, result)
    await this.#settled([])
    for (const { path } of directories) rmSync(join(this.#server.root, path), { recursive: true })
    return call?.kind
  }

  /** Returns the kinds of the calls that a request leads to. */
  async holdEachCall(row: Row): Promise<Set<string>> {
    const kinds = new Set<string>()
    for (let index = 0; ; index += 1) {
      const kind = await this.#whileHeld(row, { count: 1, index }, async ({ all: [call] }) => {
        await this.#assertOthersAreServed(`${call?.kind} of ${call?.paths.join(" and ")} is held`)
      })
      if (kind === undefined) return kinds
      kinds.add(kind)
    }
  }

  async holdCallsOfMany(row: Row, kind: string): Promise<void> {
    const held = await this.#whileHeld(row, { count: atOnce, kind }, async ({ all }) => {
      for (let round = 0; round < 3; round += 1) await this.#assertOthersAreServed(`${all.length} calls of ${kind} are held`)
      assert.ok(all.length <= bounds.files.diskThreadsOfPerson.value, `${all.length} threads wait in ${kind}`)
    })
    assert.equal(held, kind)
  }

  /**
   * Kills the worker during an upload, and holds the calls of the next one that removes its part.
   */
  async holdSweep(): Promise<void> {
    const { name, path } = this.#makeDirectory()
    const connection = await this.#server.raw()
    const head = `PUT ${path}/new HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("mal")}\r\nContent-Length: ${large.length + 1}\r\n\r\n`
    connection.write(head)
    connection.write(large)
    // A worker that waits in a held call cannot be killed.
    const hasArrived = ({ path, size }: ListedEntry) => path.includes(`${name}/.quayside`) && size === large.length
    await eventually("the upload waits for its last byte", async () => (await this.#files.list()).some(hasArrived))
    const held = await this.#files.hold({ names: [name] })
    process.kill(workerPid() ?? Number.NaN, "SIGKILL")
    await connection.end()
    try {
      const { kind } = await held.first
      await this.#assertOthersAreServed(`${kind} of the sweep is held`)
    } finally {
      await this.#files.release()
    }
    await this.#settled([])
  }
}

/** The calls of the kernel that the worker's threads are in, without idle threads of the pool. */
function threadStacks(): string {
  const tasks = `/proc/${workerPid()}/task`
  const stacks = readdirSync(tasks).map((thread) => {
    const calls = [...readFileSync(`${tasks}/${thread}/stack`, "utf8").matchAll(/\] (\w+)/g)].map(([, call]) => call)
    return `${tasks.endsWith(`/${thread}/task`) ? "The event loop" : "a thread"} is in ${calls.join(" < ")}`
  })
  return stacks.filter((stack) => !stack.includes("futex_wait")).join("\n")
}

/** On one file system with others, a held call may hold the lock of a folder that they need. */
const homes = [
  { place: "mal's home", heldPart: "users/mal", rows: [...rows, refusedUpload], hasMany: true },
  { place: "the files root", heldPart: ".", rows: [...rows, ...propertyRows, ...compactionRows, upload], hasMany: false },
]

for (const { place, heldPart, rows, hasMany } of homes) {
  describe(`while a call in a file system for ${place} is held`, { skip: cannotHoldCalls }, () => {
    let server: HeldServer
    const allKinds = new Set<string>()
    before(async () => {
      server = await HeldServer.start(heldPart)
    })
    after(() => server[Symbol.asyncDispose]())

    for (const row of rows) {
      test(`others are served, for each call of ${row.name}`, async () => {
        const kinds = await server.holdEachCall(row)
        if (row.kind !== undefined) assert.ok(kinds.has(row.kind))
        for (const kind of kinds) allKinds.add(kind)
        if (hasMany) for (const kind of kinds) await server.holdCallsOfMany(row, kind)
      })
    }

    if (hasMany) test("others are served while the sweep of a killed worker's files waits", () => server.holdSweep())

    test("calls of each kind were held", () => {
      const kinds = ["create", "lookup", "mkdir", "open", "read", "readdir", "rename", "rmdir", "unlink"]
      assert.deepEqual(
        kinds.filter((kind) => !allKinds.has(kind)),
        [],
      )
    })
  })
}
