import assert from "node:assert/strict"
import type { ServerResponse } from "node:http"
import { test } from "node:test"
import { bounds } from "#contract"
import { eventually } from "../../../test/fixtures/eventually.ts"
import type { Visitor } from "../run-directory.ts"
import { ann, aRunTarget, bob, GatewayFixture, TestProgram } from "../testing/gateway-fixture.ts"
import { startRawProgram } from "../testing/requests.ts"

/** Requests as this visitor, who may open the run. */
async function textFor(fixture: GatewayFixture, visitor: Visitor, { run = 1, path = "" } = {}): Promise<string> {
  const authorization = `Bearer ${visitor.userId}/${visitor.credentialId}`
  fixture.runs.tokens.set(authorization, visitor)
  fixture.runs.rights.add(`${visitor.userId} ${run}`)
  return (await fixture.ask(fixture.apps, `/run/${run}/${path}`, { headers: { authorization } })).text
}

function response(text: string): string {
  return `HTTP/1.1 200 OK\r\nKeep-Alive: timeout=60\r\nContent-Length: ${text.length}\r\n\r\n${text}`
}

test("a program's late response to one visitor reaches neither another one nor another credential", async () => {
  const visitors = new WeakMap<object, string>()
  await using program = await startRawProgram((socket, request) => {
    const [, name = ""] = /\?(\w+)/.exec(request) ?? []
    const earlier = visitors.get(socket)
    if (earlier !== undefined) socket.write(response(`the second response to ${earlier}`))
    visitors.set(socket, name)
    socket.write(response(name))
  })
  const { fixture } = program
  assert.equal(await textFor(fixture, { userId: 1, credentialId: "" }, { path: "?ann" }), "ann")
  assert.equal(await textFor(fixture, { userId: 2, credentialId: "" }, { path: "?bob" }), "bob")
  assert.equal(await textFor(fixture, { userId: 1, credentialId: "token:1" }, { path: "?script" }), "script")
})

test("each visitor's requests one after another use one connection to the program", async () => {
  await using fixture = await GatewayFixture.open()
  for (let i = 0; i < 5; i += 1) {
    await textFor(fixture, ann)
    await textFor(fixture, bob)
  }
  assert.equal(fixture.program.connections, 2)
})

/**
 * A program that responds to all requests at once, and keeps their connections. A request may name
 * another count, and `?late` is answered when the promise resolves.
 */
function aProgramThatWaitsFor(count: number, late?: Promise<void>): TestProgram {
  const waiting: ServerResponse[] = []
  const program = new TestProgram(({ url = "" }, answer) => {
    const respond = (to: ServerResponse) => to.writeHead(200, { "content-length": "2" }).end("ok")
    if (url.endsWith("?late")) return void late?.then(() => respond(answer))
    waiting.push(answer)
    if (waiting.length < Number(/\?(\d+)$/.exec(url)?.[1] ?? count)) return
    for (const each of waiting.splice(0)) respond(each)
  })
  program.server.keepAliveTimeout = 60_000
  return program
}

test("a run keeps few idle connections, whose visitors are the last ones", async () => {
  const max = bounds.gateway.idleConnections.value
  const program = aProgramThatWaitsFor(max)
  await using fixture = await GatewayFixture.open({ program })
  for (const visitor of [ann, bob]) await Promise.all(Array.from({ length: max }, () => textFor(fixture, visitor)))
  await eventually(`the program has ${max} connections`, () => program.sockets.size === max)
  await Promise.all(Array.from({ length: max }, () => textFor(fixture, bob)))
  assert.equal(program.connections, 2 * max)
})

test("a person keeps few idle connections to all runs", async () => {
  const max = bounds.gateway.idleConnectionsPerPerson.value
  const runs = max / 32 + 1
  const program = aProgramThatWaitsFor(32)
  await using fixture = await GatewayFixture.open({ program })
  for (let run = 2; run <= runs + 1; run += 1) await open32(fixture, run)
  await eventually(`the program has ${max} connections`, () => program.sockets.size === max)
  await Promise.all(Array.from({ length: 32 }, () => textFor(fixture, ann, { run: runs + 1 })))
  assert.equal(program.connections, runs * 32)
})

test("a connection that replaces its person's only one in a full run counts as theirs", async () => {
  const released = Promise.withResolvers<void>()
  const others = bounds.gateway.idleConnections.value - 1
  const program = aProgramThatWaitsFor(32, released.promise)
  await using fixture = await GatewayFixture.open({ program })
  const late = textFor(fixture, ann, { path: "?late" })
  await eventually("the program has ann's request", () => program.connections === 1)
  await textFor(fixture, ann, { path: "?1" })
  await Promise.all(Array.from({ length: others }, () => textFor(fixture, bob, { path: `?${others}` })))
  released.resolve()
  await late
  await eventually("the run has no room for ann's older connection", () => program.sockets.size === others + 1)
  const max = bounds.gateway.idleConnectionsPerPerson.value
  for (let run = 2; run <= max / 32 + 1; run += 1) await open32(fixture, run)
  await eventually(`ann has ${max} connections`, () => program.sockets.size === others + max)
})

/** Opens 32 connections of ann to another run of the same program. */
async function open32(fixture: GatewayFixture, run: number): Promise<void> {
  const key = `${run}`.padStart(32, "0")
  fixture.runs.targets.set(key, { ...aRunTarget(run, key), address: fixture.target.address })
  await Promise.all(Array.from({ length: 32 }, () => textFor(fixture, ann, { run })))
}
