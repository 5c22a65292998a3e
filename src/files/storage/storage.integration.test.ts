import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chmodSync, linkSync, mkdirSync, renameSync, symlinkSync, truncateSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, beforeEach, test } from "node:test"
import { asRoot, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"
import { defaultStorageSettings } from "../settings.ts"
import { StagingArea } from "../staging/staging-area.ts"
import type { DirectoryHandle } from "../tree/directory-handle.ts"
import { DirectoryHandle as OpenFolder } from "../tree/directory-handle.ts"
import { StorageScan } from "./scan.ts"

const kib = 1_024
const mib = 2 ** 20
const settings = defaultStorageSettings(undefined)
let server: TestFilesServer
before(async () => {
  // The last count decides unless a test says otherwise.
  server = await TestFilesServer.start({ storage: { recountAfterMs: 3_600_000 } })
})
after(() => server[Symbol.asyncDispose]())

/** A person with a home of their own, so that no test counts what another one stored. */
let createdCount = 0
let name = ""
beforeEach(() => {
  createdCount += 1
  name = `person${createdCount}`
  server.authority.add(name)
  server.makeDirectory(`users/${name}`)
})

const limit = (bytes: number) => server.authority.quotas.set(name, { maxBytes: bytes })
const request = (method: string, path: string, options: { headers?: Record<string, string>; body?: string | Buffer } = {}) =>
  server.ask(method, `/users/${name}/${path}`, { user: name, ...options })
const refusal = ({ status, text }: { status: number; text: string }) => {
  assert.equal(status, 507, text)
  const { code, msg } = JSON.parse(text)
  assert.equal(code, "storage_full")
  return msg as string
}

function count(root: DirectoryHandle, account: { roots: string[]; excluded?: string[]; subAreas?: string[] }) {
  const scan = new StorageScan(root, { name: "ann", userId: 1, excluded: [], subAreas: [], ...account }, settings)
  for (const _ of scan.steps());
  return scan.result(0, true)
}

test("`PUT` beyond `MaxStorage` returns 507 with the numbers, and leaves nothing", async () => {
  writeFileSync(join(server.root, "users", name, "by-a-program"), Buffer.alloc(9 * mib, 1))
  limit(10 * mib)
  const msg = refusal(await request("PUT", "big", { body: Buffer.alloc(5 * mib) }))
  assert.match(msg, new RegExp(`^${name} may store 10 MiB and stores 9 MiB; this has 5 MiB`))
  assert.equal((await request("GET", "big")).status, 404)
  assert.equal((await request("PUT", "small", { body: Buffer.alloc(64 * kib) })).status, 201)
})

test("an upload counts even if a program gives it a second name at once", async (t) => {
  limit(10 * mib)
  const { place } = StagingArea.prototype
  t.mock.method(StagingArea.prototype, "place", async function (this: StagingArea, ...given: Parameters<typeof place>) {
    await place.apply(this, given)
    linkSync(join(server.root, "users", name, "first"), join(server.root, "users", name, "second"))
  })
  assert.equal((await request("PUT", "first", { body: Buffer.alloc(6 * mib) })).status, 201)
  refusal(await request("PUT", "more", { body: Buffer.alloc(6 * mib) }))
})

test("directories that a program may write to but not read count, and so does a home like that", { skip: !asRoot }, async () => {
  await using worker = await TestFilesServer.start({ runIn: "worker" })
  const home = worker.at()
  const folders = ["closed", "deep", ...Array.from({ length: 20 }, (_, n) => `deep${"/d".repeat(n + 1)}`), "unlisted"]
  for (const [n, folder] of folders.entries()) {
    mkdirSync(join(home, folder))
    if (n % 7 === 0) writeFileSync(join(home, folder, "file"), Buffer.alloc(mib, 1))
  }
  execFileSync("chown", ["-R", `${owner.uid}:${owner.gid}`, home])
  for (const [n, folder] of folders.toReversed().entries()) chmodSync(join(home, folder), [0o300, 0o400, 0][n % 3] as number)
  chmodSync(home, 0o300)
  const account = { name: "ann", userId: 1, roots: ["/users/ann"], excluded: [], subAreas: [] }
  const { bytes } = await worker.files.countStorage(account, null)
  assert.equal(Math.floor(bytes / mib), 4)
})

test("`PUT` without a length ends when it exceeds `MaxStorage`, and the old file stays", async () => {
  limit(mib)
  assert.equal((await request("PUT", "file", { body: "old" })).status, 201)
  const connection = await server.raw()
  const proof = Buffer.from(`${name}:right`).toString("base64")
  connection.write(
    `PUT /users/${name}/file HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${proof}\r\nTransfer-Encoding: chunked\r\n\r\n`,
  )
  const chunk = Buffer.alloc(128 * kib)
  for (let sent = 0; sent < 16 && !connection.socket.destroyed; sent += 1) {
    connection.write(`${chunk.length.toString(16)}\r\n`)
    connection.write(chunk)
    connection.write("\r\n")
  }
  assert.match(await connection.until("storage_full"), /^HTTP\/1.1 507 /)
  connection.socket.destroy()
  assert.equal((await request("GET", "file")).text, "old")
})

test("concurrent uploads together get no more than `MaxStorage`", async () => {
  limit(4 * mib)
  const answers = await Promise.all(Array.from({ length: 16 }, (_, i) => request("PUT", `file${i}`, { body: Buffer.alloc(mib - 8 * kib) })))
  assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array(4).fill(201), ...Array(12).fill(507)])
})

