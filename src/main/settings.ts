import { readFileSync } from "node:fs"
import { bounds, defaultLimits, type EffectiveLimits, limitNames, nearestName } from "#contract"
import { isNetworkPool, isRegistryPattern, isSubnet, minMemoryMiB, wellKnownRegistries } from "#engine"
import { isAddressOrNetwork, logLevels } from "#kit"

/** A setting that cannot be used; the message names it, says what is wanted and what came. */
export class SettingError extends Error {
  override readonly name = "SettingError"
}

interface Setting<T> {
  /** Without `QUAYSIDE_`. */
  env: string
  /** In words, for the reference page; the value itself is `initial`. */
  default: string
  initial: T
  doc: string
  read: (text: string) => T
}

function wanted(what: string): never {
  throw new SettingError(what)
}

const text = (value: string) => value
const whole = (least: number, most: number) => (value: string) => {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  return number >= least && number <= most ? number : wanted(`a whole number from ${least} to ${most}`)
}
const port = whole(0, 65_535)
const portRange = (value: string) => {
  const [, first = Number.NaN, last = Number.NaN] = (/^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []).map(Number)
  return first >= 1_024 && last <= 65_535 && last - first >= 3
    ? { first, last }
    : wanted("a range of four ports or more from 1024 on, like 21000-21999")
}
const positive = (value: string) => (/^\d{1,6}(\.\d{1,3})?$/.test(value) && Number(value) > 0 ? Number(value) : wanted("a number above 0"))
const oneOf =
  <const T extends string>(...values: T[]) =>
  (value: string): T =>
    (values as string[]).includes(value) ? (value as T) : wanted(`one of ${values.join(", ")}`)
const url = (value: string) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const isPlain = parsed && /^https?:$/.test(parsed.protocol) && parsed.search === "" && parsed.hash === "" && parsed.username === ""
  return isPlain && parsed.pathname === "/" ? parsed.origin : wanted("an address like https://quayside.example.com, without a path")
}
/** Docker's own `unix://` may stand before it. */
const socketPath = (value: string) => {
  const path = value.replace(/^unix:\/\//, "")
  return path.includes("://") ? wanted("the path of a Unix socket, like /var/run/docker.sock") : path
}
/** The engine knows the form of addresses and networks. */
const subnets = (value: string) =>
  list(value).map((entry) => (isSubnet(entry) ? entry : wanted("addresses and networks like 10.1.2.0/24, with commas between")))
const proxies = (value: string) =>
  list(value).map((entry) => (isAddressOrNetwork(entry) ? entry : wanted("addresses and networks like 10.0.0.0/8, with commas between")))
const list = (value: string) =>
  value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
/** Entries `GROUP=on`, `GROUP=off` or `GROUP=NETWORK+NETWORK`, in the order in which they count. */
const groupInternet = (value: string) => {
  const entries = list(value).map((entry) => {
    const [, group, words = ""] = /^([a-z0-9][a-z0-9._-]{0,63})=(.+)$/.exec(entry) ?? []
    if (group === undefined) return wanted("entries like students=off or lab=198.51.100.0/24+203.0.113.7, with commas between")
    if (words === "on" || words === "off") return { group, internet: words === "on" }
    const networks = words.split("+")
    return networks.every(isSubnet) ? { group, internet: networks } : wanted(`on, off, or networks with + between, for ${group}`)
  })
  const groups = entries.map(({ group }) => group)
  const twice = groups.find((group, n) => groups.indexOf(group) !== n)
  return twice === undefined ? entries : wanted(`one entry for each group; ${twice} has two`)
}
/** Limits by name, over the built-in defaults. */
const limitList = (value: string): EffectiveLimits => {
  const limits = { ...defaultLimits }
  for (const entry of list(value)) {
    const [, word, amount] = /^(\w+)=(none|\d{1,15})$/.exec(entry) ?? []
    const name = limitNames.find((each) => each === word)
    if (!name) return wanted(`entries like MaxRuns=20 or MaxObjects=none, with commas between; the names are ${limitNames.join(", ")}`)
    limits[name] = amount === "none" ? null : Number(amount)
  }
  return limits
}
/** Hosts as image references name them. */
const registries = (value: string) =>
  list(value.toLowerCase()).map((entry) =>
    isRegistryPattern(entry)
      ? entry
      : wanted("`public` and registries like ghcr.io, registry.lan:5000 or *.example.com, with commas between"),
  )
/** Bytes; 0 is none. */
const sizeOrNone = (value: string) => (value === "0" ? 0 : memory(value) * 1024 * 1024)
/** An amount of memory in MiB: `2GiB`, `512MiB`, or bytes. */
const memory = (value: string) => {
  const match = /^(\d{1,15})\s*(MiB|GiB|TiB|)$/i.exec(value)
  if (!match) return wanted("an amount of memory like 2GiB or 512MiB")
  const factor = { mib: 1, gib: 1024, tib: 1024 * 1024, "": 1 / (1024 * 1024) }[match[2]?.toLowerCase() ?? ""] ?? 1
  const amount = Math.floor(Number(match[1]) * factor)
  return amount >= 1 ? amount : wanted("an amount of memory of at least 1MiB")
}
const runMemory = (value: string) => {
  const amount = memory(value)
  return amount >= minMemoryMiB ? amount : wanted(`an amount of memory of at least ${minMemoryMiB}MiB`)
}

const issuer = (value: string) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const isLocal = parsed?.protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)
  const isPlain = parsed && parsed.search === "" && parsed.hash === "" && parsed.username === "" && parsed.password === ""
  const isSafe = parsed?.protocol === "https:" || isLocal
  return isPlain && isSafe
    ? value
    : wanted("an address that begins with https:// (or http:// on this machine), like https://id.example.com/realms/lab")
}
const claimValue = (value: string) => {
  const [, claim, held] = /^([^=]+)=(.+)$/.exec(value) ?? []
  return claim !== undefined && held !== undefined ? { claim, value: held } : wanted("a claim and its value, like groups=quayside-admins")
}

