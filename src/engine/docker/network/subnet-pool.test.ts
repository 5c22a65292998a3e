import assert from "node:assert/strict"
import { test } from "node:test"
import { formatAddress, formatSubnet, isNetworkPool, isSubnet, SubnetPool } from "./subnet-pool.ts"

test("a network is an address, or one whose prefix covers all its bits", () => {
  for (const text of ["10.0.0.0/8", "10.1.2.3", "0.0.0.0/0", "255.255.255.255/32"]) assert.ok(isSubnet(text), text)
  for (const text of ["10.0.0.1/8", "10.0.0/8", "10.0.0.256", "10.0.0.0/33", "::1", "", "10.0.0.0/8 "]) assert.ok(!isSubnet(text), text)
})

test("a pool has a prefix of 8 to 24 bits", () => {
  assert.ok(isNetworkPool("10.0.0.0/8") && isNetworkPool("10.1.1.0/24"))
  for (const text of ["0.0.0.0/0", "10.1.1.0/25", "nonsense"]) {
    assert.ok(!isNetworkPool(text))
    assert.throws(() => new SubnetPool(text), TypeError)
  }
})

test("a pool is cut into networks of 32 addresses, beyond 2^31 as well", () => {
  const pool = new SubnetPool("10.213.0.0/16")
  assert.equal(pool.size, 2_048)
  assert.deepEqual(
    [0, 9, 2_047].map((number) => formatSubnet(pool.at(number))),
    ["10.213.0.0/27", "10.213.1.32/27", "10.213.255.224/27"],
  )
  assert.equal(formatAddress(new SubnetPool("192.168.0.0/24").at(7).first), "192.168.0.224")
})

test("a pool picks each network once, from any first one, and none when all are taken", () => {
  const pool = new SubnetPool("10.0.0.0/24")
  const used = new Set<number>()
  for (;;) {
    const number = pool.pick(
      (each) => used.has(each),
      () => 0.9,
    )
    if (number === undefined) break
    assert.ok(!used.has(number))
    used.add(number)
  }
  assert.equal(used.size, 8)
})
