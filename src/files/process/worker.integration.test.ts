import assert from "node:assert/strict"
import { execFileSync, spawnSync } from "node:child_process"
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { queryObjects } from "node:v8"
import { Failure } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { asRoot, basic, owner, TestFilesServer, workerPid } from "../../../test/fixtures/files/files-server.ts"

let server: TestFilesServer
const failures: object[] = []
const warnings: object[] = []
const logger = {
  debug() {},
  info() {},
  warn: (fields: object) => void warnings.push(fields),
  error: (fields: object) => void failures.push(fields),
  child: () => logger,
}
before(async () => {
  // A server started by hand has its administrator's groups; the worker must drop them.
  if (asRoot) process.setgroups?.([4, 24])
  server = await TestFilesServer.start({ runIn: "worker", logger, listen: { host: "localhost", port: 0 } })
})
after(() => server[Symbol.asyncDispose]())

function workerThere(): number {
  const pid = workerPid()
  assert.ok(pid)
  return pid
}

function workFolders(): string[] {
  return readdirSync(join(server.root, ".quayside/work"))
}

async function kill(pid: number): Promise<void> {
  process.kill(pid, "SIGKILL")
  await eventually("the next worker is ready", async () => workerPid() !== pid && (await server.files.health()).ok)
}

const rootOnly = { skip: !asRoot && "only root has privileges to give up" }

test("the worker works with the owner's uid, without groups, capabilities and new privileges", rootOnly, () => {
  const status = readFileSync(`/proc/${workerThere()}/status`, "utf8")
  const { uid, gid } = owner
  assert.match(status, new RegExp(`^Uid:\t(\\d+)\t${uid}\t\\1\t${uid}$`, "m"))
  assert.match(status, new RegExp(`^Gid:\t${gid}\t${gid}\t${gid}\t${gid}$`, "m"))
  assert.match(status, /^Groups:\t ?$/m)
  for (const set of ["Inh", "Prm", "Eff", "Amb"]) assert.match(status, new RegExp(`^Cap${set}:\t0+$`, "m"))
  for (const thread of readdirSync(`/proc/${workerThere()}/task`))
    assert.match(readFileSync(`/proc/${workerThere()}/task/${thread}/status`, "utf8"), /^NoNewPrivs:\t1$/m)
  // Others of the same uid can neither trace it nor read its memory.
  assert.equal(statSync(`/proc/${workerThere()}/mem`).uid, 0)
})

test("a process of the runs' uid on the host can neither signal the worker nor read anything of it", rootOnly, async () => {
  const pid = workerThere()
  const asOwner = ["setpriv", "--reuid", String(owner.uid), "--regid", String(owner.gid), "--clear-groups"]
  const attempts = [
    ...["0", "STOP", "TERM", "KILL"].map((signal) => `kill -${signal} ${pid}`),
    ...["fd", "fdinfo", "map_files"].map((name) => `ls /proc/${pid}/${name}`),
    ...["mem", "environ", "maps", "auxv", "stack", "syscall"].map((name) => `head -c 1 /proc/${pid}/${name}`),
    `readlink -v /proc/${pid}/cwd`,
    `readlink -v /proc/${pid}/exe`,
    `prlimit --pid ${pid} --nofile=10`,
  ]
  for (const attempt of attempts) {
    const [program = "", ...words] = [...asOwner, "sh", "-c", attempt]
    const { status, stderr } = spawnSync(program, words, { encoding: "utf8" })
    assert.notEqual(status, 0, attempt)
    assert.match(stderr, /not permitted|denied/i, attempt)
  }
  assert.equal((await server.ask("PUT", "/users/ann/still", { body: "x" })).status, 201)
  assert.equal(workerThere(), pid)
})

test("the worker drops its privileges without setpriv and setresuid, and logs the missing protections", rootOnly, () => {
  const script = `
    const { dropPrivileges } = await import(${JSON.stringify(join(import.meta.dirname, "drop-privileges.ts"))})
    console.log(JSON.stringify([await dropPrivileges(${JSON.stringify(owner)}), process.getuid(), process.geteuid()]))`
  const words = ["--no-experimental-ffi", "--input-type=module", "-e", script]
  const [missing, ...ids] = JSON.parse(execFileSync(process.execPath, words, { encoding: "utf8" }))
  assert.deepEqual(ids, [owner.uid, owner.uid])
  assert.match(missing.join(), /setpriv \(util-linux\) is not installed.*processes of uid 1000 on this machine can signal it/)
})