const setting = <T>(row: Setting<T>) => row

/**
 * The settings as one table: environment variables, configuration file, `quayside serve --help` and
 * the reference page are made from it.
 */
export const settingsTable = {
  port: setting({
    env: "PORT",
    default: "8080",
    initial: 8080,
    read: port,
    doc: "Port of the base URL: HTTP API and web UI. 0 takes a free one.",
  }),
  appsPort: setting({
    env: "APPS_PORT",
    default: "8081",
    initial: 8081,
    read: port,
    doc: "Port of the apps URL: the gateway to running projects.",
  }),
  appsPorts: setting({
    env: "APPS_PORTS",
    default: "none: runs have names below the apps URL",
    initial: undefined as { first: number; last: number } | undefined,
    read: portRange,
    doc: "Ports that runs have of their own, such as `21000-21999`, for servers that people reach by a plain name or address without a wildcard. A port belongs to one person for ever, so take enough: some ten for each account.",
  }),
  appsPortsPerPerson: setting({
    env: "APPS_PORTS_PER_PERSON",
    default: String(bounds.gateway.portsPerPerson.value),
    initial: bounds.gateway.portsPerPerson.value as number,
    read: whole(1, 65_535),
    doc: "Ports of the range that one person may come to have; never more than half of the range.",
  }),
  filesPort: setting({ env: "FILES_PORT", default: "8082", initial: 8082, read: port, doc: "Port of the files URL: WebDAV." }),
  host: setting({
    env: "HOST",
    default: "localhost",
    initial: "localhost",
    read: text,
    doc: "Name or address to listen on. `localhost` is both loopback addresses; the start fails when one of them is taken.",
  }),
  dataDir: setting({
    env: "DATA_DIR",
    default: "./data",
    initial: "./data",
    read: text,
    doc: "Database, files root (`files/`) and secrets. Made when missing, readable by its owner only.",
  }),
  filesDir: setting({
    env: "FILES_DIR",
    default: "`files/` in the data directory",
    initial: "",
    read: text,
    doc: "The files root: homes and datasets. On a disk of its own, what people store never takes the database's room. Made when missing; only root may be able to change the directories above it.",
  }),
  storageReserve: setting({
    env: "STORAGE_RESERVE",
    default: "1 GiB or 2 % of the disk, the larger, up to 64 GiB; a sixteenth of a disk below 16 GiB",
    initial: undefined as number | undefined,
    read: sizeOrNone,
    doc: "So much of the files root's disk is kept free: beyond it uploads are refused, and runs whose directories grow are ended, the one that grew most first.",
  }),
  databaseUrl: setting({
    env: "DATABASE_URL",
    default: "SQLite in the data directory",
    initial: "",
    read: (value) =>
      /^(postgres|postgresql):\/\//.test(value) || value.startsWith("sqlite:")
        ? value
        : wanted("an address that begins with postgres:// or sqlite:"),
    doc: "Where the database is: `postgres://…`, or `sqlite:<file>`.",
  }),
  databaseMoved: setting({
    env: "DATABASE_MOVED",
    default: "off",
    initial: "off" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "`on` for the first start after the database was moved from another machine or server: the running containers are taken up. Without it such a database counts as a copy, which leaves them alone.",
  }),
  adminPassword: setting({
    env: "ADMIN_PASSWORD",
    default: "generated and printed once",
    initial: "",
    read: text,
    doc: "Password of the first administrator, `admin`, at the first start. Later starts pass over it.",
  }),
  engine: setting({
    env: "ENGINE",
    default: "docker",
    initial: "docker" as "docker" | "fake",
    read: oneOf("docker", "fake"),
    doc: "What runs containers: `docker`, or `fake` (pretends, for trying out the API).",
  }),
  dockerSocket: setting({
    env: "DOCKER_SOCKET",
    default: "DOCKER_HOST, else /var/run/docker.sock",
    initial: "",
    read: socketPath,
    doc: "Path of the Docker Engine's socket.",
  }),
  baseUrl: setting({
    env: "BASE_URL",
    default: "http://localhost:<port>",
    initial: "",
    read: url,
    doc: "The address at which people reach API and web UI.",
  }),
  appsUrl: setting({
    env: "APPS_URL",
    default: "http://localhost:<appsPort>",
    initial: "",
    read: url,
    doc: "The address of the gateway; no other address may be the same. Each run's own origin is a name below it.",
  }),
  filesUrl: setting({
    env: "FILES_URL",
    default: "http://localhost:<filesPort>",
    initial: "",
    read: url,
    doc: "The address of the WebDAV server; no other address may be the same.",
  }),
  trustedProxies: setting({
    env: "TRUSTED_PROXIES",
    default: "none",
    initial: [] as string[],
    read: proxies,
    doc: "Addresses and networks, with commas between, whose `X-Forwarded-For` counts.",
  }),
  maxConnections: setting({
    env: "MAX_CONNECTIONS",
    default: "20000",
    initial: bounds.http.connections.value,
    read: whole(100, 1_000_000),
    doc: "Connections to API and gateway together, and as many again to files; fewer where the process may have fewer descriptors (`ulimit -n`).",
  }),
  maxConnectionsPerAddress: setting({
    env: "MAX_CONNECTIONS_PER_ADDRESS",
    default: "1024",
    initial: bounds.http.connectionsPerAddress.value,
    read: whole(10, 1_000_000),
    doc: "Connections of one address on which nobody has signed in yet.",
  }),
  maxConnectionsPerPerson: setting({
    env: "MAX_CONNECTIONS_PER_PERSON",
    default: "4096",
    initial: bounds.http.connectionsPerPerson.value,
    read: whole(10, 1_000_000),
    doc: "Connections of one person, WebSockets and streams of events included.",
  }),
  mockGpus: setting({
    env: "MOCK_GPUS",
    default: "0",
    initial: 0,
    read: whole(0, 1024),
    doc: "So many pretended GPUs, for trying out scheduling.",
  }),
  runUid: setting({
    env: "RUN_UID",
    default: "1000",
    initial: 1000,
    read: whole(1, 2 ** 31 - 1),
    doc: "User and group ID of the programs that run, and owner of all files below the files root.",
  }),
  isolation: setting({
    env: "ISOLATION",
    default: "on",
    initial: "on" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "`off` starts without the rights that isolation needs: only for one trusted person on their own machine.",
  }),
  networkPool: setting({
    env: "NETWORK_POOL",
    default: "10.213.0.0/16",
    initial: "10.213.0.0/16",
    read: (value) => (isNetworkPool(value) ? value : wanted("a network from /8 to /24 like 10.213.0.0/16")),
    doc: "Addresses of runs: each person gets a network of 32 from it. Choose a private range that nothing else on the host or its network uses.",
  }),
  internet: setting({
    env: "INTERNET",
    default: "on",
    initial: "on" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "Whether runs reach public addresses, and the host's name servers.",
  }),
  groupInternet: setting({
    env: "GROUP_INTERNET",
    default: "none",
    initial: [] as { group: string; internet: boolean | string[] }[],
    read: groupInternet,
    doc: "What the runs of some groups' members reach instead, with commas between: `students=off`, `staff=on`, or only some networks, `lab=198.51.100.0/24+203.0.113.7`. The first entry that names a group of the person counts, from their next start on.",
  }),
  networkAllow: setting({
    env: "NETWORK_ALLOW",
    default: "none",
    initial: [] as string[],
    read: subnets,
    doc: "Addresses and networks, with commas between, that runs reach although they are private. Not the host itself, nor other runs.",
  }),
  networkDeny: setting({
    env: "NETWORK_DENY",
    default: "none",
    initial: [] as string[],
    read: subnets,
    doc: "Addresses and networks that runs do not reach although they are public. Wins over `NETWORK_ALLOW`.",
  }),
  registries: setting({
    env: "REGISTRIES",
    default: wellKnownRegistries.join(","),
    initial: [...wellKnownRegistries] as string[],
    read: registries,
    doc: "Where images may come from, with commas between: hosts as references name them (`docker.io`, `registry.lan:5000`, `registry.lan:*` for any port), `*.example.com` for a domain, and `public` for all that have a public name with public addresses only. A value replaces the default: name those of it that are still wanted.",
  }),
  seccomp: setting({
    env: "SECCOMP",
    default: "Quayside's own profile",
    initial: "",
    read: text,
    doc: "A file with the system calls that runs may make, instead of Quayside's own: JSON in the form of Docker's seccomp profiles, one that names what is allowed. Read at the start.",
  }),
  registryCredentials: setting({
    env: "REGISTRY_CREDENTIALS",
    default: "none",
    initial: "",
    read: text,
    doc: "A file, mode 0600, with the credentials of registries and for whom each is: see docs/how-to/registries.md.",
  }),
  maxImageSize: setting({
    env: "MAX_IMAGE_SIZE",
    default: "20GiB",
    initial: bounds.containers.imageBytes.value as number,
    read: sizeOrNone,
    doc: "The largest image that is fetched; 0 is no bound. Counted packed while it comes, and unpacked once it is there.",
  }),
  defaultCpus: setting({ env: "DEFAULT_CPUS", default: "1", initial: 1, read: whole(1, 4096), doc: "CPUs of a run that does not say." }),
  defaultMemory: setting({
    env: "DEFAULT_MEMORY",
    default: "2GiB",
    initial: 2048,
    read: runMemory,
    doc: "Memory of a run that does not say.",
  }),
  cpuOvercommit: setting({
    env: "CPU_OVERCOMMIT",
    default: "4",
    initial: 4,
    read: positive,
    doc: "How many CPUs are handed out for each that is there.",
  }),
  memoryOvercommit: setting({ env: "MEMORY_OVERCOMMIT", default: "1", initial: 1, read: positive, doc: "The same for memory." }),
  memoryUnit: setting({
    env: "MEMORY_UNIT",
    default: "MiB",
    initial: "MiB" as "bytes" | "MiB" | "GiB",
    read: oneOf("bytes", "MiB", "GiB"),
    doc: "The unit of `Memory` and `GpuMemory` in the API.",
  }),
  oidcIssuer: setting({
    env: "OIDC_ISSUER",
    default: "none",
    initial: "",
    read: issuer,
    doc: "The OpenID provider that people may sign in by: its issuer identifier, `https://…` (`http://` on this machine only). Needs `OIDC_CLIENT_ID`.",
  }),
  oidcClientId: setting({ env: "OIDC_CLIENT_ID", default: "none", initial: "", read: text, doc: "What the provider knows Quayside as." }),
  oidcClientSecret: setting({
    env: "OIDC_CLIENT_SECRET",
    default: "none",
    initial: "",
    read: text,
    doc: "The secret that goes with it; none for a public client.",
  }),
  oidcName: setting({
    env: "OIDC_NAME",
    default: "the issuer's host",
    initial: "",
    read: text,
    doc: "What people call the provider: the button on the sign-in page says `Sign in with …`.",
  }),
  oidcScope: setting({
    env: "OIDC_SCOPE",
    default: "openid profile email",
    initial: "openid profile email",
    read: (value) => (value.split(" ").includes("openid") ? value : wanted("scopes with spaces between, openid among them")),
    doc: "What the provider is asked for. Some want a further scope before they tell groups.",
  }),
  oidcUserClaim: setting({
    env: "OIDC_USER_CLAIM",
    default: "preferred_username",
    initial: "preferred_username",
    read: text,
    doc: "The claim that holds the user name of a new account. Later it may change: the account belongs to the provider's subject.",
  }),
  oidcUserSuffix: setting({
    env: "OIDC_USER_SUFFIX",
    default: "none",
    initial: "",
    read: text,
    doc: "What is cut off the end of that name, like `@example.com`; a name with another end makes no account.",
  }),
  oidcUnknown: setting({
    env: "OIDC_UNKNOWN",
    default: "refuse",
    initial: "refuse" as "refuse" | "create",
    read: oneOf("refuse", "create"),
    doc: "Whether whoever signs in by the provider and has no account gets one.",
  }),
  oidcLink: setting({
    env: "OIDC_LINK",
    default: "never",
    initial: "never" as "never" | "no-password" | "all",
    read: oneOf("never", "no-password", "all"),
    doc: "Which account that was made here becomes that of whoever first signs in by the provider under its name: none, one without a password, or any.",
  }),
  oidcGroupsClaim: setting({
    env: "OIDC_GROUPS_CLAIM",
    default: "none",
    initial: "",
    read: text,
    doc: "The claim that holds the names of a person's groups.",
  }),
  oidcGroups: setting({
    env: "OIDC_GROUPS",
    default: "none",
    initial: [] as string[],
    read: list,
    doc: "Groups whose members the provider decides, with commas between; `lab-*` is every name that begins so. Made when missing, renewed at each sign-in.",
  }),
  oidcAdmin: setting({
    env: "OIDC_ADMIN",
    default: "none",
    initial: undefined as { claim: string; value: string } | undefined,
    read: claimValue,
    doc: "Who administers, as `claim=value`, like `groups=quayside-admins`: whose claim is or holds that value. Renewed at each sign-in.",
  }),
  defaultLimits: setting({
    env: "DEFAULT_LIMITS",
    default: Object.entries(defaultLimits)
      .filter(([, limit]) => limit !== null)
      .map((entry) => entry.join("="))
      .join(","),
    initial: defaultLimits,
    read: limitList,
    doc: "The limits of people where neither they nor a group of theirs have one, with commas between: `MaxRuns=20,MaxObjects=none`. Memory and disk in MiB; those that are not named stay as they are. Administrators have none.",
  }),
  startsPerMinute: setting({
    env: "STARTS_PER_MINUTE",
    default: String(bounds.rates.starts.value),
    initial: bounds.rates.starts.value as number,
    read: whole(1, 1_000_000),
    doc: "How many runs a person may start in a minute. Administrators have no such limit.",
  }),
  writesPerMinute: setting({
    env: "WRITES_PER_MINUTE",
    default: String(bounds.rates.writes.value),
    initial: bounds.rates.writes.value as number,
    read: whole(1, 1_000_000),
    doc: "How many POST, PUT and DELETE requests a person may send to the API in a minute.",
  }),
  streamsPerMinute: setting({
    env: "STREAMS_PER_MINUTE",
    default: String(bounds.rates.streams.value),
    initial: bounds.rates.streams.value as number,
    read: whole(1, 1_000_000),
    doc: "How many event streams a person may open in a minute.",
  }),
  openStreams: setting({
    env: "OPEN_STREAMS",
    default: String(bounds.rates.openStreams.value),
    initial: bounds.rates.openStreams.value as number,
    read: whole(1, 1_000_000),
    doc: "How many event streams a person may have open at once.",
  }),
  historyRuns: setting({
    env: "HISTORY_RUNS",
    default: String(bounds.runs.historyRuns.value),
    initial: bounds.runs.historyRuns.value as number,
    read: whole(1, 1_000_000),
    doc: "How many ended and failed runs of each person are kept; older ones are removed with their output.",
  }),
  historyDays: setting({
    env: "HISTORY_DAYS",
    default: String(bounds.runs.historyDays.value),
    initial: bounds.runs.historyDays.value as number,
    read: whole(1, 36_500),
    doc: "Ended and failed runs are removed after so many days.",
  }),
  auditDays: setting({
    env: "AUDIT_DAYS",
    default: "400",
    initial: 400,
    read: whole(0, 36_500),
    doc: "Rows of the audit are removed after so many days; 0 keeps them for ever.",
  }),
  logLevel: setting({
    env: "LOG_LEVEL",
    default: "info",
    initial: "info" as (typeof logLevels)[number],
    read: oneOf(...logLevels),
    doc: "Least level of what is logged.",
  }),
  accessLog: setting({
    env: "ACCESS_LOG",
    default: "on",
    initial: "on" as "on" | "off",
    read: oneOf("on", "off"),
    doc: "A line of level `info` for each request to the base URL: method, path without its query, status, milliseconds, request ID, user and address.",
  }),
} as const