test("a replaced or deleted file makes room at once", async () => {
  limit(2 * mib)
  const body = Buffer.alloc(1.5 * mib)
  assert.equal((await request("PUT", "file", { body })).status, 201)
  refusal(await request("PUT", "other", { body }))
  assert.equal((await request("PUT", "file", { body })).status, 204, "a file is saved in place of itself")
  assert.equal((await request("DELETE", "file")).status, 204)
  assert.equal((await request("PUT", "other", { body })).status, 201)
})

for (const method of ["DELETE", "PUT", "MOVE"]) {
  test(`${method} of files that a program wrote, and that no count saw, makes no room`, async () => {
    limit(4 * mib)
    assert.equal((await request("PUT", "file", { body: Buffer.alloc(3 * mib) })).status, 201)
    for (const file of ["old", "small"]) await request("PUT", file, { body: "1" })
    for (let round = 0; round < 3; round += 1) {
      writeFileSync(join(server.root, "users", name, "old"), Buffer.alloc(3 * mib, 1))
      const options = method === "MOVE" ? { headers: { destination: `${server.url}/users/${name}/old` } } : { body: "1" }
      assert.ok((await request(method, method === "MOVE" ? "small" : "old", options)).status < 300)
      await request("PUT", "small", { body: "1" })
      refusal(await request("PUT", `more${round}`, { body: Buffer.alloc(2 * mib) }))
    }
  })
}

test("pending saves of a large file make room for no other upload", async () => {
  limit(4 * mib)
  assert.equal((await request("PUT", "file", { body: Buffer.alloc(3 * mib) })).status, 201)
  const saves = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const connection = await server.raw()
      const proof = Buffer.from(`${name}:right`).toString("base64")
      connection.write(
        `PUT /users/${name}/file HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${proof}\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n`,
      )
      assert.match(await connection.until("\r\n\r\n"), / 100 /)
      return connection
    }),
  )
  refusal(await request("PUT", "other", { body: Buffer.alloc(3 * mib) }))
  for (const { socket } of saves) socket.destroy()
})

test("only one of several concurrent saves of a file uses the space of the old one", async () => {
  limit(4 * mib)
  const body = Buffer.alloc(3 * mib)
  assert.equal((await request("PUT", "file", { body })).status, 201)
  const connection = await server.raw()
  const proof = Buffer.from(`${name}:right`).toString("base64")
  connection.write(
    `PUT /users/${name}/file HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${proof}\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`,
  )
  assert.match(await connection.until("\r\n\r\n"), / 100 /)
  refusal(await request("PUT", "file", { body }))
  connection.write(body)
  assert.match(await connection.until(" 204 "), / 204 /)
  assert.equal((await request("PUT", "file", { body })).status, 204)
  connection.socket.destroy()
})

