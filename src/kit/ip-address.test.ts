import assert from "node:assert/strict"
import { test } from "node:test"
import { networkOf } from "./ip-address.ts"

test("networkOf returns the /64 of an IPv6 address, and the IPv4 address of a mapped one", () => {
  assert.equal(networkOf("::ffff:10.0.0.1"), "10.0.0.1")
  assert.equal(networkOf("10.0.0.1"), "10.0.0.1")
  assert.equal(networkOf("2001:db8:1:2::1"), networkOf("2001:0DB8:1:2:ffff::9"))
  assert.notEqual(networkOf("2001:db8:1:2::1"), networkOf("2001:db8:1:3::1"))
  assert.equal(networkOf("fe80::1%eth0"), networkOf("fe80::2"))
  assert.equal(networkOf("::1"), "0:0:0:0::/64")
})