export type SettingName = keyof typeof settingsTable
export type Settings = { -readonly [K in SettingName]: (typeof settingsTable)[K]["initial"] }

/** Lower-case, hyphenated form of a name, as command-line options are written. */
export function optionName(name: string): string {
  return name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)
}

/** Where values come from; a later one wins: file, environment, command line. */
export interface SettingSources {
  env: Readonly<Record<string, string | undefined>>
  options: Readonly<Record<string, string>>
  /** Path of a JSON file with the names of the table. */
  file: string | undefined
  /** Told what is passed over, in one sentence. */
  warn: (text: string) => void
}

/** All settings with their values. Throws `SettingError` on an unknown name or a wrong value. */
export function readSettings(sources: SettingSources): Settings {
  const given = new Map<SettingName, { text: string; from: string }>()
  if (sources.file !== undefined) readFile(sources.file, given)
  readEnvironment(sources, given)
  for (const [option, value] of Object.entries(sources.options)) {
    const name = names.find((each) => optionName(each) === option)
    if (!name)
      throw unknown(
        `--${option}`,
        names.map((each) => `--${optionName(each)}`),
      )
    given.set(name, { text: value, from: `--${option}` })
  }
  const settings: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, settingsTable[name].initial]))
  for (const [name, { text: value, from }] of given) settings[name] = readValue(name, value, from)
  return settings as unknown as Settings
}

