import assert from "node:assert/strict"
import { execFileSync, spawn } from "node:child_process"
import { once } from "node:events"
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { after, test } from "node:test"
import { fileURLToPath } from "node:url"
import { readSettings, type Settings, settingsTable } from "#main"

const dir = mkdtempSync(join(tmpdir(), "quayside-settings-"))
after(() => rmSync(dir, { recursive: true }))
const program = fileURLToPath(new URL("../bin/quayside.js", import.meta.url))
const names = Object.keys(settingsTable) as (keyof Settings)[]
const read = (values: { env?: Record<string, string>; options?: Record<string, string>; file?: unknown; warned?: string[] }) => {
  const file = values.file === undefined ? undefined : join(dir, "config.json")
  if (file) writeFileSync(file, JSON.stringify(values.file))
  return readSettings({ env: values.env ?? {}, options: values.options ?? {}, file, warn: (text) => values.warned?.push(text) })
}

test("the variables that scripts rely on have their names and defaults", () => {
  const settings = read({})
  const {
    port,
    appsPort,
    filesPort,
    host,
    dataDir,
    engine,
    mockGpus,
    isolation,
    defaultCpus,
    defaultMemory,
    cpuOvercommit,
    memoryOvercommit,
  } = settings
  assert.deepEqual(
    [port, appsPort, filesPort, host, dataDir, engine, mockGpus, isolation],
    [8080, 8081, 8082, "localhost", "./data", "docker", 0, "on"],
  )
  assert.deepEqual([defaultCpus, defaultMemory, cpuOvercommit, memoryOvercommit], [1, 2048, 4, 1])
  const known = names.map((name) => settingsTable[name].env)
  const counted =
    "PORT APPS_PORT FILES_PORT HOST DATA_DIR DATABASE_URL ADMIN_PASSWORD ENGINE BASE_URL APPS_URL FILES_URL TRUSTED_PROXIES MOCK_GPUS RUN_UID ISOLATION DEFAULT_CPUS DEFAULT_MEMORY CPU_OVERCOMMIT MEMORY_OVERCOMMIT"
  assert.deepEqual(
    counted.split(" ").filter((name) => !known.includes(name)),
    [],
  )
})

test("the environment wins over the file, and the command line over both", () => {
  assert.equal(read({ file: { port: 1 } }).port, 1)
  assert.equal(read({ file: { port: 1 }, env: { QUAYSIDE_PORT: "2" } }).port, 2)
  assert.equal(read({ file: { port: 1 }, env: { QUAYSIDE_PORT: "2" }, options: { port: "3" } }).port, 3)
  assert.deepEqual(read({ file: { trustedProxies: ["10.0.0.0/8", "::1"] } }).trustedProxies, ["10.0.0.0/8", "::1"])
  assert.equal(read({ env: { QUAYSIDE_DEFAULT_MEMORY: "2GiB" } }).defaultMemory, 2048)
  assert.equal(read({ env: { QUAYSIDE_DOCKER_SOCKET: "unix:///run/docker.sock" } }).dockerSocket, "/run/docker.sock")
})

test("a group's internet setting is on, off, or a list of networks", () => {
  const { groupInternet } = read({ env: { QUAYSIDE_GROUP_INTERNET: "exam=off, lab=198.51.100.0/24+203.0.113.7,staff=on" } })
  assert.deepEqual(groupInternet, [
    { group: "exam", internet: false },
    { group: "lab", internet: ["198.51.100.0/24", "203.0.113.7"] },
    { group: "staff", internet: true },
  ])
  for (const [text, sentence] of [
    ["exam", /entries like students=off/],
    ["Exam=off", /entries like students=off/],
    ["exam=no", /on, off, or networks joined by \+, for exam/],
    ["lab=10.0.0.1/8", /on, off, or networks/],
    ["exam=off,exam=on", /at most one entry per group; exam has two/],
  ] as const)
    assert.throws(() => read({ env: { QUAYSIDE_GROUP_INTERNET: text } }), { name: "SettingError", message: sentence })
})

test("help names every setting with its variable and default", () => {
  const help = execFileSync(process.execPath, [program, "serve", "--help"], { encoding: "utf8" })
  for (const name of names) {
    const option = name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)
    const { env, default: initial } = settingsTable[name]
    assert.ok(help.includes(`--${option} `) && help.includes(`QUAYSIDE_${env}. Default: ${initial}.`), name)
  }
})

