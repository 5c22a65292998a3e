// Compares the file server with nginx and Apache (WebDAV modules), and with a server of a few lines
// without access rules: small GET and PUT, 1 GiB GET and PUT, a listing of 10,000 entries. Servers
// share one core; the load runs on the other. Slices alternate. Prints medians of ratios,
// nginx = 1.00. Needs nginx with libnginx-mod-http-dav-ext, apache2, wrk and curl.
//   node bench/files.ts [--seconds 2] [--rounds 3] [--gigabytes 1] [--entries 10000]
import { type ChildProcess, execFile, spawn } from "node:child_process"
import { chmodSync, createReadStream, createWriteStream, existsSync, mkdirSync, mkdtempSync, writeFileSync } from "node:fs"
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import { type AddressInfo, connect } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pipeline } from "node:stream/promises"
import { parseArgs, promisify } from "node:util"
import { type Authority, startFiles } from "#files"
import { createLogger } from "#kit"
import { family, median, memoryOf } from "./tools.ts"

const run = promisify(execFile)
const owner = { uid: 1000, gid: 1000 }
const authorization = `Basic ${Buffer.from("ann:right").toString("base64")}`
const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "2" },
    rounds: { type: "string", default: "3" },
    gigabytes: { type: "string", default: "1" },
    entries: { type: "string", default: "10000" },
    serve: { type: "string" },
    prototype: { type: "string" },
  },
})

interface Contender {
  name: string
  port: number
  /** The directory of its files. */
  root: string
  child: ChildProcess
}

/** Authenticates everybody as ann, who may write below her home. */
const authority: Authority = {
  recordRefusals: () => {},
  identify: async (values) =>
    values === authorization
      ? { ok: true, userId: 1, userName: "ann", credentialId: "password:" }
      : { ok: false, status: 401, msg: "wrong" },
  access: async (_, paths) =>
    paths.map((path) =>
      path.startsWith("/users/ann/")
        ? { level: "write", canReplace: true, appliesBelow: true, account: "ann" }
        : { level: "traverse", canReplace: false },
    ),
  storageQuota: async (name) => ({
    account: { name, userId: 1, roots: [`/users/${name}`], excluded: [], subAreas: [] },
    maxBytes: 2 ** 50,
    groups: [],
    counted: {},
  }),
  mountAreas: async (paths) => paths.map(() => "ann's"),
}

async function serve({ port, root }: { port: number; root: string }): Promise<void> {
  const listen = { host: "127.0.0.1", port }
  await startFiles({ root, listen, authority, allowedHosts: [], logger: createLogger("info"), owner })
  process.stdout.write("listening\n")
}

/**
 * A server of a few lines with the same durability: one process, paths, no access rules, no locks.
 * It flushes every write.
 */
function servePrototype({ port, root }: { port: number; root: string }): void {
  let count = 0
  const server = createServer({ requestTimeout: 0 }, (request, response) => void answer(request, response).catch(() => response.destroy()))
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const path = join(root, decodeURIComponent(request.url ?? "/"))
    if (request.method === "PUT") {
      count += 1
      const temporary = `${path}.${count}`
      await pipeline(request, createWriteStream(temporary, { flush: true }))
      await rename(temporary, path)
      response.writeHead(201).end()
    } else if (request.method === "PROPFIND") {
      const names = await readdir(path)
      const all = await Promise.all(
        names.map(async (name) => `<D:response><D:href>${name}</D:href>${(await stat(join(path, name))).size}</D:response>`),
      )
      response.writeHead(207).end(all.join(""))
    } else {
      const { size } = await stat(path)
      response.writeHead(200, { "Content-Length": size })
      if (size < 65_536) response.end(await readFile(path))
      else await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), response)
    }
  }
  server.listen(port, "127.0.0.1", () => process.stdout.write("listening\n"))
}

