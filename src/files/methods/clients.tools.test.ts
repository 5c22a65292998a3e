import assert from "node:assert/strict"
import { execFile, execFileSync, spawnSync } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { after, before, test } from "node:test"
import { promisify } from "node:util"
import { TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

/* The programs that people use. Debian packages: litmus, cadaver, curl, rclone, davfs2. */

const run = promisify(execFile)
const has = (program: string) => spawnSync("sh", ["-c", `command -v ${program}`]).status === 0
const missing = (program: string) => !has(program) && `${program} is not installed`

let server: TestFilesServer
let home: string
before(async () => {
  server = await TestFilesServer.start({ runIn: "worker" })
  home = join(server.folder, "client")
  mkdirSync(home)
})
after(() => server[Symbol.asyncDispose]())

/** A small tree with names that need care. */
function sample(name: string): string {
  const folder = join(home, name)
  mkdirSync(join(folder, "sub/deeper"), { recursive: true })
  for (const [i, file] of ["plain.txt", "with space.bin", "ü#?%&+.csv", "sub/🙂", "sub/deeper/big", "empty"].entries()) {
    writeFileSync(join(folder, file), Buffer.alloc(file === "empty" ? 0 : 10 ** (i + 1), file))
  }
  return folder
}

function assertSame(one: string, other: string): void {
  execFileSync("diff", ["-r", one, other], { stdio: "pipe" })
}

test("litmus finds no deviation from RFC 4918", { skip: missing("litmus") }, async () => {
  const { stdout } = await run("litmus", [`${server.url}/users/ann/`, "ann", "right"], { cwd: home }).catch((error) => error)
  const summaries = [...stdout.matchAll(/`(\w+)': of (\d+) tests run: (\d+) passed, (\d+) failed/g)].map(([, name, of, passed]) => [
    name,
    of,
    passed,
  ])
  assert.deepEqual(summaries, [
    ["basic", "16", "16"],
    ["copymove", "13", "13"],
    ["props", "30", "30"],
    ["locks", "41", "41"],
    ["http", "4", "4"],
  ])
  assert.doesNotMatch(stdout, /WARNING/)
})

test("rclone synchronizes, checks, moves and purges", { skip: missing("rclone") }, async () => {
  const source = sample("rclone")
  const config = join(home, "rclone.conf")
  const rclone = (...args: string[]) => run("rclone", ["--config", config, ...args])
  writeFileSync(config, "")
  await rclone("config", "create", "q", "webdav", `url=${server.url}/users/ann`, "vendor=other", "user=ann", "pass=right", "--obscure")
  await rclone("sync", source, "q:rclone")
  assertSame(source, server.at("rclone"))
  await rclone("check", source, "q:rclone", "--download")
  await rclone("copy", "q:rclone", "q:copied")
  assertSame(source, server.at("copied"))
  await rclone("moveto", "q:copied", "q:moved")
  assert.equal(existsSync(server.at("copied")), false)
  await rclone("copy", "q:moved", join(home, "back"))
  assertSame(source, join(home, "back"))
  await rclone("purge", "q:moved")
  assert.equal(existsSync(server.at("moved")), false)
  assert.match((await rclone("about", "q:")).stdout, /Free:/)
})

test("rclone preserves modification times when configured to", { skip: missing("rclone") }, async () => {
  const source = sample("times")
  const config = join(home, "times.conf")
  writeFileSync(config, "")
  const rclone = (...args: string[]) => run("rclone", ["--config", config, ...args])
  await rclone("config", "create", "q", "webdav", `url=${server.url}/users/ann`, "vendor=owncloud", "user=ann", "pass=right", "--obscure")
  utimesSync(join(source, "plain.txt"), 1_234_567_890, 1_234_567_890)
  await rclone("sync", source, "q:times")
  assert.equal(statSync(server.at("times/plain.txt")).mtimeMs, 1_234_567_890_000)
  const { stderr } = await rclone("sync", source, "q:times", "--verbose")
  assert.match(stderr, /There was nothing to transfer/)
})

test("cadaver stores, lists, locks, describes, moves and deletes", { skip: missing("cadaver") }, async () => {
  const source = sample("cadaver")
  writeFileSync(join(home, ".netrc"), "machine 127.0.0.1 login ann password right\n")
  const script = `open ${server.url}/users/ann/
mkcol cad
cd cad
put ${source}/sub/deeper/big
copy big big2
lock big2
discover big2
propset big2 color blue
propget big2 color
unlock big2
move big2 big3
get big3 ${home}/got
delete big
ls
quit
`
  const cadaver = run("cadaver", { env: { ...process.env, HOME: home }, cwd: home })
  cadaver.child.stdin?.end(script)
  const { stdout } = await cadaver
  assert.doesNotMatch(stdout, /failed/i)
  assert.match(stdout, /Value of color is: blue/)
  assertSame(join(home, "got"), join(source, "sub/deeper/big"))
  assert.deepEqual(readdirSync(server.at("cad")), ["big3"])
})

test("curl puts, gets a part, resumes and deletes", { skip: missing("curl") }, async () => {
  const file = join(sample("curl"), "sub/deeper/big")
  const curl = (...args: string[]) => run("curl", ["-sS", "--fail", "-u", "ann:right", ...args])
  await curl("-T", file, `${server.url}/users/ann/curl.bin`)
  assertSame(file, server.at("curl.bin"))
  assert.equal((await curl("-r", "0-2", `${server.url}/users/ann/curl.bin`)).stdout, "sub")
  writeFileSync(join(home, "part"), readFileSync(file).subarray(0, 1234))
  await curl("-C", "-", "-o", join(home, "part"), `${server.url}/users/ann/curl.bin`)
  assertSame(file, join(home, "part"))
  await curl("-X", "DELETE", `${server.url}/users/ann/curl.bin`)
  await assert.rejects(curl(`${server.url}/users/ann/curl.bin`), /404/)
})

test("davfs2 mounts it as a file system", {
  skip: missing("mount.davfs") || (!existsSync("/dev/fuse") && "there is no /dev/fuse"),
}, async () => {
  const source = sample("davfs")
  const at = join(home, "mnt")
  mkdirSync(at)
  const address = `${server.url}/users/ann`
  const config = join(home, "davfs2.conf")
  writeFileSync(join(home, "secrets"), `${address} ann right\n`, { mode: 0o600 })
  writeFileSync(config, `secrets ${home}/secrets\nask_auth 0\nuse_locks 1\ndelay_upload 0\n`, { mode: 0o600 })
  chownSync(config, 0, 0)
  await run("mount", ["-t", "davfs", "-o", `conf=${config}`, address, at])
  try {
    await run("cp", ["-r", source, join(at, "dav")])
    await run("mv", [join(at, "dav/plain.txt"), join(at, "dav/sub/renamed.txt")])
    assertSame(join(source, "plain.txt"), join(at, "dav/sub/renamed.txt"))
  } finally {
    // It ends when all that was written has been sent.
    await run("umount", [at])
  }
  await run("mv", [join(source, "plain.txt"), join(source, "sub/renamed.txt")])
  assertSame(source, server.at("dav"))
})
