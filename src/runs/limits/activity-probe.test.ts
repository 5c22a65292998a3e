import assert from "node:assert/strict"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { test } from "node:test"
import { silentLogger, systemClock } from "#kit"
import type { RunRow } from "#store"
import { probeIdleMs } from "./activity-probe.ts"

const programs = 20

test("the lists of kernels of one person's programs are parsed in turns of their own, however many come at once", async (t) => {
  const list = `[${Array.from({ length: 500 }, () => '{"execution_state":"idle"}').join()}]`
  const waiting: (() => void)[] = []
  await using server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.once("data", () => {
      waiting.push(() => socket.end(`HTTP/1.0 200 OK\r\n\r\n${list}`))
      if (waiting.length === programs) for (const answer of waiting) answer()
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port }
  const ctx = { clock: systemClock, logger: silentLogger, runCache: { target: () => ({ address }) } }
  const run = { id: 1, userId: 1, spec: { type: "jupyterlab", secret: "" } } as RunRow
  let turn = 0
  const count = () => {
    turn += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const turns: number[] = []
  const parse = JSON.parse
  t.mock.method(JSON, "parse", (text: string) => {
    turns.push(turn)
    return parse(text)
  })
  const idle = await Promise.all(Array.from({ length: programs }, () => probeIdleMs(ctx, run)))
  clearImmediate(counting)
  assert.deepEqual(new Set(idle), new Set([Number.POSITIVE_INFINITY]))
  assert.equal(turns.length, programs)
  assert.equal(new Set(turns).size, programs)
})

test("a program whose list of kernels is too long counts as working", async () => {
  await using server = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => {})
    socket.once("data", () => socket.end(`HTTP/1.0 200 OK\r\n\r\n[${" ".repeat(2 ** 18)}]`))
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const address = { host: "127.0.0.1", port: (server.address() as AddressInfo).port }
  const ctx = { clock: systemClock, logger: silentLogger, runCache: { target: () => ({ address }) } }
  const run = { id: 1, userId: 1, spec: { type: "jupyterlab", secret: "" } } as RunRow
  assert.equal(await probeIdleMs(ctx, run), undefined)
})