test("a worker that has all protections logs no warning", rootOnly, () => {
  assert.deepEqual(warnings, [])
})

test("the worker inherits nothing of the main process's environment", () => {
  const names = readFileSync(`/proc/${workerThere()}/environ`, "latin1")
    .split("\0")
    .map((entry) => entry.split("=")[0])
  assert.deepEqual(
    names.filter(
      (name) =>
        ![
          "LANG",
          "MALLOC_ARENA_MAX",
          "NODE_CHANNEL_FD",
          "NODE_CHANNEL_SERIALIZATION_MODE",
          "NODE_COMPILE_CACHE",
          "UV_THREADPOOL_SIZE",
          "UV_USE_IO_URING",
          "",
        ].includes(name ?? ""),
    ),
    [],
  )
})

test("the worker works below a directory that it could not enter", {
  skip: !asRoot && "a directory that its own user cannot enter keeps this process out, too",
}, async () => {
  await using hidden = await TestFilesServer.start({ runIn: "worker" })
  execFileSync("chmod", ["0700", hidden.folder])
  assert.equal((await hidden.ask("PUT", "/users/ann/f", { body: "x" })).status, 201)
  assert.equal((await hidden.ask("GET", "/users/ann/f")).text, "x")
  assert.equal(statSync(hidden.at("f")).uid, owner.uid)
})

test("`localhost` binds both loopback addresses", async () => {
  assert.deepEqual(
    server.files.addresses.map(({ host }) => host),
    ["127.0.0.1", "::1"],
  )
  for (const host of ["127.0.0.1", "[::1]"]) {
    const answer = await fetch(`http://${host}:${server.port}/`, { method: "OPTIONS", headers: { authorization: basic("ann") } })
    assert.equal(answer.status, 200)
  }
})

test("a worker's death loses no acknowledged upload, no connection attempt and no address", async () => {
  for (let round = 0; round < 3; round += 1) {
    const pid = workerThere()
    assert.equal((await server.ask("PUT", `/users/ann/r${round}`, { body: "kept" })).status, 201)
    process.kill(pid, "SIGKILL")
    // Sent while nobody accepts.
    assert.equal((await server.ask("GET", `/users/ann/r${round}`)).text, "kept")
    assert.notEqual(workerPid(), pid)
  }
  assert.ok(failures.length >= 3)
})

test("a worker that is killed during an upload leaves the old file, and its other files are swept", async () => {
  await server.ask("PUT", "/users/ann/f", { body: "old" })
  const upload = await server.raw()
  upload.write(`PUT /users/ann/f HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nContent-Length: 500000\r\n\r\n`)
  upload.write(Buffer.alloc(300_000))
  const started = () => server.unfinished().length > 0
  await eventually("the upload began", started)
  await kill(workerThere())
  await upload.end()
  assert.equal((await server.ask("GET", "/users/ann/f")).text, "old")
  await eventually("what was left is swept", () => workFolders().length === 1 && !started())
})

test("the worker without privileges deletes directories of mode 000", async () => {
  mkdirSync(server.at("closed/inner/more"), { recursive: true })
  execFileSync("sh", [
    "-c",
    `cd ${server.at()} && touch closed/inner/f && ${asRoot ? `chown -R ${owner.uid}:${owner.gid} closed && ` : ""}find closed -depth -exec chmod 000 {} ";"`,
  ])
  assert.equal((await server.ask("GET", "/users/ann/closed/inner/f")).status, 403)
  assert.equal((await server.ask("DELETE", "/users/ann/closed")).status, 204)
  await eventually("its space is free", () => server.unfinished().length === 0)
})

test("a failing authority is logged and hidden from the caller", async () => {
  const { identify } = server.authority
  server.authority.identify = async () => Promise.reject(new Error("the database's password is hunter2"))
  server.files.invalidate()
  const answer = await server.ask("GET", "/users/ann/f")
  server.authority.identify = identify
  assert.equal(answer.status, 503)
  assert.doesNotMatch(answer.text, /hunter2/)
})

test("a failing database returns 503 and does not fill the log", async () => {
  const { identify } = server.authority
  const before = failures.length
  server.authority.identify = async () => Promise.reject(new Failure("unavailable", "The database server cannot be reached"))
  server.files.invalidate()
  const answer = await server.ask("GET", "/users/ann/f")
  server.authority.identify = identify
  assert.equal(answer.status, 503)
  assert.deepEqual(failures.slice(before), [])
})

