import assert from "node:assert/strict"
import { execFile } from "node:child_process"
import { createSocket } from "node:dgram"
import { once } from "node:events"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { type AddressInfo, createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { after, before, describe, test } from "node:test"
import { promisify } from "node:util"
import type { RunSpec } from "#engine"
import { startDockerEngine, type TestDockerEngine } from "../fixtures/docker/docker-engine.ts"
import { eventually } from "../fixtures/eventually.ts"
import { kernelNames } from "../fixtures/kernel-names.ts"
import { specOf } from "../fixtures/run-spec.ts"

const run = promisify(execFile)
const never = new AbortController().signal
const ignore = () => {}
const token = "canary-of-bob"

/** The packets that a process's network namespace received, even without a listener. */
function received(pid: number): number {
  const [names = "", figures = ""] = readFileSync(`/proc/${pid}/net/snmp`, "utf8")
    .split("\n")
    .filter((line) => line.startsWith("Ip: "))
  return Number(figures.split(" ")[names.split(" ").indexOf("InReceives")])
}

/** Every TCP port of this host with a listener. */
function listeningPorts(): number[] {
  const rows = ["tcp", "tcp6"].flatMap((name) => readFileSync(`/proc/net/${name}`, "utf8").split("\n").slice(1))
  const listening = rows.map((row) => row.trim().split(/\s+/)).filter((columns) => columns[3] === "0A")
  return [...new Set(listening.map((columns) => Number.parseInt(columns[1]?.split(":")[1] ?? "0", 16)))]
}

/** The IPv4 addresses of this host that others may reach. */
function hostAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return [...new Set(all.filter(({ family, internal }) => family === "IPv4" && !internal).map(({ address }) => address))]
}

function argumentsOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "latin1")
  } catch {
    return ""
  }
}

