import assert from "node:assert/strict"
import { BlockList } from "node:net"
import { test } from "node:test"
import type { V1NetworkPolicy } from "@kubernetes/client-node"
import type { ClusterClient } from "../client/cluster-client.ts"
import type { KubernetesOptions } from "../kubernetes-options.ts"
import { applyPolicies } from "./network-policies.ts"

type Setting = Pick<KubernetesOptions, "internet" | "allow" | "deny" | "groupInternet" | "dns">

/** The policies that an instance with these settings sets, by name. */
async function policiesOf(setting: Setting): Promise<Map<string, V1NetworkPolicy>> {
  const policies = new Map<string, V1NetworkPolicy>()
  const networking = {
    patchNamespacedNetworkPolicy: async ({ name, body }: { name: string; body: V1NetworkPolicy }) => void policies.set(name, body),
  }
  const apply = (_what: string, send: (apis: object, fields: object, settings: object) => unknown) => send({ networking }, {}, {})
  const options = { instance: "i", filesRoot: "/", volume: "v", uid: 1_000, ...setting }
  await applyPolicies({ apply } as unknown as ClusterClient, options)
  return policies
}

/** Whether everybody's policy lets a run reach an address on every port. */
async function reaches(setting: Setting, address: string): Promise<boolean> {
  const rules = (await policiesOf(setting)).get("quayside-i-internet-common")?.spec?.egress ?? []
  const family = address.includes(":") ? "ipv6" : "ipv4"
  const isIn = (network: string) => {
    if (network.includes(":") !== address.includes(":")) return false
    const [base = "", prefix] = network.split("/")
    const list = new BlockList()
    list.addSubnet(base, Number(prefix), family)
    return list.check(address, family)
  }
  return rules.some(({ to, ports }) => {
    if (ports) return false
    if (!to || to.length === 0) return true
    return to.some(({ ipBlock }) => ipBlock && isIn(ipBlock.cidr) && !ipBlock.except?.some(isIn))
  })
}

test("runs reach public addresses, and no private one in any spelling", async () => {
  for (const address of ["1.1.1.1", "2606:4700::1111", "64:ff9b::101:101"]) assert.ok(await reaches({}, address), address)
  for (const address of [
    "10.1.2.3",
    "192.168.0.1",
    "169.254.169.254",
    "fd00::1",
    "fe80::1",
    "64:ff9b::a01:203",
    "64:ff9b::a9fe:a9fe",
    "2002:a01:203::1",
  ])
    assert.equal(await reaches({}, address), false, address)
  assert.equal(await reaches({ deny: ["1.1.1.1"] }, "1.1.1.1"), false)
  assert.equal(await reaches({ internet: false }, "1.1.1.1"), false)
})

test("an allowed network is open, but for its denied parts and for metadata services", async () => {
  const allow = ["10.0.0.0/8", "fd00::/8", "169.254.0.0/15"]
  for (const address of ["10.1.2.3", "fd12::1", "169.255.1.1"]) assert.ok(await reaches({ allow }, address), address)
  for (const address of ["169.254.169.254", "fd00:ec2::254"]) assert.equal(await reaches({ allow }, address), false, address)
  assert.equal(await reaches({ allow: ["169.254.169.254", "fe80::/10"], internet: false }, "169.254.169.254"), false)
  for (const deny of [["10.0.0.0/8"], ["10.1.0.0/16"], ["10.1.2.3"], ["10.0.0.0/7"]])
    assert.equal(await reaches({ allow: ["10.0.0.0/8"], deny }, "10.1.2.3"), false, String(deny))
})

test("a setting of which nothing is left opens nothing", async () => {
  assert.equal(await reaches({ internet: false, allow: ["10.0.0.0/8"], deny: ["10.0.0.0/8"] }, "8.8.8.8"), false)
})