const names = Object.keys(settingsTable) as SettingName[]
const secretNames: readonly SettingName[] = ["adminPassword", "databaseUrl", "oidcClientSecret"]

function readValue(name: SettingName, value: string, from: string): unknown {
  try {
    return settingsTable[name].read(value)
  } catch (error) {
    if (!(error instanceof SettingError)) throw error
    const came = secretNames.includes(name) ? "" : `; got ${JSON.stringify(value.slice(0, 100))}`
    throw new SettingError(`${from} must be ${error.message}${came}`)
  }
}

/**
 * Whether it is what Kubernetes tells each container of a service in its namespace. One that is
 * called `quayside` or `quayside-apps` puts its address where a setting has a port.
 */
function isInjected(variable: string, value: string, isKnown: boolean): boolean {
  if (variable.includes("_SERVICE_") || /_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(variable)) return true
  return /^(tcp|udp|sctp):\/\//.test(value) && (!isKnown || variable.endsWith("_PORT"))
}

function readEnvironment({ env, warn }: SettingSources, given: Map<SettingName, { text: string; from: string }>): void {
  for (const [variable, value] of Object.entries(env)) {
    if (!variable.startsWith("QUAYSIDE_") || value === undefined || value === "") continue
    const name = names.find((each) => `QUAYSIDE_${settingsTable[each].env}` === variable)
    if (isInjected(variable, value, name !== undefined)) warn(`${variable} looks like what Kubernetes injects and is passed over`)
    else if (name) given.set(name, { text: value, from: variable })
    else if (variable !== "QUAYSIDE_CONFIG")
      throw unknown(
        variable,
        names.map((each) => `QUAYSIDE_${settingsTable[each].env}`),
      )
  }
}