for (const method of ["DELETE", "MOVE", "COPY"]) {
  test(`a pending save of a file gets no room by a ${method} that takes the file away meanwhile`, async () => {
    limit(4 * mib)
    const body = Buffer.alloc(3 * mib)
    assert.equal((await request("PUT", "file", { body })).status, 201)
    await request("PUT", "small", { body: "1" })
    const proof = Buffer.from(`${name}:right`).toString("base64")
    const save = await server.raw()
    save.write(
      `PUT /users/${name}/file HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Basic ${proof}\r\nContent-Length: ${body.length}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n`,
    )
    assert.match(await save.until("\r\n\r\n"), / 100 /)
    const [source, target] = { DELETE: ["file", ""], MOVE: ["file", "moved"], COPY: ["small", "file"] }[method] as [string, string]
    assert.ok((await request(method, source, { headers: { destination: `${server.url}/users/${name}/${target}` } })).status < 300)
    refusal(await request("PUT", "more", { body: Buffer.alloc(2 * mib) }))
    save.write(body)
    // The room of a file that is gone is this save's own; that of a moved one is still in use.
    assert.match(await save.end(), method === "MOVE" ? / 507 / : / 20[14] /)
    refusal(await request("PUT", "more", { body: Buffer.alloc(2 * mib) }))
  })
}

test("empty files count, so `PUT` of one returns 507 at `MaxStorage`", async () => {
  limit(16 * kib)
  const answers: number[] = []
  for (let i = 0; i < 20; i += 1) answers.push((await request("PUT", `empty${i}`, { body: "" })).status)
  assert.deepEqual([answers[0], answers.at(-1)], [201, 507])
  assert.equal((await request("PUT", "empty0", { body: "" })).status, 204, "a save that takes no more room")
})

test("`COPY`, `MKCOL`, `LOCK` and `PROPPATCH` return 507 beyond `MaxStorage`, and requests that free space succeed", async () => {
  limit(mib)
  assert.equal((await request("PUT", "file", { body: Buffer.alloc(600 * kib) })).status, 201)
  const to = (target: string) => ({ headers: { destination: `http://127.0.0.1/users/${name}/${target}` } })
  refusal(await request("COPY", "file", to("copy")))
  assert.equal((await request("MOVE", "file", to("moved"))).status, 201)
  assert.equal((await request("PUT", "rest", { body: Buffer.alloc(412 * kib) })).status, 201)
  const property = (verb: "set" | "remove") =>
    `<D:propertyupdate xmlns:D="DAV:" xmlns:x="x:"><D:${verb}><D:prop><x:p>${"v".repeat(8_000)}</x:p></D:prop></D:${verb}></D:propertyupdate>`
  const lockinfo = '<D:lockinfo xmlns:D="DAV:"><D:lockscope><D:exclusive/></D:lockscope><D:locktype><D:write/></D:locktype></D:lockinfo>'
  const created: number[] = []
  for (let i = 0; i < 16; i += 1) created.push((await request("MKCOL", `directory${i}`)).status)
  assert.deepEqual([created[0], created.at(-1)], [201, 507])
  refusal(await request("LOCK", "new", { body: lockinfo }))
  refusal(await request("PROPPATCH", "moved", { body: property("set") }))
  assert.equal((await request("PROPPATCH", "moved", { body: property("remove") })).status, 207)
  assert.equal((await request("DELETE", "moved")).status, 204)
  assert.equal((await request("PROPPATCH", "rest", { body: property("set") })).status, 207)
})

test("uploads at once ask for their owner's quota once", async (t) => {
  await using other = await TestFilesServer.start()
  const { storageQuota } = other.authority
  const asked = t.mock.method(other.authority, "storageQuota", async (account: string) => {
    await new Promise((resolve) => setTimeout(resolve, 200))
    return storageQuota.call(other.authority, account)
  }).mock
  const put = (_: unknown, n: number) => other.ask("PUT", `/users/ann/${n}`, { body: "x" })
  const answers = await Promise.all(Array.from({ length: 10 }, put))
  assert.deepEqual([new Set(answers.map(({ status }) => status)), asked.callCount()], [new Set([201]), 1])
})

test("members of a group together get no more than its `TotalLimits`", async () => {
  const [first, second] = [name, `${name}b`]
  server.authority.add(second)
  server.makeDirectory(`users/${second}`)
  const groups = [{ groupName: "lab", maxBytes: 2 * mib, members: [first, second] }]
  for (const each of [first, second]) server.authority.quotas.set(each, { groups })
  const put = (user: string) => server.ask("PUT", `/users/${user}/file`, { user, body: Buffer.alloc(1.5 * mib) })
  assert.equal((await put(first)).status, 201)
  assert.match(refusal(await put(second)), /^The members of lab may store 2 MiB together and store 1.5 MiB; this has 1.5 MiB/)
})

