import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import { test } from "node:test"
import { isAddressOrNetwork } from "#kit"
import { TrustedProxies } from "./trusted-proxies.ts"

function from(remoteAddress: string, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage
}

function reader(trusted: readonly string[]): (request: IncomingMessage) => string {
  const proxies = new TrustedProxies(trusted)
  return (request) => proxies.clientAddress(request)
}

test("the peer's address counts, unless it is a trusted proxy's", () => {
  const read = reader(["10.0.0.0/8", "::1"])
  assert.equal(read(from("192.0.2.1", "203.0.113.9")), "192.0.2.1")
  assert.equal(read(from("::ffff:192.0.2.1", "203.0.113.9")), "192.0.2.1")
  assert.equal(read(from("10.1.2.3", "203.0.113.9")), "203.0.113.9")
  assert.equal(read(from("::ffff:10.1.2.3", "203.0.113.9")), "203.0.113.9")
  assert.equal(read(from("::1", "2001:db8::7")), "2001:db8::7")
  assert.equal(new TrustedProxies([]).clientAddress(from("127.0.0.1", "203.0.113.9")), "127.0.0.1")
})

test("of several hops the last untrusted one counts", () => {
  const read = reader(["10.0.0.0/8"])
  assert.equal(read(from("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2")), "203.0.113.9")
  assert.equal(read(from("10.0.0.1", "spoofed, 203.0.113.9")), "203.0.113.9")
  assert.equal(read(from("10.0.0.1", "not an address")), "10.0.0.1")
  assert.equal(read(from("10.0.0.1")), "10.0.0.1")
  assert.equal(read(from("10.0.0.1", "10.0.0.3, 10.0.0.2")), "10.0.0.3")
})

test("`forwardedFor` returns the addresses from trusted proxies, and the peer's", () => {
  const proxies = new TrustedProxies(["10.0.0.0/8"])
  assert.equal(proxies.forwardedFor(from("10.0.0.1", "spoofed, 203.0.113.9, 10.0.0.2")), "203.0.113.9, 10.0.0.2, 10.0.0.1")
  assert.equal(proxies.forwardedFor(from("10.0.0.1", "192.0.2.7, 203.0.113.9, 10.0.0.2")), "203.0.113.9, 10.0.0.2, 10.0.0.1")
  assert.equal(proxies.forwardedFor(from("192.0.2.1", "203.0.113.9")), "192.0.2.1")
  assert.equal(new TrustedProxies([]).forwardedFor(from("127.0.0.1", "203.0.113.9")), "127.0.0.1")
})

test("an entry that is neither an address nor a network is rejected", () => {
  for (const entry of ["proxy.example", "10.0.0.0/33", "::1/129", "10.0.0.0/8/8", "10.0.0.0/", ""]) {
    assert.equal(isAddressOrNetwork(entry), false, entry)
    assert.throws(() => new TrustedProxies([entry]), /address or a network/)
  }
  for (const entry of ["10.0.0.1", "10.0.0.0/8", "::1", "2001:db8::/32"]) assert.ok(isAddressOrNetwork(entry), entry)
})
