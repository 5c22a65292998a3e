// Sets the firewall's rules in its own network namespace and prints as JSON which connections they
// block. The bridge and the container on it are created by hand, without a daemon. Usage: unshare
// --net --mount node isolated-firewall.ts nft|legacy
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { cpSync, mkdtempSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bounds } from "#contract"
import { Shell } from "../../host/shell.ts"
import { bridgeName, kernelNames } from "../../network/kernel-names.ts"
import { Firewall } from "../firewall.ts"

const variant = process.argv[2] ?? ""
const instance = "isolated"
const [gateway, container] = ["10.213.0.1", "10.213.0.2"]
const bridge = bridgeName(kernelNames(instance), { group: "", number: 0 })
/** More connections than a run may have. */
const questions = bounds.containers.connections.value + 2_000
const sh = (command: string) => execFileSync("sh", ["-c", command], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] })

const folder = mkdtempSync(join(tmpdir(), "quayside-firewall-"))
selectVariant()
writeFileSync(join(folder, "resolv.conf"), `nameserver ${gateway}\n`)
sh(`mount --bind ${join(folder, "resolv.conf")} /etc/resolv.conf`)
const inside = spawn("unshare", ["--net", "sleep", "1000"], { stdio: "ignore" })
try {
  process.stdout.write(`${JSON.stringify(await examine())}\n`)
} finally {
  const ended = once(inside, "exit")
  inside.kill()
  await ended
  sh("umount /etc/alternatives /etc/resolv.conf")
  rmSync(folder, { recursive: true })
}

/** Selects the host's preferred variant for this process alone. */
function selectVariant(): void {
  cpSync("/etc/alternatives", folder, { recursive: true, verbatimSymlinks: true })
  for (const name of ["iptables", "ip6tables"]) {
    for (const end of ["", "-save", "-restore"]) {
      unlinkSync(join(folder, `${name}${end}`))
      symlinkSync(`/usr/sbin/${name}-${variant}${end}`, join(folder, `${name}${end}`))
    }
  }
  sh(`mount --bind ${folder} /etc/alternatives`)
}

async function examine() {
  await connectBridge()
  const server = createServer((socket) => socket.destroy()).listen(0, "0.0.0.0")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  const listener = spawn("nsenter", [`--net=/proc/${inside.pid}/ns/net`, "busybox", "httpd", "-f", "-p", "8080", "-h", folder], {
    stdio: "ignore",
  })
  while (!(await reaches(0))) await new Promise((resolve) => setTimeout(resolve, 20))
  const reached = async () => ({
    host: await reachesHost(port),
    byQuayside: await reaches(0, "--keep-groups"),
    byRoot: await reaches(0),
    byOthers: await reaches(65_534),
  })
  const result: Record<string, unknown> = { version: sh("iptables --version").trim(), before: await reached() }
  const firewall = new Firewall({ shell: new Shell(), instance, pool: "10.213.0.0/16", internet: true, groups: [], allow: [], deny: [] })
  result.set = await firewall.ensure()
  result.after = await reached()
  result.questions = await questionsTracked()
  result.setAgain = await firewall.ensure()
  sh("iptables -t mangle -F INPUT")
  result.missing = await firewall.check().then(
    () => "",
    (error: Error) => error.message,
  )
  result.repaired = await firewall.ensure()
  await firewall.check()
  await firewall.remove()
  result.left = sh("iptables-save -t mangle; ip6tables-save -t mangle")
    .split("\n")
    .filter((line) => line.includes("QUAYSIDE"))
  const ended = once(listener, "exit")
  listener.kill()
  await ended
  server.close()
  return result
}

/**
 * The tracked connections after that many questions to a name server on the host, each from a port
 * of its own.
 */
async function questionsTracked(): Promise<number> {
  const ask = `const dgram = require("node:dgram")
    const next = (n) => n > 0 && dgram.createSocket("udp4").bind(20_000 + n, function () { this.send("?", 53, "${gateway}", () => { this.close(); next(n - 1) }) })
    next(${questions})`
  sh(`nsenter --net=/proc/${inside.pid}/ns/net ${process.execPath} -e '${ask}'`)
  return Number(sh("cat /proc/sys/net/netfilter/nf_conntrack_count"))
}

async function connectBridge(): Promise<void> {
  const own = sh("readlink /proc/self/ns/net")
  while (sh(`readlink /proc/${inside.pid}/ns/net`) === own) await new Promise((resolve) => setTimeout(resolve, 10))
  const within = `nsenter --net=/proc/${inside.pid}/ns/net`
  sh(`ip link set lo up; ip link add ${bridge} type bridge; ip addr add ${gateway}/27 dev ${bridge}; ip link set ${bridge} up
    ip link add outer type veth peer name inner netns ${inside.pid}; ip link set outer master ${bridge} up
    ${within} ip addr add ${container}/27 dev inner; ${within} ip link set inner up; ${within} ip link set lo up`)
}

function reachesHost(port: number): Promise<boolean> {
  return connects(["nsenter", `--net=/proc/${inside.pid}/ns/net`], gateway, port)
}

/** Connects from a process of the user, with this process's groups or without any. */
function reaches(uid: number, groups: "--keep-groups" | "--clear-groups" = "--clear-groups"): Promise<boolean> {
  return connects(["setpriv", "--reuid", String(uid), groups], container, 8_080)
}

async function connects(within: readonly string[], host: string, port: number): Promise<boolean> {
  const child = spawn(within[0] ?? "", [...within.slice(1), "busybox", "nc", "-w", "2", host, String(port)], {
    stdio: ["pipe", "ignore", "ignore"],
  })
  child.stdin.end()
  const [code] = await once(child, "exit")
  return code === 0
}