test("an upload that does not fit recounts its owner's files and finds space that a program freed", async () => {
  await using other = await TestFilesServer.start({ storage: { recountAfterMs: 0 }, runIn: "worker" })
  other.authority.quotas.set("ann", { maxBytes: mib, counted: { ann: 50 * mib } })
  assert.equal((await other.ask("PUT", "/users/ann/file", { body: Buffer.alloc(500 * kib) })).status, 201)
  writeFileSync(other.at("by-a-program"), Buffer.alloc(900 * kib))
  const answer = await other.ask("PUT", "/users/ann/other", { body: Buffer.alloc(500 * kib) })
  assert.equal(answer.status, 201, "what a run wrote is not known before a count")
  assert.match(refusal(await other.ask("PUT", "/users/ann/third", { body: Buffer.alloc(500 * kib) })), /stores 1\.9 MiB/)
})

test("two counts of one person at once do not take away twice what was uploaded before them", async () => {
  limit(10 * mib)
  assert.equal((await request("PUT", "first", { body: Buffer.alloc(5 * mib) })).status, 201)
  const account = { name, userId: 1, roots: [`/users/${name}`], excluded: [], subAreas: [] }
  await Promise.all([server.files.countStorage(account, null), server.files.countStorage(account, null)])
  const msg = refusal(await request("PUT", "second", { body: Buffer.alloc(9 * mib) }))
  assert.match(msg, /stores 5 MiB; this has 9 MiB/)
})

test("a count includes hard links once, and no holes, symbolic links or other people's files", async () => {
  const home = join(server.root, "users", name)
  mkdirSync(join(home, "a/b"), { recursive: true })
  mkdirSync(join(home, "projects/7/code"), { recursive: true })
  mkdirSync(join(home, "lent"), { recursive: true })
  writeFileSync(join(home, "a/b/file"), Buffer.alloc(mib, 1))
  linkSync(join(home, "a/b/file"), join(home, "again"))
  writeFileSync(join(home, "sparse"), "")
  truncateSync(join(home, "sparse"), 2 ** 40)
  symlinkSync("/", join(home, "link"))
  writeFileSync(join(home, "projects/7/code/x"), Buffer.alloc(mib, 1))
  writeFileSync(join(home, "lent/theirs"), Buffer.alloc(3 * mib, 1))
  using root = OpenFolder.open(server.root)
  const found = count(root, { roots: [`/users/${name}`], excluded: [`/users/${name}/lent`] })
  assert.ok(found.bytes >= 2 * mib && found.bytes < 2.2 * mib, String(found.bytes))
  const areas = found.areas
  assert.deepEqual(Object.keys(areas), [`/users/${name}`, `/users/${name}/projects/7`])
  assert.ok((areas[`/users/${name}/projects/7`] ?? 0) >= mib)
  const others = count(root, { roots: [`/users/${name}/lent`, "/users/nobody"] })
  assert.ok(others.bytes >= 3 * mib && others.bytes < 3.1 * mib, String(others.bytes))
})

test("a count tells datasets in a home apart, at any depth, and counts them once", () => {
  const home = join(server.root, "users", name)
  const deep = Array<string>(20).fill("d").join("/")
  for (const path of ["data/more", "projects/7/data", deep]) mkdirSync(join(home, path, "lent"), { recursive: true })
  for (const path of ["", "data", "data/more", "projects/7", "projects/7/data", deep, "data/more/lent"])
    writeFileSync(join(home, path, "file"), Buffer.alloc(mib, 1))
  const subAreas = ["data", "projects/7/data", deep].map((path) => `/users/${name}/${path}`)
  using root = OpenFolder.open(server.root)
  const { areas, bytes } = count(root, { roots: [`/users/${name}`], excluded: [`/users/${name}/data/more/lent`], subAreas })
  const whole = Object.fromEntries(Object.entries(areas).map(([area, size]) => [area, Math.floor(size / mib)]))
  assert.deepEqual(whole, {
    [`/users/${name}`]: 1,
    [`/users/${name}/data`]: 2,
    [`/users/${name}/projects/7`]: 1,
    [`/users/${name}/projects/7/data`]: 1,
    [`/users/${name}/${deep}`]: 1,
  })
  assert.equal(Math.floor(bytes / mib), 6)
})

test("a count includes directories deeper than its open descriptors", () => {
  const deep = join(server.root, "users", name, ...Array<string>(60).fill("d"))
  mkdirSync(deep, { recursive: true })
  writeFileSync(join(deep, "file"), Buffer.alloc(mib, 1))
  using root = OpenFolder.open(server.root)
  const { bytes, isComplete } = count(root, { roots: [`/users/${name}`] })
  assert.ok(bytes >= mib && isComplete, String(bytes))
})

