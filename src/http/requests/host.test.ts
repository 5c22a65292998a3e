import assert from "node:assert/strict"
import { test } from "node:test"
import { AllowedHosts, hostName, isLoopbackName, originOfHost } from "./host.ts"

test("`hostName` returns the name without its port, or nothing", () => {
  assert.equal(hostName("Files.Example.com:8082"), "files.example.com")
  assert.equal(hostName("[::1]:80"), "[::1]")
  for (const bad of ["", "a@b", "a:b:c", "[::1", "a]", "a b", "a/b", ":80"]) assert.equal(hostName(bad), "", bad)
})

test("an origin has neither capitals nor the scheme's own port", () => {
  for (const [protocol, host, origin] of [
    ["http:", "A.example:8080", "http://a.example:8080"],
    ["http:", "a.example:80", "http://a.example"],
    ["http:", "a.example:", "http://a.example"],
    ["http:", "[::1]:443", "http://[::1]:443"],
    ["https:", "[::1]:443", "https://[::1]"],
    ["https:", "a.example:80", "https://a.example:80"],
  ] as const)
    assert.equal(originOfHost(protocol, host), origin)
})

test("loopback names are localhost and the loopback addresses", () => {
  for (const name of ["localhost", "127.0.0.1", "127.9.9.9", "[::1]"]) assert.ok(isLoopbackName(name), name)
  for (const name of ["", "localhost.example", "127.0.0.1.example", "128.0.0.1", "[::2]"]) assert.ok(!isLoopbackName(name), name)
})

test("`AllowedHosts` has its own names and the loopback ones, on any port", () => {
  const hosts = new AllowedHosts(["quayside.example"])
  for (const host of ["quayside.example", "Quayside.Example:8080", "localhost:1", "[::1]:8080"]) {
    assert.ok(hosts.has(host), host)
    assert.ok(hosts.has(host), `${host}, again`)
  }
  for (const host of ["", "example", "evil.example", "quayside.example.evil", "quayside.example:port"]) assert.ok(!hosts.has(host), host)
})
