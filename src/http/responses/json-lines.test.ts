import assert from "node:assert/strict"
import { once } from "node:events"
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import { test } from "node:test"
import { queryObjects } from "node:v8"
import { countTurns } from "../../../test/fixtures/turns.ts"
import { sendJsonLines } from "./json-lines.ts"

/** Promises that something still refers to. */
const livingPromises = () => queryObjects(Promise, { format: "count" })

test("a long response keeps nothing of its waits for the reader", async (t) => {
  const server = createServer().listen(0, "127.0.0.1")
  t.after(() => server.close())
  await once(server, "listening")
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1", agent: false })
  const [, response] = (await once(server, "request")) as [unknown, ServerResponse]
  const text = "x".repeat(50_000)
  const counts: number[] = []
  async function* lines() {
    for (let i = 0; i < 1_200; i += 1) {
      if (i === 200 || i === 1_199) counts.push(livingPromises())
      yield { text }
    }
  }
  const sent = sendJsonLines(response, lines(), { signal: new AbortController().signal, requestId: "r", userId: 7, isLive: true })
  const [answer] = (await once(request, "response")) as [IncomingMessage]
  let bytes = 0
  for await (const chunk of answer) bytes += (chunk as Buffer).length
  await sent
  assert.equal(bytes, 1_200 * JSON.stringify({ text }).length + 1_200)
  const [before = 0, after = 0] = counts
  assert.ok(after - before < 100, `hundreds of waits left ${after - before} promises`)
})

test("the lines of one person's responses use a part of each turn of the event loop", async (t) => {
  const counted = countTurns(t, 7)
  const server = createServer().listen(0, "127.0.0.1")
  t.after(() => server.close())
  await once(server, "listening")
  const text = "x".repeat(10_000)
  async function* lines() {
    for (let i = 0; i < 200; i += 1) yield { text }
  }
  const options = { signal: new AbortController().signal, requestId: "r", userId: 7, isLive: true }
  server.on("request", (_request, response) => void sendJsonLines(response, lines(), options))
  await Promise.all(
    Array.from({ length: 10 }, async () => {
      const answer = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
      await answer.arrayBuffer()
    }),
  )
  counted.assertMoved(10 * 200 * text.length)
})
