import assert from "node:assert/strict"
import { execFileSync } from "node:child_process"
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { test } from "node:test"
import { eventually } from "../../../test/fixtures/eventually.ts"
import { basic, owner, TestFilesServer } from "../../../test/fixtures/files/files-server.ts"

const entries = 1_000_000

/** Resident memory of the worker, in MiB. */
function workerMemory(): number {
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, "utf8").trim().split(" ")
  const worker = children.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("files/process/worker."))
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${worker}/status`, "utf8"))?.[1]) / 1024
}

test("a directory of a million entries is listed and deleted within bounded memory and without delaying others", async () => {
  await using server = await TestFilesServer.start({
    runIn: "worker",
    prepare: (root) => {
      execFileSync("mount", ["-t", "tmpfs", "-o", `size=4g,nr_inodes=0,uid=${owner.uid},gid=${owner.gid}`, "tmpfs", root])
      return () => void execFileSync("umount", ["-l", root])
    },
  })
  mkdirSync(server.at("many"))
  chownSync(server.at("many"), owner.uid, owner.gid)
  for (let i = 0; i < entries; i += 1) writeFileSync(server.at("many", String(i)), "")
  await server.ask("PUT", "/users/ann/small", { body: "x" })
  const before = workerMemory()
  const others = readingBeside(server)
  assert.equal(await countEntries(server), entries + 1)
  const most = await others.stop()
  assert.ok(workerMemory() - before < 150, `${before} MiB became ${workerMemory()}`)
  assert.ok(most.reads > 10, `only ${most.reads} others were served meanwhile`)
  assert.equal((await server.ask("PROPFIND", "/users/ann/many", { headers: { depth: "infinity" } })).status, 403)
  assert.equal((await server.ask("DELETE", "/users/ann/many")).status, 204)
  assert.equal(existsSync(server.at("many")), false)
  await eventually("all of it is gone", () => server.unfinished().length === 0)
})

/** Reads a small file again and again, to see that it goes on. */
function readingBeside(server: TestFilesServer): { stop(): Promise<{ reads: number }> } {
  let reads = 0
  let stopped = false
  const loop = (async () => {
    while (!stopped) {
      assert.equal((await server.ask("GET", "/users/ann/small")).text, "x")
      reads += 1
    }
  })()
  return {
    stop: async () => {
      stopped = true
      await loop
      return { reads }
    },
  }
}

function countEntries(server: TestFilesServer): Promise<number> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: basic("ann"), depth: "1" }
    const sent = request(
      { host: "127.0.0.1", port: server.port, method: "PROPFIND", path: "/users/ann/many/", headers, agent: false },
      (answer) => {
        let count = 0
        let rest = ""
        answer.setEncoding("latin1")
        answer.on("data", (text: string) => {
          const parts = (rest + text).split("</D:response>")
          rest = parts.pop() ?? ""
          count += parts.length
        })
        answer.on("end", () => resolve(count))
        answer.on("error", reject)
      },
    )
    const body = '<propfind xmlns="DAV:"><prop><getcontentlength/><getlastmodified/></prop></propfind>'
    sent.on("error", reject).end(body)
  })
}
