import assert from "node:assert/strict"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { Yielder } from "#kit"
import { eventually } from "../../../../test/fixtures/eventually.ts"
import { examine, sumOfDevice } from "./deleted-files.ts"

const mib = 2 ** 20

test("thousands of descriptors of deleted files are summed in slices, each file of the device once", async (t) => {
  const pauses = t.mock.method(Yielder.prototype, "pause")
  const lines = Array.from({ length: 10_000 }, (_, i) => `${i % 2} ${i % 100} 8\n`)
  assert.equal(await sumOfDevice("0", lines.join("")), 50 * 8 * 512)
  assert.ok(pauses.mock.callCount() > 10)
  assert.equal(await sumOfDevice("0", ""), 0)
})

test("a deleted file without content counts as an entry, since it uses an inode", async () => {
  assert.equal(await sumOfDevice("0", "0 1 0\n0 2 8\n"), 1_024 + 4_096)
})

/** Starts a program that holds a deleted file of 3 MiB, and then prints what `script` prints. */
async function withHolder(script: string, work: (held: { device: string; pid: string; printed: string }) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), "quayside-deleted-"))
  const path = JSON.stringify(join(folder, "file"))
  const hold = `const fs = require("node:fs"), file = fs.openSync(${path}, "w+"); fs.writeSync(file, Buffer.alloc(${3 * mib}, 1)); fs.unlinkSync(${path})`
  const words = ["--disable-warning=ExperimentalWarning", "-e", `${hold}; ${script}`]
  const child = spawn(process.execPath, words, { stdio: ["ignore", "pipe", "inherit"] })
  try {
    const [printed] = (await once(child.stdout, "data")) as [Buffer]
    const device = String(statSync(folder, { bigint: true }).dev)
    await work({ device, pid: String(child.pid), printed: printed.toString().trim() })
  } finally {
    child.kill("SIGKILL")
    rmSync(folder, { recursive: true })
  }
}

test("a deleted file counts that a program has open whose first thread ended", async () => {
  const endThread = `new (require("node:worker_threads").Worker)("setInterval(() => {}, 1e6)", { eval: true }).on("online", () => {
    const { functions } = process.getBuiltinModule("node:ffi").dlopen(null, { pthread_exit: { return: "void", arguments: ["int64"] } })
    fs.writeSync(1, "ready")
    functions.pthread_exit(0n)
  })`
  await withHolder(endThread, async ({ device, pid }) => {
    await eventually("the thread has ended", () => /^State:\tZ/m.test(readFileSync(`/proc/${pid}/status`, "utf8")))
    assert.equal(await examine([pid], { device, countsSentFiles: false }), 3 * mib)
  })
})

test("a program cannot be examined while files that it sent wait in a socket, and others can", async () => {
  const send = `const other = require("node:child_process").spawn("sleep", ["1000"], { stdio: ["ignore", "ignore", "ignore", "ipc"] })
    const server = require("node:net").createServer().listen(0, "127.0.0.1", () => other.send({}, server, () => {}))
    setTimeout(() => fs.writeSync(1, String(other.pid)), 200)`
  await withHolder(send, async ({ device, pid, printed }) => {
    try {
      assert.equal(await examine([pid, printed], { device, countsSentFiles: true }), Number.POSITIVE_INFINITY)
      assert.equal(await examine([pid, printed], { device, countsSentFiles: false }), 3 * mib)
      assert.equal(await examine([pid], { device, countsSentFiles: true }), 3 * mib)
    } finally {
      process.kill(Number(printed), "SIGKILL")
    }
  })
})
