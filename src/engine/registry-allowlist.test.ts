import assert from "node:assert/strict"
import { networkInterfaces } from "node:os"
import { test } from "node:test"
import { normalizeOciReference } from "#contract"
import { isRegistryPattern, RegistryAllowlist } from "./registry-allowlist.ts"

function hostOf(image: string): { host: string } {
  const reference = normalizeOciReference(image)
  assert.ok(reference, image)
  return reference
}

const allowed = ["public"]

test("only well-known registries are allowed by default, and the refusal says how to add one", async () => {
  const registries = new RegistryAllowlist()
  for (const host of ["docker.io", "ghcr.io", "europe-docker.pkg.dev", "eu.gcr.io", "nvcr.io", "quay.io"])
    assert.equal(registries.denialReason({ host }), undefined, host)
  for (const host of ["registry.example.org", "ghcr.io:444", "pkg.dev", "ghcr.io.example.org", "127.0.0.1:5000"])
    assert.match(
      registries.denialReason({ host }) ?? "",
      /not among the registries .*; an administrator can add .* to QUAYSIDE_REGISTRIES$/,
      host,
    )
  await assert.rejects(registries.check({ host: "registry.example.org" }), { code: "image_pull_denied", hint: /allow this one/ })
})

test("with `public`, all public names are allowed, and no others", () => {
  const registries = new RegistryAllowlist({ allowed })
  for (const image of ["debian", "team/x:1", "ghcr.io/team/x", "registry.gitlab.com:5050/team/x", "GHCR.io/team/x"])
    assert.equal(registries.denialReason(hostOf(image)), undefined, image)
  const literals = [
    "127.0.0.1/x",
    "127.0.0.1:5000/x",
    "10.1:80/x",
    "192.168.0.1/x",
    "8.8.8.8/x",
    "[::1]/x",
    "[2001:db8::1]:5000/x",
    "0x7f.1/x",
    "a.0x7f000001/x",
  ]
  const names = [
    "localhost/x",
    "localhost:5000/x",
    "registry:5000/x",
    "registry.local/x",
    "db.internal:5432/x",
    "router.lan/x",
    "a.localhost/x",
    "x.home.arpa/y",
  ]
  for (const image of [...literals, ...names]) assert.match(registries.denialReason(hostOf(image)) ?? "", /neither a public name/, image)
})

test("a listed registry is allowed at any address, and no other one without `public`", async () => {
  const lookup = async () => ["10.0.0.1"]
  const registries = new RegistryAllowlist({
    allowed: ["ghcr.io", "registry.lan:5000", "127.0.0.1:*", "*.example.com", "[::1]:5000"],
    lookup,
  })
  for (const image of [
    "ghcr.io/x",
    "registry.lan:5000/x",
    "127.0.0.1/x",
    "127.0.0.1:99/x",
    "a.example.com/x",
    "a.b.example.com/x",
    "[::1]:5000/x",
  ])
    await registries.check(hostOf(image))
  for (const image of [
    "debian",
    "ghcr.io:444/x",
    "registry.lan/x",
    "registry.lan:5001/x",
    "example.com/x",
    "badexample.com/x",
    "[::1]:5001/x",
  ])
    await assert.rejects(registries.check(hostOf(image)), { code: "image_pull_denied", message: /not among the registries/ }, image)
})

test("a public name with any private address is rejected", async () => {
  const inside =
    "127.0.0.1 10.9.8.7 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 255.255.255.255 ::1 :: fe80::1 fd00::1 ::ffff:10.0.0.1 64:ff9b::a00:1 2002:a00:1::1 ff02::1"
  const own = Object.values(networkInterfaces()).flatMap((each) => each?.map(({ address }) => address) ?? [])
  for (const address of [...inside.split(" "), ...own]) {
    const registries = new RegistryAllowlist({ allowed, lookup: async () => ["93.184.216.34", address] })
    await assert.rejects(registries.check(hostOf("rebind.quayside.dev/x")), { code: "image_pull_denied", message: /not public/ }, address)
  }
  const registries = new RegistryAllowlist({ allowed, lookup: async () => ["93.184.216.34", "2606:2800:220:1::1"] })
  await registries.check(hostOf("fine.quayside.dev/x"))
})

test("an unknown name is an error of its own, and the default registry is not looked up", async () => {
  const lookup = async () => {
    throw new Error("ENOTFOUND")
  }
  const registries = new RegistryAllowlist({ allowed, lookup })
  await assert.rejects(registries.check(hostOf("nowhere.quayside.dev/x")), { code: "image_pull_failed", message: /cannot be resolved/ })
  await registries.check(hostOf("debian"))
})

test("patterns are hosts, with a port or any, domains, and `public`", () => {
  for (const entry of ["public", "docker.io", "ghcr.io:444", "x:*", "*.example.com", "[::1]:5000", "localhost"])
    assert.ok(isRegistryPattern(entry), entry)
  for (const entry of ["*", "", "https://ghcr.io", "ghcr.io/team", "a b", "*.*.com", "x:99999999", "-x"])
    assert.ok(!isRegistryPattern(entry), entry)
})

test("a lookup without an answer times out and blocks no other", async () => {
  const pending: (() => void)[] = []
  const lookup = (name: string) =>
    name === "fine.quayside.dev" ? Promise.resolve(["93.184.216.34"]) : new Promise<string[]>((resolve) => pending.push(() => resolve([])))
  const registries = new RegistryAllowlist({ allowed, lookup, timeoutMs: 5 })
  const alive = setInterval(() => {}, 1_000)
  await assert.rejects(registries.check(hostOf("silent.quayside.dev/x")), { code: "image_pull_failed" })
  await assert.rejects(registries.check(hostOf("silent2.quayside.dev/x")), { code: "image_pull_failed" })
  await assert.rejects(registries.check(hostOf("fine.quayside.dev/x")), { code: "image_pull_failed" }, "two lookups at a time")
  assert.equal(pending.length, 2)
  for (const answer of pending) answer()
  await new RegistryAllowlist({ allowed, lookup }).check(hostOf("fine.quayside.dev/x"))
  clearInterval(alive)
})

test("a registry that is allowed as any public one leads its clients to public hosts only", async () => {
  const lookup = async (name: string) => (name === "inner.example.com" ? ["10.0.0.1"] : ["1.1.1.1"])
  const registries = new RegistryAllowlist({ allowed: ["public", "harbor.example.com"], lookup })
  const from = { host: "evil.example.org" }
  for (const host of ["evil.example.org", "cdn.example.org:8443", "harbor.example.com"]) await registries.checkRedirect(from, host)
  for (const host of ["inner.example.com", "10.0.0.1", "localhost:6443", "[::1]:443", "kubernetes.default.svc.cluster.local"])
    await assert.rejects(registries.checkRedirect(from, host), { code: "image_pull_denied" }, host)
  await registries.checkRedirect({ host: "harbor.example.com" }, "inner.example.com")
})