async function main(): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const dir = mkdtempSync(join(tmpdir(), "quayside-bench-files-"))
  chmodSync(dir, 0o755)
  stack.defer(() => rm(dir, { recursive: true, force: true }))
  const contenders = [
    await startNginx(stack, dir),
    await startApache(stack, dir),
    await startNode(stack, dir, { name: "quayside", flag: "--serve" }),
    await startNode(stack, dir, { name: "by path, in one process", flag: "--prototype" }),
  ]
  writeFileSync(join(dir, "put.lua"), putScript)
  const big = join(dir, "big")
  await run("sh", ["-c", `head -c ${Number(values.gigabytes) * 2 ** 30} /dev/zero > ${big}`])
  const idle = await family(contenders[2]?.child.pid ?? 0)
  await small(contenders, { title: "GET of 1 KB, 64 connections", path: "/users/ann/small" })
  await small(contenders, { title: "PUT of 1 KB, 64 connections", path: "/users/ann/put", script: join(dir, "put.lua") })
  await timed(contenders, { title: `GET of ${values.gigabytes} GiB`, args: ["-o", "/dev/null"], path: "/users/ann/big" })
  await timed(contenders, { title: `PUT of ${values.gigabytes} GiB`, args: ["-T", big, "-o", "/dev/null"], path: "/users/ann/upload" })
  await timed(contenders, {
    title: `PROPFIND of ${values.entries} entries`,
    args: ["-X", "PROPFIND", "-H", "Depth: 1", "-o", "/dev/null"],
    path: "/users/ann/many/",
  })
  for (const pid of idle.slice(1)) {
    process.stdout.write(
      `memory of quayside's worker afterwards: ${memoryOf(pid, "Rss").toFixed(0)} MiB resident, ${memoryOf(pid, "Pss").toFixed(0)} MiB its share\n`,
    )
  }
}

const putScript = `local n = 0
request = function()
  n = n + 1
  return wrk.format("PUT", "/users/ann/put" .. (n % 1000), nil, string.rep("x", 1024))
end
`

async function small(contenders: Contender[], test: { title: string; path: string; script?: string }): Promise<void> {
  const rates = new Map<string, number[]>()
  for (let round = -1; round < Number(values.rounds); round += 1) {
    for (const { name, port } of contenders) {
      const script = test.script ? ["-s", test.script] : []
      const seconds = round < 0 ? "1" : values.seconds
      const args = [
        "-c",
        "1",
        "wrk",
        "-t1",
        "-c64",
        `-d${seconds}s`,
        ...script,
        "-H",
        `Authorization: ${authorization}`,
        `http://127.0.0.1:${port}${test.path}`,
      ]
      const { stdout } = await run("taskset", args)
      if (/Non-2xx/.test(stdout)) throw new Error(`${name}: ${stdout}`)
      if (round >= 0) push(rates, name, Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]))
    }
  }
  print(test.title, rates, { ratio: (own, other) => own / other, show: (v) => `${Math.round(v)}/s` })
}

async function timed(contenders: Contender[], test: { title: string; path: string; args: string[] }): Promise<void> {
  const times = new Map<string, number[]>()
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const { name, port, root } of contenders) {
      const url = `http://127.0.0.1:${port}${test.path}`
      const args = ["-c", "1", "curl", "-s", "--fail", "-w", "%{time_total}", "-H", `Authorization: ${authorization}`, ...test.args, url]
      push(times, name, Number((await run("taskset", args)).stdout))
      await rm(join(root, "users/ann/upload"), { force: true })
    }
  }
  print(test.title, times, { ratio: (own, other) => other / own, show: (v) => `${(v * 1000).toFixed(0)} ms` })
}

function print(
  title: string,
  figures: Map<string, number[]>,
  { ratio, show }: { ratio: (own: number, other: number) => number; show: (v: number) => string },
): void {
  const base = figures.get("nginx") ?? []
  process.stdout.write(`${title}\n`)
  for (const [name, all] of figures) {
    const ratios = all.map((value, i) => ratio(value, base[i] ?? Number.NaN))
    process.stdout.write(`  ${name.padEnd(26)} ${median(ratios).toFixed(2).padStart(6)}   ${show(median(all))}\n`)
  }
}