test("an invalidation reaches the worker", async () => {
  const ann = server.authority.people.get("ann")
  assert.equal((await server.ask("PUT", "/users/ann/i", { body: "x" })).status, 201)
  ann?.rights.delete("/users/ann")
  server.files.invalidate()
  await eventually("the right is gone", async () => (await server.ask("GET", "/users/ann/i")).status === 404)
  ann?.rights.set("/users/ann", "write")
  server.files.invalidate()
})

test("an address in use is reported by name", async () => {
  const occupied = createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => occupied.once("listening", resolve))
  const { port } = occupied.address() as { port: number }
  for (const where of ["worker", "in-process"] as const) {
    await assert.rejects(
      TestFilesServer.start({ runIn: where, listen: { host: "localhost", port } }),
      (error: NodeJS.ErrnoException) => error.code === "EADDRINUSE" && error.message.includes(String(port)),
    )
  }
  occupied.close()
})

test("an address that a killed predecessor's worker gives up in a moment is awaited", async () => {
  const predecessor = createServer().listen(0, "127.0.0.1")
  await new Promise((resolve) => predecessor.once("listening", resolve))
  const { port } = predecessor.address() as { port: number }
  const starting = TestFilesServer.start({ runIn: "worker", listen: { host: "127.0.0.1", port } })
  setTimeout(() => predecessor.close(), 100)
  await using started = await starting
  assert.equal((await started.ask("PUT", "/users/ann/there", { body: "x" })).status, 201)
})

test("a worker that cannot start reports why, and is not restarted", { skip: !asRoot && "only root is refused" }, async () => {
  await assert.rejects(TestFilesServer.start({ runIn: "worker", owner: { uid: 0, gid: 0 } }), /does not work as root/)
})

test("the server waits for its requests before it stops", async () => {
  const stopped = await TestFilesServer.start({ runIn: "worker" })
  const upload = await stopped.raw()
  upload.write(
    `PUT /users/ann/f HTTP/1.1\r\nHost: localhost\r\nAuthorization: ${basic("ann")}\r\nContent-Length: 10\r\nExpect: 100-continue\r\n\r\n`,
  )
  await upload.until("100 Continue")
  const end = stopped.files[Symbol.asyncDispose]()
  upload.write("0123456789")
  assert.match(await upload.until("201"), /201 Created/)
  await end
  assert.equal(readFileSync(stopped.at("f"), "utf8"), "0123456789")
  assert.deepEqual(readdirSync(join(stopped.root, ".quayside/work")), [])
  rmSync(stopped.folder, { recursive: true })
})

test("refusals reach the main process in batches, the last ones when the worker stops", async () => {
  const other = await TestFilesServer.start({ runIn: "worker" })
  const { refusals } = other.authority
  try {
    for (let i = 0; i < 40; i += 1) {
      assert.equal((await other.ask("GET", "/users/ann/x", { user: "ann:wrong" })).status, 401)
      assert.equal((await other.ask("GET", "/users/bob/x")).status, 404)
      assert.equal((await other.ask("DELETE", "/users/ann/")).status, 403)
    }
    assert.equal((await other.ask("GET", "/users/ann/none")).status, 404)
  } finally {
    await other[Symbol.asyncDispose]()
  }
  const counts = new Map<string, number>()
  for (const { userName, isWrite, code, count } of refusals) {
    const kind = `${userName} ${isWrite ? "writes" : "reads"} ${code}`
    counts.set(kind, (counts.get(kind) ?? 0) + count)
  }
  assert.deepEqual(Object.fromEntries(counts), {
    "undefined reads unauthorized": 40,
    "ann reads hidden": 40,
    "ann writes forbidden": 40,
  })
  assert.ok(refusals.length < 60, "not a message for each")
  assert.ok(refusals.every(({ address }) => address === "127.0.0.1"))
})

test("questions whether the worker lives leave nothing behind", async () => {
  const ask = async (times: number) => {
    for (let n = 0; n < times; n += 1) assert.ok((await server.files.health()).ok)
    return queryObjects(Promise, { format: "count" })
  }
  const early = await ask(20)
  const late = await ask(200)
  assert.ok(early > 0 && late - early < 100, `${early} promises after 20 questions, ${late} after 220`)
})