test("an unknown setting and a wrong value are rejected with a sentence that names them, without secrets", () => {
  for (const [given, sentence] of [
    [{ env: { QUAYSIDE_PROT: "1" } }, /QUAYSIDE_PROT is not a setting.*QUAYSIDE_PORT/],
    [{ env: { QUAYSIDE_PORT: "many" } }, /QUAYSIDE_PORT must be a whole number from 0 to 65535; got "many"/],
    [{ env: { QUAYSIDE_ENGINE: "podman" } }, /QUAYSIDE_ENGINE must be one of docker, kubernetes, fake/],
    [{ env: { QUAYSIDE_GPUS: "2" } }, /QUAYSIDE_GPUS must be one of auto, nvidia, none; got "2"/],
    [{ env: { QUAYSIDE_DOCKER_SOCKET: "tcp://127.0.0.1:2375" } }, /QUAYSIDE_DOCKER_SOCKET must be the path of a Unix socket, .* got "tcp/],
    [{ options: { "apps-prt": "1" } }, /--apps-prt is not a setting.*--apps-port/],
    [{ file: { ports: 1 } }, /ports in .* is not a setting/],
    [{ file: [] }, /must contain a JSON object/],
    [{ env: { QUAYSIDE_BASE_URL: "https://x/path" } }, /QUAYSIDE_BASE_URL must be an address/],
    [{ env: { QUAYSIDE_OIDC_ISSUER: "http://id.example.org" } }, /QUAYSIDE_OIDC_ISSUER must be an address that begins with https/],
    [{ env: { QUAYSIDE_OIDC_ISSUER: "https://id.example.org/?a=b" } }, /QUAYSIDE_OIDC_ISSUER must be/],
    [{ env: { QUAYSIDE_OIDC_ADMIN: "admins" } }, /QUAYSIDE_OIDC_ADMIN must be a claim and its value/],
    [{ env: { QUAYSIDE_OIDC_SCOPE: "profile" } }, /including openid/],
    [{ env: { QUAYSIDE_DEFAULT_MEMORY: "2 apples" } }, /amount of memory/],
    [{ env: { QUAYSIDE_DEFAULT_MEMORY: "5MiB" } }, /QUAYSIDE_DEFAULT_MEMORY .*at least 6MiB/],
    [{ env: { QUAYSIDE_TRUSTED_PROXIES: "10.0.0.0/8, proxy.example" } }, /QUAYSIDE_TRUSTED_PROXIES must be addresses and networks/],
  ] as const)
    assert.throws(() => read(given), { name: "SettingError", message: sentence })
  assert.throws(
    () => read({ env: { QUAYSIDE_DATABASE_URL: "mysql://u:hunter2@h" } }),
    (error: Error) => !error.message.includes("hunter2"),
  )
})

test("an empty value means unset, and variables that Kubernetes injects are ignored with a warning", () => {
  assert.equal(read({ env: { QUAYSIDE_PORT: "" } }).port, 8080)
  // All variables that Kubernetes injects for the services `quayside` and `quayside-apps`.
  const injected = {
    QUAYSIDE_SERVICE_HOST: "10.0.0.1",
    QUAYSIDE_SERVICE_PORT: "80",
    QUAYSIDE_SERVICE_PORT_HTTP: "80",
    QUAYSIDE_PORT: "tcp://10.0.0.1:80",
    QUAYSIDE_PORT_80_TCP: "tcp://10.0.0.1:80",
    QUAYSIDE_PORT_80_TCP_PROTO: "tcp",
    QUAYSIDE_PORT_80_TCP_PORT: "80",
    QUAYSIDE_PORT_80_TCP_ADDR: "10.0.0.1",
    QUAYSIDE_APPS_PORT: "tcp://10.0.0.2:80",
  }
  const warned: string[] = []
  const { port, appsPort } = read({ env: { ...injected, OTHER: "x" }, warned })
  assert.deepEqual([port, appsPort], [8080, 8081])
  assert.deepEqual(
    warned.map((text) => text.split(" ")[0]),
    Object.keys(injected),
  )
  assert.throws(() => read({ env: { QUAYSIDE_ENGINE: "tcp://10.0.0.1:80" } }), /QUAYSIDE_ENGINE must be one of/)
})

/** Starts `quayside serve` with settings that make it fail. */
async function refusedStart(env: Record<string, string>) {
  const child = spawn(process.execPath, [program, "serve"], { cwd: dir, env: { ...process.env, QUAYSIDE_ENGINE: "fake", ...env } })
  const reported: Buffer[] = []
  child.stderr.on("data", (chunk: Buffer) => reported.push(chunk))
  const [code] = await once(child, "close")
  const lines = Buffer.concat(reported.map((chunk) => new Uint8Array(chunk)))
    .toString()
    .trim()
    .split("\n")
  return { code, sentence: lines.filter((line) => line.startsWith("quayside: ")).join("\n") }
}

test("the start fails if two of the three addresses are the same, so that programs share no origin with the API", async () => {
  for (const [env, sentence] of [
    [
      { QUAYSIDE_BASE_URL: "https://q.example", QUAYSIDE_FILES_URL: "https://Q.example:443/" },
      /FILES_URL must be another address than QUAYSIDE_BASE_URL; both are https:\/\/q\.example$/,
    ],
    [{ QUAYSIDE_APPS_URL: "http://localhost:8080" }, /APPS_URL must be another address than QUAYSIDE_BASE_URL/],
    [{ QUAYSIDE_APPS_PORT: "8082" }, /FILES_URL must be another address than QUAYSIDE_APPS_URL; both are http:\/\/localhost:8082$/],
  ] as const) {
    const { code, sentence: said } = await refusedStart({ ...env, QUAYSIDE_DATA_DIR: join(dir, "shared") })
    assert.equal(code, 1)
    assert.match(said, sentence)
    assert.ok(!existsSync(join(dir, "shared")), "nothing was made")
  }
})

test("the start fails with one sentence and exit code 1 if a port is in use or the data directory is not writable", async () => {
  await using server = createServer().listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as { port: number }
  const others = { QUAYSIDE_PORT: "0", QUAYSIDE_APPS_PORT: "0", QUAYSIDE_FILES_PORT: "0" }
  const occupied = await refusedStart({ ...others, QUAYSIDE_PORT: String(port), QUAYSIDE_DATA_DIR: join(dir, "a") })
  assert.equal(occupied.code, 1)
  assert.match(occupied.sentence, new RegExp(`Port ${port}.* is in use`))
  writeFileSync(join(dir, "file"), "")
  const unwritable = await refusedStart({ ...others, QUAYSIDE_DATA_DIR: join(dir, "file", "data") })
  assert.equal(unwritable.code, 1)
  assert.ok(unwritable.sentence.includes(join(dir, "file")), unwritable.sentence)
})

test("the start fails with one sentence that names the setting if the host is unknown or not this machine's", async () => {
  const others = { QUAYSIDE_PORT: "0", QUAYSIDE_APPS_PORT: "0", QUAYSIDE_FILES_PORT: "0", QUAYSIDE_DATA_DIR: join(dir, "h") }
  for (const [host, sentence] of [
    ["203.0.113.7", /^quayside: QUAYSIDE_HOST must be an address of this machine; got 203\.0\.113\.7$/],
    ["nowhere.invalid", /^quayside: QUAYSIDE_HOST must be a name or an address of this machine; nowhere\.invalid is not known \(\w+\)$/],
  ] as const) {
    const { code, sentence: told } = await refusedStart({ ...others, QUAYSIDE_HOST: host })
    assert.equal(code, 1)
    assert.match(told, sentence)
  }
})

test("the start fails if only one of two settings that need each other is set", async () => {
  const dataDir = { QUAYSIDE_DATA_DIR: join(dir, "b") }
  for (const [env, sentence] of [
    [{ QUAYSIDE_OIDC_ISSUER: "https://id.example.org" }, /QUAYSIDE_OIDC_ISSUER and QUAYSIDE_OIDC_CLIENT_ID must be set together/],
    [{ QUAYSIDE_OIDC_GROUPS: "a" }, /QUAYSIDE_OIDC_GROUPS_CLAIM and QUAYSIDE_OIDC_GROUPS must be set together/],
  ] as const) {
    const { code, sentence: told } = await refusedStart({ ...dataDir, ...env })
    assert.equal(code, 1)
    assert.match(told, sentence)
  }
})

test("the start fails if a process shall have some roles only, and the other settings need all in one process", async () => {
  const DATABASE_URL = "postgres://nobody@localhost/none"
  for (const [env, sentence] of [
    [{ QUAYSIDE_ONLY: "gateway" }, /QUAYSIDE_ONLY needs PostgreSQL: with SQLite, one process has all roles/],
    [{ QUAYSIDE_ONLY: "api,files", QUAYSIDE_DATABASE_URL: DATABASE_URL }, /QUAYSIDE_ONLY needs Docker or Kubernetes/],
    [
      { QUAYSIDE_ONLY: "gateway", QUAYSIDE_ENGINE: "docker", QUAYSIDE_DATABASE_URL: DATABASE_URL, QUAYSIDE_APPS_PORTS: "20000-20100" },
      /QUAYSIDE_APPS_PORTS needs the roles api and gateway in one process/,
    ],
    [{ QUAYSIDE_ONLY: "gatekeeper" }, /QUAYSIDE_ONLY must be .*got "gatekeeper"/],
  ] as const) {
    const { code, sentence: told } = await refusedStart({ QUAYSIDE_DATA_DIR: join(dir, "roles"), ...env })
    assert.equal(code, 1)
    assert.match(told, sentence)
    assert.ok(!existsSync(join(dir, "roles")), "nothing was made")
  }
})