/** A home with a small file, a large one, and a directory of many entries. */
async function makeRoot(dir: string, name: string): Promise<string> {
  const root = join(dir, name.replaceAll(/\W/g, ""))
  await mkdir(join(root, "users/ann/many"), { recursive: true })
  await writeFile(join(root, "users/ann/small"), "x".repeat(1024))
  for (let i = 0; i < Number(values.entries); i += 1) writeFileSync(join(root, "users/ann/many", `file-${i}.txt`), "")
  await run("sh", [
    "-c",
    `head -c ${Number(values.gigabytes) * 2 ** 30} /dev/zero > ${root}/users/ann/big && chown -R ${owner.uid}:${owner.gid} ${root}`,
  ])
  return root
}

async function startNode(stack: AsyncDisposableStack, dir: string, { name, flag }: { name: string; flag: string }): Promise<Contender> {
  const [root, port] = [await makeRoot(dir, name), await freePort()]
  const child = await start(stack, [process.execPath, import.meta.filename, flag, JSON.stringify({ port, root })], port)
  return { name, port, root, child }
}

async function startNginx(stack: AsyncDisposableStack, dir: string): Promise<Contender> {
  const [root, port] = [await makeRoot(dir, "nginx"), await freePort()]
  mkdirSync(join(root, "temporary"))
  const conf = join(dir, "nginx.conf")
  const modules = ["/usr/lib/nginx/modules/ngx_http_dav_ext_module.so"]
    .filter((path) => existsSync(path))
    .map((path) => `load_module ${path};`)
  writeFileSync(
    conf,
    `${modules.join("")} user root; error_log stderr error; daemon off; worker_processes 1; pid ${dir}/nginx.pid; events { worker_connections 4096; }
    http { access_log off; sendfile on; keepalive_requests 1000000000; client_max_body_size 0; client_body_temp_path ${root}/temporary; default_type application/octet-stream;
    server { listen 127.0.0.1:${port}; root ${root}; location / { dav_methods PUT DELETE MKCOL COPY MOVE; dav_ext_methods PROPFIND OPTIONS; } } }`,
  )
  return { name: "nginx", port, root, child: await start(stack, ["nginx", "-p", dir, "-c", conf], port) }
}

async function startApache(stack: AsyncDisposableStack, dir: string): Promise<Contender> {
  const [root, port] = [await makeRoot(dir, "apache"), await freePort()]
  const conf = join(dir, "apache.conf")
  const modules = ["mpm_event", "authz_core", "dav", "dav_fs"].map(
    (name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`,
  )
  writeFileSync(
    conf,
    `${modules.join("\n")}
ServerName localhost
Listen 127.0.0.1:${port}
PidFile ${dir}/apache.pid
ErrorLog ${dir}/apache.log
User #${owner.uid}
Group #${owner.gid}
DavLockDB ${root}/locks
LimitRequestBody 0
KeepAlive On
MaxKeepAliveRequests 0
DocumentRoot ${root}
<Directory ${root}>
  Dav On
  Require all granted
</Directory>
`,
  )
  return { name: "apache", port, root, child: await start(stack, ["apache2", "-d", dir, "-f", conf, "-DFOREGROUND"], port) }
}

async function start(stack: AsyncDisposableStack, args: string[], port: number): Promise<ChildProcess> {
  const child = spawn("taskset", ["-c", "0", ...args], { stdio: ["ignore", "ignore", "inherit"] })
  stack.defer(async () => {
    const ended = new Promise((resolve) => child.once("exit", resolve))
    if (child.exitCode === null && child.kill("SIGTERM")) await ended
  })
  for (let i = 0; i < 200; i += 1) {
    const socket = connect(port, "127.0.0.1")
    const isOpen = await new Promise<boolean>((resolve) => socket.once("connect", () => resolve(true)).once("error", () => resolve(false)))
    socket.destroy()
    if (isOpen) return child
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${args.join(" ")} does not listen`)
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

function push(map: Map<string, number[]>, name: string, value: number): void {
  const list = map.get(name)
  if (list) list.push(value)
  else map.set(name, [value])
}

if (values.serve !== undefined) await serve(JSON.parse(values.serve))
else if (values.prototype !== undefined) servePrototype(JSON.parse(values.prototype))
else await main()
