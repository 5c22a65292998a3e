// Compares the gateway with nginx (as a proxy) and configurable-http-proxy, in front of one
// upstream: small requests, a 1 GiB download, idle WebSockets. Every proxy is one process on one
// core; load and upstream share the other. Slices alternate. Prints medians of ratios, nginx =
// 1.00. Needs nginx, wrk and curl. Installs configurable-http-proxy into a temporary directory and
// skips it if that fails.
//   node bench/gateway.ts [--seconds 2] [--rounds 3] [--gigabytes 1] [--sockets 2000]
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { mkdtemp, open, readFile, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:http"
import { type AddressInfo, connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs, promisify } from "node:util"
import { createGateway } from "#gateway"

const run = promisify(execFile)
const key = "a".repeat(32)
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    gigabytes: { type: "string", default: "1" },
    sockets: { type: "string", default: "2000" },
    serve: { type: "string" },
    websockets: { type: "string" },
    profile: { type: "boolean", default: false },
  },
})

interface Proxy {
  name: string
  port: number
  /** The processes whose time counts. */
  pids: number[]
  headers: string[]
}

/** The gateway's process with one run that is always open. Prints the run's cookie. */
async function serve({ port, upstream }: { port: number; upstream: number }): Promise<void> {
  const visitor = { userId: 1, credentialId: "bench" }
  const target = {
    id: 1,
    userId: 1,
    projectId: 1,
    authors: "own",
    key,
    address: { host: "127.0.0.1", port: upstream },
    prefix: "strip" as const,
    upstreamHeaders: {},
    landing: "",
    webSocketProtocol: "any" as const,
    state: "ready",
  }
  const gateway = createGateway({
    runs: {
      byId: (id) => (id === 1 ? target : undefined),
      byKey: (k) => (k === key ? target : undefined),
      liveTargets: () => [target],
      authenticate: async () => visitor,
      untilRouted: () => undefined,
      canOpen: async () => true,
      claimTicket: async () => true,
      endTimes: () => ({ expiresAt: null, idleExpiresAt: null }),
      recordActivity: () => {},
      recordRefusal: () => {},
    },
    baseUrl: "http://localhost:8080",
    appsUrl: `http://localhost:${port}`,
    cookieKey: Buffer.alloc(32, 1),
    maxOpenPerVisitor: 1_000_000,
  })
  await gateway.listen([{ host: "127.0.0.1", port }])
  const host = `${key}.localhost:${port}`
  const started = await get(port, { Host: host, path: "/.quayside/start" })
  const nonce = new URL(started.location ?? "").searchParams.get("nonce") ?? ""
  const ticket = new URL(gateway.tickets.issue({ visitor, target, nonce }))
  const entered = await get(port, { Host: host, path: ticket.pathname + ticket.search, Cookie: started.cookie })
  process.stdout.write(`${entered.cookie}\n`)
}

async function get(port: number, { path = "/", ...headers }: Record<string, string>): Promise<{ location: string | null; cookie: string }> {
  const { request } = await import("node:http")
  return new Promise((resolve, reject) => {
    const outgoing = request({ host: "127.0.0.1", port, path, headers, agent: false }, (answer) => {
      answer.resume()
      const cookie = (answer.headers["set-cookie"] ?? []).map((line) => line.split(";")[0]).join("; ")
      answer.on("end", () => resolve({ location: answer.headers.location ?? null, cookie }))
    })
    outgoing.on("error", reject).end()
  })
}

/** Accepts every upgrade and sends nothing. */
function serveWebSockets(port: number): void {
  const server = createServer((_, response) => response.end("ok"))
  server.on("upgrade", (_, socket) => {
    socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    socket.on("error", () => {}).resume()
  })
  server.listen(port, "127.0.0.1", () => process.stdout.write("listening\n"))
}

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const dir = await mkdtemp(join(tmpdir(), "quayside-bench-"))
  stack.defer(() => rm(dir, { recursive: true }))
  const [upstream, sockets, nginxPort, nginxSockets, ownPort, ownSockets, chpPort, chpSockets, chpApi, chpApi2] = await freePorts()
  await bigFile(join(dir, "big"))
  await startNginx(stack, { dir, name: "upstream", core: 1, text: upstreamConf(upstream, dir) })
  await start(stack, { core: 1, args: [process.execPath, import.meta.filename, "--websockets", String(sockets)] })
  const proxies: Proxy[] = []
  const forSockets: Proxy[] = []
  for (const [list, port, to] of [
    [proxies, nginxPort, upstream],
    [forSockets, nginxSockets, sockets],
  ] as const) {
    const pids = await startNginx(stack, { dir, name: `proxy${port}`, core: 0, text: proxyConf(port, to, dir) })
    list.push({ name: "nginx", port, pids, headers: [`Host: ${key}.localhost:${port}`, "Cookie: a=1"] })
  }
  for (const [list, port, to] of [
    [proxies, ownPort, upstream],
    [forSockets, ownSockets, sockets],
  ] as const) {
    const args = [
      process.execPath,
      ...(values.profile && list === proxies ? ["--cpu-prof"] : []),
      import.meta.filename,
      "--serve",
      JSON.stringify({ port, upstream: to }),
    ]
    const { child, line } = await start(stack, { core: 0, args })
    list.push({ name: "quayside", port, pids: [child.pid as number], headers: [`Host: ${key}.localhost:${port}`, `Cookie: ${line}`] })
  }
  const chp = await installChp(dir)
  for (const [list, port, to, api] of [
    [proxies, chpPort, upstream, chpApi],
    [forSockets, chpSockets, sockets, chpApi2],
  ] as const) {
    if (chp === undefined) break
    const args = [
      process.execPath,
      chp,
      "--ip=127.0.0.1",
      `--port=${port}`,
      "--api-ip=127.0.0.1",
      `--api-port=${api}`,
      `--default-target=http://127.0.0.1:${to}`,
      "--log-level=error",
    ]
    const { child } = await start(stack, { core: 0, args, quiet: true })
    await untilOpen(port)
    list.push({ name: "configurable-http-proxy", port, pids: [child.pid as number], headers: [`Host: ${key}.localhost:${port}`] })
  }
  await smallRequests(proxies)
  await downloads(proxies)
  await idleSockets(forSockets)
}

