import assert from "node:assert/strict"
import type { IncomingMessage } from "node:http"
import { test } from "node:test"
import { addressReader, hostName } from "./guard.ts"

function from(remoteAddress: string, forwarded?: string): IncomingMessage {
  return {
    socket: { remoteAddress },
    headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded },
  } as unknown as IncomingMessage
}

test("the peer's address counts, unless it is a trusted proxy's", () => {
  const read = addressReader(["10.0.0.0/8", "::1"])
  assert.equal(read(from("192.0.2.1", "203.0.113.9")), "192.0.2.1")
  assert.equal(read(from("::ffff:192.0.2.1", "203.0.113.9")), "192.0.2.1")
  assert.equal(read(from("10.1.2.3", "203.0.113.9")), "203.0.113.9")
  assert.equal(read(from("::ffff:10.1.2.3", "203.0.113.9")), "203.0.113.9")
  assert.equal(read(from("::1", "2001:db8::7")), "2001:db8::7")
  assert.equal(addressReader([])(from("127.0.0.1", "203.0.113.9")), "127.0.0.1")
})

test("of several hops the last one that no trusted proxy vouches for counts", () => {
  const read = addressReader(["10.0.0.0/8"])
  assert.equal(read(from("10.0.0.1", "198.51.100.1, 203.0.113.9, 10.0.0.2")), "203.0.113.9")
  assert.equal(read(from("10.0.0.1", "spoofed, 203.0.113.9")), "203.0.113.9")
  assert.equal(read(from("10.0.0.1", "not an address")), "10.0.0.1")
  assert.equal(read(from("10.0.0.1")), "10.0.0.1")
})

test("what is no proxy address is refused when it is set", () => {
  assert.throws(() => addressReader(["proxy.example"]), /address or a network/)
})

test("a host's name is read without port and brackets, or not at all", () => {
  assert.equal(hostName("Files.Example.com:8082"), "files.example.com")
  assert.equal(hostName("[::1]:80"), "::1")
  for (const bad of ["", "a@b", "a:b:c", "[::1", "a]"]) assert.equal(hostName(bad), "")
})