/**
 * Directories in each other, made and entered one by one; answers the last one's path from its own
 * start.
 */
function nest(start: string, levels: number): string {
  const path = join(start, ...Array(levels).fill("d"))
  mkdirSync(path, { recursive: true })
  return path
}

test("a directory costs a count the same at any depth, so a deep tree delays no other count", () => {
  using root = OpenFolder.open(server.root)
  const costs = [15, 799].map((levels) => {
    const tree = `users/${name}/${levels}`
    const deepest = nest(join(server.root, tree), levels)
    for (let i = 0; i < 2_400 - levels; i += 1) mkdirSync(join(deepest, `${i}`))
    const before = process.cpuUsage()
    assert.equal(count(root, { roots: [`/${tree}`] }).entries, 2_401)
    const { user, system } = process.cpuUsage(before)
    return user + system
  })
  const [flat = 0, deep = 0] = costs
  assert.ok(deep < 5 * flat, `${deep} µs, and ${flat} where they lie less deep`)
})

test("a count continues when a program moves the deep directory that is being scanned", () => {
  const home = join(server.root, "users", name)
  const deepest = nest(home, 20)
  const sizes = [1, 2, 3, 4].map((factor) => factor * 64 * kib)
  for (const size of sizes) {
    const directory = nest(join(deepest, `${size}`), 2)
    writeFileSync(join(directory, "file"), Buffer.alloc(size, 1))
    writeFileSync(join(deepest, `${size}`, "beside"), Buffer.alloc(size, 1))
  }
  using root = OpenFolder.open(server.root)
  const scan = new StorageScan(root, { name, userId: 1, roots: [`/users/${name}`], excluded: [], subAreas: [] }, settings)
  const moved: string[] = []
  let before = 0
  for (const _ of scan.steps()) {
    const found = sizes.find((size) => scan.bytes - before >= size && scan.bytes - before < size + 64 * kib)
    before = scan.bytes
    // The first time it is `beside`, the directory with the other file is still to come.
    if (found === undefined || moved.length > 0) continue
    moved.push(`${found}`)
    renameSync(join(deepest, `${found}`), join(server.root, `away-${name}`))
  }
  const [away] = moved
  const rest = sizes.filter((size) => `${size}` !== away).reduce((sum, size) => sum + 2 * size, 0)
  assert.ok(scan.bytes >= rest + 2 * Number(away), `${scan.bytes} of all but ${away}`)
})

test("the first small uploads wait for no count, and larger ones wait for it", async () => {
  await using other = await TestFilesServer.start({ storage: { recountAfterMs: 3_600_000, maxRecountWaitMs: 2_000 } })
  const roots = Array<string>(400_000).fill("/users/nobody")
  const account = { name: "ann", userId: 1, roots, excluded: [], subAreas: [] }
  other.authority.storageQuota = async () => ({ account, maxBytes: 100 * mib, groups: [], counted: {} })
  const timed = async (path: string, bytes: number) => {
    const startedAt = performance.now()
    assert.equal((await other.ask("PUT", `/users/ann/${path}`, { body: Buffer.alloc(bytes) })).status, 201)
    return performance.now() - startedAt
  }
  for (let i = 0; i < 3; i += 1) assert.ok((await timed(`small${i}`, 200 * kib)) < 1_000)
  assert.ok((await timed("large", 2 * mib)) >= 1_000)
})

test("small counts end beside a large one", async () => {
  const [large, small] = [name, `${name}b`]
  for (let i = 0; i < 5_000; i += 1) {
    if (i % 1_000 === 0) mkdirSync(join(server.root, "users", large, String(i / 1_000)))
    writeFileSync(join(server.root, "users", large, String(Math.floor(i / 1_000)), String(i)), "")
  }
  server.makeDirectory(`users/${small}`)
  const ended: string[] = []
  const counted = async (each: string) => {
    const found = await server.files.tree.countStorage({ name: each, userId: 1, roots: [`/users/${each}`], excluded: [], subAreas: [] })
    ended.push(each)
    return found.entries
  }
  assert.deepEqual(await Promise.all([counted(large), counted(small)]), [5_006, 1])
  assert.deepEqual(ended, [small, large])
})