async function smallRequests(proxies: Proxy[]): Promise<void> {
  const rates = new Map<string, number[]>()
  const costs = new Map<string, number[]>()
  for (const proxy of proxies) await wrk(proxy, 1)
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const proxy of proxies) {
      const before = await cpu(proxy)
      const { rate, count } = await wrk(proxy, Number(values.seconds))
      push(rates, proxy.name, rate)
      push(costs, proxy.name, ((await cpu(proxy)) - before) / count)
    }
  }
  print(
    "1 KB requests, 64 connections: requests per second",
    rates,
    (own, nginx) => own / nginx,
    (v) => `${Math.round(v)}/s`,
  )
  print(
    "processor time per request",
    costs,
    (own, nginx) => own / nginx,
    (v) => `${(v * 1e6).toFixed(1)} µs`,
  )
}

async function downloads(proxies: Proxy[]): Promise<void> {
  const times = new Map<string, number[]>()
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { name, port, headers } of proxies) {
      const args = [
        "-s",
        "-o",
        "/dev/null",
        "-w",
        "%{time_total} %{size_download}",
        ...headers.flatMap((h) => ["-H", h]),
        `http://127.0.0.1:${port}/big`,
      ]
      const [seconds, bytes] = (await run("taskset", ["-c", "1", "curl", ...args])).stdout.split(" ").map(Number)
      if (bytes !== Number(values.gigabytes) * 2 ** 30) throw new Error(`${name} delivered ${bytes} bytes`)
      push(times, name, seconds as number)
    }
  }
  print(
    `${values.gigabytes} GiB download: speed`,
    times,
    (own, nginx) => nginx / own,
    (v) => `${v.toFixed(2)} s`,
  )
}

async function idleSockets(proxies: Proxy[]): Promise<void> {
  const count = Number(values.sockets)
  const memory = new Map<string, number[]>()
  for (const proxy of proxies) {
    for (const socket of await openSockets(proxy, 100)) socket.destroy()
    await pause(1_500)
    const before = await resident(proxy)
    const open = await openSockets(proxy, count)
    await pause(1_500)
    push(memory, proxy.name, ((await resident(proxy)) - before) / count)
    for (const socket of open) socket.destroy()
  }
  print(
    `${count} idle WebSockets: memory of each`,
    memory,
    (own, nginx) => own / nginx,
    (v) => `${(v / 1024).toFixed(1)} KiB`,
  )
}

async function openSockets({ port, headers }: Proxy, count: number): Promise<Socket[]> {
  const head = [
    "GET / HTTP/1.1",
    ...headers,
    `Origin: http://${key}.localhost:${port}`,
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    "",
    "",
  ].join("\r\n")
  const sockets: Socket[] = []
  for (let i = 0; i < count; i += 1) {
    const socket = connect(port, "127.0.0.1")
    socket.write(head)
    const answer = await new Promise<Buffer>((resolve, reject) => socket.once("data", resolve).once("error", reject))
    if (!answer.includes(" 101 ")) throw new Error(`no WebSocket: ${answer}`)
    sockets.push(socket.on("error", () => {}))
  }
  return sockets
}

async function wrk({ port, headers }: Proxy, seconds: number): Promise<{ rate: number; count: number }> {
  const args = ["-c", "1", "wrk", "-t1", "-c64", `-d${seconds}s`, ...headers.flatMap((h) => ["-H", h]), `http://127.0.0.1:${port}/small`]
  const { stdout } = await run("taskset", args)
  if (/Non-2xx|Socket errors/.test(stdout)) throw new Error(stdout)
  return { rate: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]), count: Number(/(\d+) requests in/.exec(stdout)?.[1]) }
}

/** Processor time of the proxy, in seconds. */
async function cpu({ pids }: Proxy): Promise<number> {
  let ticks = 0
  for (const pid of pids) {
    const fields = (await readFile(`/proc/${pid}/stat`, "utf8")).replace(/^.*\) /, "").split(" ")
    ticks += Number(fields[11]) + Number(fields[12])
  }
  return ticks / 100
}