function readFile(file: string, given: Map<SettingName, { text: string; from: string }>): void {
  let value: unknown
  try {
    value = JSON.parse(readFileSync(file, "utf8"))
  } catch (error) {
    throw new SettingError(`The configuration file ${file} cannot be read as JSON: ${(error as Error).message}`)
  }
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new SettingError(`The configuration file ${file} must hold a JSON object`)
  for (const [key, entry] of Object.entries(value)) {
    const name = names.find((each) => each === key)
    if (!name) throw unknown(`${key} in ${file}`, names)
    given.set(name, { text: Array.isArray(entry) ? entry.join(",") : String(entry), from: `${key} in ${file}` })
  }
}

function unknown(name: string, known: readonly string[]): SettingError {
  const near = nearestName(name, known)
  return new SettingError(`${name} is no setting of Quayside${near === undefined ? "" : `; did you mean ${near}?`}`)
}

/** `quayside serve --help`. */
export function settingsHelp(): string {
  const rows = names.map((name) => {
    const { doc, default: initial } = settingsTable[name]
    return `  --${optionName(name)} VALUE\n      ${doc}\n      Environment: QUAYSIDE_${settingsTable[name].env}. Default: ${initial}.`
  })
  return `quayside serve [options]: start the server\n\n  --config FILE\n      JSON with the settings below by their names in camel case (environment: QUAYSIDE_CONFIG). Environment and options win.\n\n${rows.join("\n")}\n`
}
