import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { type AddressInfo, createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { after, before, describe, test } from "node:test"
import { promisify } from "node:util"
import { EngineError, type RunSpec } from "#engine"
import { startDockerEngine, type TestDockerEngine } from "../fixtures/docker/docker-engine.ts"
import { type OutsideHost, startOutsideHost } from "../fixtures/docker/outside-host.ts"
import { kernelNames } from "../fixtures/kernel-names.ts"
import { specOf } from "../fixtures/run-spec.ts"

const run = promisify(execFile)
const never = new AbortController().signal
const ignore = () => {}
const serving = ["sh", "-c", "exec httpd -f -p 8080 -h /www"]

/** A shell script that tries all targets at once and prints those that accept the connection. */
function probe(targets: readonly (readonly [host: string, port: number])[]): string {
  const tries = targets.map(([host, port]) => `(nc -w 3 ${host} ${port} </dev/null >/dev/null 2>&1 && echo ${host} ${port}) &`)
  return `${tries.join("\n")}\nwait`
}

/** Whether a host process of that user can connect, with this process's groups or with none. */
async function canReachAs(uid: number, host: string, port: number, groups = "--clear-groups"): Promise<boolean> {
  const args = ["--reuid", String(uid), groups, "busybox", "nc", "-w", "3", host, String(port)]
  const trying = run("setpriv", args, { timeout: 10_000 })
  trying.child.stdin?.end()
  return trying.then(
    () => true,
    () => false,
  )
}

describe("a hostile run on the network", { timeout: 300_000 }, () => {
  let rig: TestDockerEngine
  let outside: OutsideHost
  let bob: RunSpec
  let bobAt: string
  before(async () => {
    rig = await startDockerEngine()
    outside = await startOutsideHost()
    bob = specOf({ image: rig.image, command: serving, user: "bob" })
    await rig.engine.start(bob, ignore, never)
    bobAt = (await rig.engine.address(bob.key, 8080))?.host ?? ""
  })
  after(async () => {
    await rig[Symbol.asyncDispose]()
    await outside[Symbol.asyncDispose]()
  })
  const network = async (user: string) => {
    const [name = ""] = (await rig.docker("network", "ls", "--format", "{{.Name}}", "--filter", `label=quayside.user=${user}`))
      .split("\n")
      .filter((each) => each.includes(rig.instance))
    const [{ IPAM, Options }] = JSON.parse(await rig.docker("network", "inspect", name))
    return { name, gateway: IPAM.Config[0].Gateway as string, subnet: IPAM.Config[0].Subnet as string, options: Options }
  }
  /** Every address of this host, other people's gateways included. */
  const hostAddresses = () =>
    Object.entries(networkInterfaces()).flatMap(([, all]) => (all ?? []).filter(({ family, internal }) => family === "IPv4" && !internal))
  const without = async (work: () => Promise<void>) => {
    const { chains } = kernelNames(rig.instance)
    for (const chain of Object.values(chains)) await run("iptables", ["--wait", "5", "-t", "mangle", "-F", chain])
    try {
      await work()
    } finally {
      await rig.engine.observe()
    }
  }

  test("reaches no port of the host at any of its addresses", async () => {
    const server = createServer((socket) => socket.destroy())
    server.listen({ host: "0.0.0.0", port: 0 })
    await once(server, "listening")
    try {
      const { port } = server.address() as AddressInfo
      const targets = hostAddresses().map(({ address }) => [address, port] as const)
      assert.ok(
        targets.some(([address]) => address.startsWith("10.213.")),
        "bob's gateway is among them",
      )
      const ownGateway = "$(busybox ip route | busybox awk '/^default/ {print $3}')"
      assert.equal(await rig.output(`echo ${ownGateway}; ${probe([...targets, [ownGateway, port]])}`, {}), (await network("ann")).gateway)
      const unconfined = await rig.docker("run", "--rm", rig.image, "sh", "-c", probe(targets))
      assert.match(unconfined, new RegExp(` ${port}$`), "the probe works where nothing is confined")
    } finally {
      server.close()
    }
  })

  test("reaches no other run, whether another person's or its owner's", async () => {
    const own = specOf({ image: rig.image, command: serving })
    await rig.engine.start(own, ignore, never)
    const ownAt = (await rig.engine.address(own.key, 8080))?.host ?? ""
    assert.notEqual((await network("ann")).subnet, (await network("bob")).subnet)
    const targets = [bobAt, ownAt].map((host) => [host, 8080] as const)
    assert.equal(await rig.output(probe(targets), {}), "")
    for (const host of [bobAt, ownAt]) assert.equal((await fetch(`http://${host}:8080/`)).status, 200)
    await rig.engine.stop(own.key, { graceMs: 0 })
  })

  test("reaches no port that the host forwards to another container", async () => {
    const id = await rig.docker("run", "--detach", "--rm", "--publish", "8080", rig.image, ...serving)
    try {
      const port = Number((await rig.docker("port", id, "8080/tcp")).split("\n")[0]?.split(":").at(-1))
      const inner = (await rig.docker("inspect", "--format", "{{.NetworkSettings.IPAddress}}", id)).trim()
      const targets = [...hostAddresses().map(({ address }) => [address, port] as const), [inner, 8080] as const]
      assert.equal(await rig.output(probe(targets), {}), "")
    } finally {
      await rig.docker("rm", "--force", id)
    }
  })

  test("reaches nothing that the host forwards, even where it has a direct route", async () => {
    const host = outside.hostAddress
    const rule = ["-d", host, "-p", "tcp", "--dport", "8099", "-j", "DNAT", "--to-destination", `${outside.publicAddress}:80`]
    const nat = (verb: string) => run("iptables", ["--wait", "5", "-t", "nat", verb, "PREROUTING", ...rule])
    const tried = () =>
      rig.docker(
        "exec",
        `quayside-${bob.key}`,
        "sh",
        "-c",
        probe([
          [host, 8099],
          [outside.publicAddress, 80],
        ]),
      )
    await nat("-I")
    try {
      assert.equal(await tried(), `${outside.publicAddress} 80`)
      await without(async () => assert.match(await tried(), new RegExp(`^${host} 8099$`, "m")))
    } finally {
      await nat("-D")
    }
  })

  test("reaches a public address, but neither a private nor a link-local one", async () => {
    const { publicAddress, privateAddress, linkLocalAddress } = outside
    const targets = [publicAddress, privateAddress, linkLocalAddress].map((host) => [host, 80] as const)
    assert.equal(await rig.output(probe(targets), {}), `${publicAddress} 80`)
  })

  test("reaches addresses that the administrator opened and none that they closed", async () => {
    const { publicAddress, privateAddress, linkLocalAddress } = outside
    const targets = [publicAddress, privateAddress, linkLocalAddress].map((host) => [host, 80] as const)
    await using opened = await startDockerEngine({ allow: [`${privateAddress}/32`, "169.254.0.0/16"], deny: ["198.51.100.0/24"] })
    await using closed = await startDockerEngine({ internet: false })
    const reached = await Promise.all([opened, closed].map((engine) => engine.output(probe(targets), {})))
    assert.deepEqual(reached, [`${privateAddress} 80`, ""])
  })

  test("reaches the addresses that its owner's group setting allows", async () => {
    const { publicAddress, privateAddress, linkLocalAddress } = outside
    const targets = [publicAddress, privateAddress, linkLocalAddress].map((host) => [host, 80] as const)
    await using open = await startDockerEngine({
      groupInternet: [
        { group: "exam", internet: false },
        { group: "lab", internet: [privateAddress, "169.254.0.0/16"] },
      ],
    })
    const printed = async (internetOf?: string) => open.output(probe(targets), { internetOf })
    assert.deepEqual(await Promise.all([undefined, "exam", "lab", "without-a-setting"].map(printed)), [
      `${publicAddress} 80`,
      "",
      `${privateAddress} 80`,
      `${publicAddress} 80`,
    ])
    await open.engine.check()
    await using closed = await startDockerEngine({ internet: false, groupInternet: [{ group: "staff", internet: true }] })
    const reached = await Promise.all([undefined, "staff"].map((internetOf) => closed.output(probe(targets), { internetOf })))
    assert.deepEqual(reached, ["", `${publicAddress} 80`])
  })

  test("does not learn the name or address of another person's run", async () => {
    const names = [`quayside-${bob.key}`, `run-${bob.key.slice(0, 12)}`]
    const lookUp = (hosts: readonly string[]) => hosts.map((name) => `busybox nslookup ${name} 127.0.0.11 2>&1`).join("; ")
    const printed = await rig.output(lookUp(names), {})
    assert.match(printed, /can't resolve|can't find|NXDOMAIN|no answer|timed out/i)
    assert.doesNotMatch(printed, new RegExp(bobAt.replaceAll(".", "\\.")))
    const own = specOf({ image: rig.image })
    assert.match(
      await rig.output(lookUp([`quayside-${own.key}`]), { key: own.key }),
      /^Address.*10\.213\./m,
      "its own name is found this way",
    )
  })

  test("accepts connections from Quayside only, not from other users or programs of the host", async () => {
    assert.equal(await canReachAs(0, bobAt, 8080, "--keep-groups"), true)
    assert.equal(await canReachAs(0, bobAt, 8080), false)
    assert.equal(await canReachAs(65_534, bobAt, 8080), false)
    await without(async () => assert.equal(await canReachAs(65_534, bobAt, 8080), true))
    assert.equal(await canReachAs(65_534, bobAt, 8080), false)
  })

  test("cannot be reached by a neighbour of the host who routes to it", async () => {
    await outside.routeTo((await network("bob")).subnet)
    await assert.rejects(outside.exec("busybox", "wget", "-q", "-T", "3", "-O", "-", `http://${bobAt}:8080/`))
  })

  test("is confined again by the next observation after somebody removes the rules, and `check` reports it until then", async () => {
    const { chains, bridgePrefix } = kernelNames(rig.instance)
    const iptables = (...args: string[]) => run("iptables", ["--wait", "5", "-t", "mangle", ...args])
    const spoil = [
      () => iptables("-F", chains.forward),
      () => iptables("-D", "INPUT", "-j", chains.input),
      () => iptables("-I", "OUTPUT", "1", "-o", `${bridgePrefix}+`, "-j", "ACCEPT"),
      () => iptables("-I", chains.input, "1", "-j", "RETURN"),
    ]
    for (const change of spoil) {
      await rig.engine.check()
      await change()
      await assert.rejects(rig.engine.check(), (error) => error instanceof EngineError && /firewall rules/.test(error.message))
      await rig.engine.observe()
    }
    await rig.engine.check()
    await iptables("-D", "OUTPUT", "-o", `${bridgePrefix}+`, "-j", "ACCEPT")
  })

  test("does not get the address of another person's ended run", async () => {
    // Only as many networks as people, so that a network that is leased twice is noticed.
    await using small = await startDockerEngine({ networkPool: "10.214.7.0/24", networkIdleMs: 0 })
    const usedHosts = new Set<number>()
    for (let n = 0; n < 8; n += 1) {
      const spec = specOf({ image: small.image, command: serving, user: `person${n}` })
      await small.engine.start(spec, ignore, never)
      const host = (await small.engine.address(spec.key, 8080))?.host ?? ""
      const range = Math.floor(Number(host.split(".")[3]) / 32)
      assert.ok(!usedHosts.has(range), host)
      usedHosts.add(range)
      await small.engine.stop(spec.key, { graceMs: 0 })
      await small.engine.observe()
      assert.deepEqual(await small.networks(), [])
    }
  })

  test("does not get the address of its owner's run that has just ended", async () => {
    const [usedHosts, taken] = [new Set<string>(), specOf({ image: rig.image, command: serving, user: "dave" })]
    await rig.engine.start(taken, ignore, never)
    for (let n = 0; n < 6; n += 1) {
      const spec = specOf({ image: rig.image, command: serving, user: "dave" })
      await rig.engine.start(spec, ignore, never)
      const host = (await rig.engine.address(spec.key, 8080))?.host ?? ""
      assert.ok(host !== "" && !usedHosts.has(host), host)
      usedHosts.add(host)
      await rig.docker("kill", `quayside-${spec.key}`)
    }
    const requests = [...usedHosts].map((host) => fetch(`http://${host}:8080/`, { signal: AbortSignal.timeout(5_000) }))
    for (const answer of await Promise.allSettled(requests)) assert.equal(answer.status, "rejected")
    for (const { key, user } of await rig.engine.observe()) if (user === "dave") await rig.engine.stop(key, { graceMs: 0 })
  })

  test("stays confined when Quayside is stopped", async () => {
    await using other = await startDockerEngine()
    const spec = specOf({ image: other.image, command: serving, user: "carol" })
    const engine = await other.open()
    await engine.start(spec, ignore, never)
    await engine[Symbol.asyncDispose]()
    const tries = probe([
      [bobAt, 8080],
      [outside.privateAddress, 80],
      [outside.publicAddress, 80],
    ])
    assert.equal(await other.docker("exec", `quayside-${spec.key}`, "sh", "-c", tries), `${outside.publicAddress} 80`)
    assert.equal(await canReachAs(65_534, (await other.engine.address(spec.key, 8080))?.host ?? "", 8080), false)
  })

  test("leaves no network and no rule after the last run", async () => {
    await using other = await startDockerEngine()
    await other.output("true", { user: "carol" })
    assert.equal((await other.networks()).length, 1)
    await other.engine[Symbol.asyncDispose]()
    assert.deepEqual(await other.networks(), [])
    assert.doesNotMatch((await run("iptables-save", ["-t", "mangle"])).stdout, new RegExp(kernelNames(other.instance).chains.input))
  })
})