async function resident({ pids }: Proxy): Promise<number> {
  let bytes = 0
  for (const pid of pids) bytes += Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024
  return bytes
}

function print(
  title: string,
  figures: Map<string, number[]>,
  ratio: (own: number, nginx: number) => number,
  show: (value: number) => string,
): void {
  const nginx = figures.get("nginx") ?? []
  process.stdout.write(`${title}\n`)
  for (const [name, all] of figures) {
    const ratios = all.map((value, i) => ratio(value, nginx[i] as number))
    process.stdout.write(`  ${name.padEnd(26)} ${median(ratios).toFixed(2).padStart(6)}   ${show(median(all))}\n`)
  }
}

function median(list: number[]): number {
  return list.toSorted((a, b) => a - b)[list.length >> 1] ?? Number.NaN
}

function push(map: Map<string, number[]>, name: string, value: number): void {
  const list = map.get(name)
  if (list) list.push(value)
  else map.set(name, [value])
}

const common = "error_log stderr error; daemon off; master_process off; events { worker_connections 16384; }"

function upstreamConf(port: number, dir: string): string {
  return `${common} worker_rlimit_nofile 65536; pid ${dir}/upstream.pid; http { access_log off; sendfile on; keepalive_requests 1000000000; client_body_temp_path ${dir}/u; server {
    listen 127.0.0.1:${port} reuseport backlog=4096; root ${dir}; location = /small { default_type text/plain; return 200 "${"x".repeat(1024)}"; } } }`
}

function proxyConf(port: number, to: number, dir: string): string {
  return `${common} worker_rlimit_nofile 65536; pid ${dir}/${port}.pid; http { access_log off; keepalive_requests 1000000000; proxy_temp_path ${dir}/${port};
    map $http_upgrade $connection_upgrade { default upgrade; '' ''; }
    upstream program { server 127.0.0.1:${to}; keepalive 64; keepalive_requests 1000000000; }
    server { listen 127.0.0.1:${port} backlog=4096; location / { proxy_pass http://program; proxy_http_version 1.1; proxy_max_temp_file_size 0; proxy_read_timeout 1h;
      proxy_set_header Host $http_host; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto $scheme; proxy_set_header X-Forwarded-Host $http_host; } } }`
}

async function startNginx(
  stack: AsyncDisposableStack,
  { dir, name, core, text }: { dir: string; name: string; core: number; text: string },
): Promise<number[]> {
  const conf = join(dir, `${name}.conf`)
  await writeFile(conf, text)
  const { child } = await start(stack, { core, args: ["nginx", "-p", dir, "-c", conf], quiet: true })
  await untilOpen(Number(/listen 127\.0\.0\.1:(\d+)/.exec(text)?.[1]))
  return [child.pid as number]
}

/** Starts a process on one core, and waits for its first line unless it is `quiet`. */
async function start(
  stack: AsyncDisposableStack,
  { core, args, quiet }: { core: number; args: string[]; quiet?: boolean },
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn("taskset", ["-c", String(core), ...args], { stdio: ["ignore", "pipe", "inherit"] })
  stack.defer(async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve))
    if (child.exitCode === null && child.kill("SIGINT")) await ended
  })
  if (quiet) return { child, line: "" }
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout?.once("data", (chunk) => resolve(String(chunk).trim()))
    child.once("exit", (code) => reject(new Error(`${args.join(" ")} ended with ${code}`)))
  })
  return { child, line }
}

async function installChp(dir: string): Promise<string | undefined> {
  try {
    await run("npm", ["install", "--prefix", dir, "--no-audit", "--no-fund", "--ignore-scripts", "configurable-http-proxy"], {
      timeout: 120_000,
    })
    return join(dir, "node_modules/configurable-http-proxy/bin/configurable-http-proxy")
  } catch (error) {
    process.stdout.write(`configurable-http-proxy is left out: ${String(error).split("\n")[0]}\n`)
    return undefined
  }
}

async function bigFile(path: string): Promise<void> {
  const file = await open(path, "w")
  const block = Buffer.alloc(2 ** 24, "quayside")
  for (let i = 0; i < Number(values.gigabytes) * 64; i += 1) await file.write(block)
  await file.close()
}

type Ports = [number, number, number, number, number, number, number, number, number, number]

async function freePorts(): Promise<Ports> {
  const servers = Array.from({ length: 10 }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    ports.push((server.address() as AddressInfo).port)
  }
  for (const server of servers) await new Promise((resolve) => server.close(resolve))
  return ports as Ports
}

async function untilOpen(port: number): Promise<void> {
  for (let i = 0; i < 100; i += 1) {
    const socket = connect(port, "127.0.0.1")
    const isOpen = await new Promise<boolean>((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)))
    socket.destroy()
    if (isOpen) return
    await pause(100)
  }
  throw new Error(`nothing listens on ${port}`)
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

if (values.serve !== undefined) await serve(JSON.parse(values.serve))
else if (values.websockets !== undefined) serveWebSockets(Number(values.websockets))
else await main()
