import assert from "node:assert/strict"
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { test } from "node:test"
import { listeningPorts } from "./listening-ports.ts"

const id = "c".repeat(64)
const head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
const rest = "00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0\n"
const tcp = (n: number, local: string, state: string) => `   ${n}: ${local} 00000000:0000 ${state} ${rest}`
const tcp6 = (n: number, local: string, state: string) => `   ${n}: ${local} 00000000000000000000000000000000:0000 ${state} ${rest}`

async function withTables(tables: { tcp: string; tcp6?: string }, container = id) {
  const proc = await mkdtemp(join(tmpdir(), "quayside-proc-"))
  try {
    await mkdir(join(proc, "7", "net"), { recursive: true })
    await writeFile(join(proc, "7", "cgroup"), `0::/docker/${container}\n`)
    for (const [name, text] of Object.entries(tables)) await writeFile(join(proc, "7", "net", name), head + text)
    return await listeningPorts({ id, pid: 7 }, proc)
  } finally {
    await rm(proc, { recursive: true })
  }
}

test("listening ports of both families are returned, with whether only the container itself reaches them", async () => {
  const ipv4 = tcp(0, "00000000:0BB8", "0A") + tcp(1, "0100007F:1F40", "0A") + tcp(2, "0B00007F:A001", "0A") + tcp(3, "0500D50A:0051", "01")
  const ipv6 = tcp6(0, "00000000000000000000000000000000:22B8", "0A") + tcp6(1, "00000000000000000000000001000000:0050", "0A")
  assert.deepEqual(await withTables({ tcp: ipv4, tcp6: ipv6 }), [
    { port: 80, isLocal: true },
    { port: 3000, isLocal: false },
    { port: 8000, isLocal: true },
    { port: 8888, isLocal: false },
  ])
  const both = await withTables({ tcp: tcp(0, "0100007F:1F40", "0A"), tcp6: tcp6(0, "00000000000000000000000000000000:1F40", "0A") })
  assert.deepEqual(both, [{ port: 8000, isLocal: false }])
})

test("without IPv6 the ports of IPv4 are returned", async () => {
  assert.deepEqual(await withTables({ tcp: tcp(0, "00000000:0BB8", "0A") }), [{ port: 3000, isLocal: false }])
})

test("the process of another container, or none, has no known ports", async () => {
  assert.equal(await withTables({ tcp: tcp(0, "00000000:0BB8", "0A") }, "d".repeat(64)), undefined)
  assert.equal(await listeningPorts({ id, pid: 0 }), undefined)
  assert.equal(await listeningPorts({ id, pid: 2 ** 31 - 1 }), undefined)
})