describe("a run", () => {
  let rig: TestDockerEngine
  let [bob, own] = [
    { pid: 0, network: "", host: "" },
    { pid: 0, network: "", host: "" },
  ]
  before(async () => {
    rig = await startDockerEngine()
    const serving = { image: rig.image, command: ["sh", "-c", "exec httpd -f -p 8080 -h /www"], env: { JUPYTER_TOKEN: token } }
    bob = await started(specOf({ ...serving, user: "bob" }))
    own = await started(specOf(serving))
  })
  after(() => rig[Symbol.asyncDispose]())
  const started = async (spec: RunSpec) => {
    await rig.engine.start(spec, ignore, never)
    const [{ State, NetworkSettings }] = JSON.parse(await rig.docker("inspect", `quayside-${spec.key}`))
    const network = Object.keys(NetworkSettings.Networks)[0] ?? ""
    return { pid: Number(State.Pid), network, host: (await rig.engine.address(spec.key, 8080))?.host ?? "" }
  }

  test("finds no open port of the host, of Quayside or of another run, at any address that the host has", async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, "0.0.0.0")
    await once(server, "listening")
    const hosts = hostAddresses()
    const ports = listeningPorts()
    assert.ok(ports.includes((server.address() as AddressInfo).port))
    const targets = [...hosts.flatMap((host) => ports.map((port) => `${host} ${port}`)), `${bob.host} 8080`, `${own.host} 8080`]
    const scan = `n=0; for t in ${targets.map((target) => `"${target}"`).join(" ")}; do
      (nc -w 2 $t </dev/null >/dev/null 2>&1 && echo open $t) & n=$((n+1)); [ $((n % 100)) = 0 ] && wait; done; wait; echo scanned $n`
    try {
      const lines = (await rig.output(scan, { memoryMiB: 256 })).split("\n")
      // An address that another test took away meanwhile is one of the internet.
      const gone = new Set(hosts).difference(new Set(hostAddresses()))
      const found = lines.filter((line) => !gone.has(line.split(" ")[1] ?? ""))
      assert.deepEqual(found, [`scanned ${targets.length}`])
      assert.match(
        await rig.docker("run", "--rm", rig.image, "sh", "-c", scan),
        /^open /m,
        "the scan finds ports where nothing is confined",
      )
    } finally {
      server.close()
    }
  })

  test("cannot send a datagram to the host or to another run of its owner, by unicast or broadcast", async () => {
    const arrived = new Set<string>()
    const socket = createSocket("udp4", (bytes) => arrived.add(bytes.toString("latin1")))
    socket.bind(0, "0.0.0.0")
    await once(socket, "listening")
    const before = [received(bob.pid), received(own.pid)]
    const put = (host: string, port: number) => `timeout 2 busybox tftp -p -l /tmp/f -r canary ${host} ${port} 2>/dev/null`
    const gateway = "$(busybox ip route | busybox awk '/^default/ {print $3}')"
    const { port } = socket.address()
    const all = "$(busybox ip addr show eth0 | busybox awk '/inet / {print $4}')"
    const sends = [put(gateway, port), ...[own.host, bob.host, "224.0.0.1", all, "255.255.255.255"].map((host) => put(host, 9_999))]
    try {
      await rig.output(`echo x > /tmp/f; ${sends.map((send) => `${send.replace("timeout", "busybox timeout")} &`).join("\n")}\nwait`, {})
      assert.deepEqual([received(bob.pid), received(own.pid)], before)
      assert.equal(arrived.size, 0)
      await rig.docker("run", "--rm", rig.image, "sh", "-c", `echo x > /tmp/f; busybox ${put(gateway, port)} || true`)
      assert.ok(
        [...arrived].some((text) => text.includes("canary")),
        "datagrams are sent where nothing is confined",
      )
    } finally {
      socket.close()
    }
  })

  test("cannot create raw packets, and so cannot answer for another address", async () => {
    const tries = [
      "busybox arping -c 1 -I eth0 10.213.0.1",
      "busybox ip addr add 10.213.0.9/8 dev eth0",
      "busybox ip link set eth0 promisc on",
    ]
    const printed = await rig.output(tries.map((each) => `${each} 2>&1 || echo refused`).join("\n"), {})
    assert.equal(printed.match(/^refused$/gm)?.length, tries.length, printed)
    assert.match(printed, /not permitted|denied/i)
  })

  test("has no IPv6 beyond its loopback interface", async () => {
    assert.equal(
      await rig.output("grep -v ' lo$' /proc/net/if_inet6 2>/dev/null; cat /proc/net/ipv6_route 2>/dev/null | grep -v ' lo$'", {}),
      "",
    )
  })

  test("cannot reach anybody over link-local IPv6, even with such an address", {
    skip: !existsSync("/proc/net/if_inet6") && "there is no IPv6 here",
  }, async () => {
    const inside = (...args: string[]) => run("nsenter", ["--target", String(own.pid), "--net", ...args])
    const { chains } = kernelNames(rig.instance)
    const server = createServer((socket) => socket.destroy()).listen(0, "::")
    await once(server, "listening")
    const { port } = server.address() as AddressInfo
    try {
      await inside("sysctl", "-qw", "net.ipv6.conf.eth0.disable_ipv6=0")
      const bridge = (
        await rig.docker("network", "inspect", own.network, "--format", '{{index .Options "com.docker.network.bridge.name"}}')
      ).trim()
      await run("sysctl", ["-qw", `net.ipv6.conf.${bridge}.disable_ipv6=0`])
      const linkLocal = async (args: Promise<{ stdout: string }>) => /inet6 (fe80:[^/]+)(?!.*tentative)/.exec((await args).stdout)?.[1]
      await eventually("both have one", async () => {
        const all = [await linkLocal(inside("ip", "-6", "addr")), await linkLocal(run("ip", ["-6", "addr", "show", "dev", bridge]))]
        return all.every((address) => address !== undefined)
      })
      const gateway = await linkLocal(run("ip", ["-6", "addr", "show", "dev", bridge]))
      const connecting = ["timeout", "5", "bash", "-c", `exec 3<>/dev/tcp/${gateway}%eth0/${port}`]
      const reaches = () =>
        inside("setpriv", "--reuid", "1000", "--clear-groups", ...connecting).then(
          () => true,
          () => false,
        )
      assert.equal(await reaches(), false)
      for (const chain of [chains.input, chains.output]) await run("ip6tables", ["--wait", "5", "-t", "mangle", "-F", chain])
      assert.equal(await reaches(), true, "it is reached where the rules are not")
    } finally {
      server.close()
      await rig.engine.observe()
    }
  })

  test("sees only its own processes, and no other run's arguments or token", async () => {
    const printed = await rig.output("ps; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline", {})
    assert.ok(!printed.includes(token) && !printed.includes("httpd"), printed)
    const onHost = readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(argumentsOf)
    assert.ok(onHost.some((args) => args.includes("httpd")))
    assert.ok(!onHost.some((args) => args.includes(token)), "the host shows no token among the arguments either")
  })
})
