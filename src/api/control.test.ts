import assert from "node:assert/strict"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"
import { test } from "node:test"
import { AllowedHosts, PersonLimiter, TrustedProxies } from "#http"
import { currentReader } from "#store"
import type { ServerState, Services } from "./context.ts"
import { controlUpgrades } from "./control.ts"
import { FairReads } from "./http/fair-reads.ts"

test("the run of a control connection is read as its person, few at a time", async () => {
  const readers: unknown[] = []
  const gate = Promise.withResolvers<undefined>()
  const get = async () => {
    readers.push(currentReader())
    return gate.promise
  }
  const caller = { userId: 7, userName: "eve", isAdmin: false, groupIds: [], scopes: ["read", "write"], credential: { kind: "token" } }
  const services = {
    identity: { authenticate: async () => caller },
    settings: { secureCookies: false, origin: undefined },
    store: { runs: { get }, projects: { part: async () => undefined }, grants: { accessFor: async () => [] } },
    events: { requestRefused() {} },
  } as unknown as Services
  const reads = new FairReads(new PersonLimiter({ maxRunning: 2, maxWaiting: 10, message: String }))
  const [hosts, proxies] = [new AllowedHosts([]), new TrustedProxies([])]
  const { handle } = controlUpgrades(services, { hosts, proxies, state: () => ({ reads }) as unknown as ServerState })
  for (let i = 0; i < 5; i += 1) {
    const socket = new Socket()
    const request = { method: "GET", url: "/control?ID=1", headers: { host: "localhost" }, rawHeaders: ["Host", "localhost"], socket }
    const response = { destroyed: true } as ServerResponse
    handle({ request: request as unknown as IncomingMessage, response, release() {}, socket, head: Buffer.alloc(0) })
  }
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(readers, [7, 7])
  gate.resolve(undefined)
  await new Promise((resolve) => setTimeout(resolve, 50))
  assert.deepEqual(readers, [7, 7, 7, 7, 7])
})

test("a control connection with two `Authorization` headers is refused, since only one of them would count", async () => {
  const authenticate = async () => assert.fail("one of them was taken")
  const codes: string[] = []
  const services = {
    identity: { authenticate },
    settings: { secureCookies: false },
    events: { requestRefused: (_: unknown, _action: string, { code }: { code: string }) => codes.push(code) },
  } as unknown as Services
  const { handle } = controlUpgrades(services, {
    ...{ hosts: new AllowedHosts([]), proxies: new TrustedProxies([]), state: () => assert.fail() },
  })
  const rawHeaders = ["Host", "localhost", "Authorization", "Bearer a", "authorization", "Bearer b"]
  const request = { method: "GET", url: "/control?ID=1", headers: { host: "localhost" }, rawHeaders, socket: new Socket() }
  const response = { destroyed: true } as ServerResponse
  handle({ request: request as unknown as IncomingMessage, response, release() {}, socket: new Socket(), head: Buffer.alloc(0) })
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(codes, ["unauthorized"])
})
