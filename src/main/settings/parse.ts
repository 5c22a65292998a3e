import { defaultLimits, type EffectiveLimits, limitNames } from "#contract"
import { isRegistryPattern, isSubnet, minMemoryMiB } from "#engine"
import { isAddressOrNetwork } from "#kit"
import { SettingError } from "./setting.ts"

export function wanted(what: string): never {
  throw new SettingError(what)
}

export const text = (value: string) => value
export const whole = (least: number, most: number) => (value: string) => {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  return number >= least && number <= most ? number : wanted(`a whole number from ${least} to ${most}`)
}
export const port = whole(0, 65_535)
export const portRange = (value: string) => {
  const [, first = Number.NaN, last = Number.NaN] = (/^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []).map(Number)
  return first >= 1_024 && last <= 65_535 && last - first >= 3
    ? { first, last }
    : wanted("a range of four ports or more from 1024 on, like 21000-21999")
}
export const positive = (value: string) =>
  /^\d{1,6}(\.\d{1,3})?$/.test(value) && Number(value) > 0 ? Number(value) : wanted("a number above 0")
export const oneOf =
  <const T extends string>(...values: T[]) =>
  (value: string): T =>
    (values as string[]).includes(value) ? (value as T) : wanted(`one of ${values.join(", ")}`)
export const url = (value: string) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const isPlain = parsed && /^https?:$/.test(parsed.protocol) && parsed.search === "" && parsed.hash === "" && parsed.username === ""
  return isPlain && parsed.pathname === "/" ? parsed.origin : wanted("an address like https://quayside.example.com, without a path")
}
/** Docker's own `unix://` may stand before it. */
export const socketPath = (value: string) => {
  const path = value.replace(/^unix:\/\//, "")
  return path.includes("://") ? wanted("the path of a Unix socket, like /var/run/docker.sock") : path
}
/** The engine knows the form of addresses and networks. */
export const subnets = (value: string) =>
  list(value).map((entry) => (isSubnet(entry) ? entry : wanted("addresses and networks like 10.1.2.0/24, with commas between")))
export const proxies = (value: string) =>
  list(value).map((entry) => (isAddressOrNetwork(entry) ? entry : wanted("addresses and networks like 10.0.0.0/8, with commas between")))
export const list = (value: string) =>
  value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
/** Entries `GROUP=on`, `GROUP=off` or `GROUP=NETWORK+NETWORK`, in the order in which they count. */
export const groupInternet = (value: string) => {
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
export const limitList = (value: string): EffectiveLimits => {
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
export const registries = (value: string) =>
  list(value.toLowerCase()).map((entry) =>
    isRegistryPattern(entry)
      ? entry
      : wanted("`public` and registries like ghcr.io, registry.lan:5000 or *.example.com, with commas between"),
  )
/** Bytes; 0 is none. */
export const sizeOrNone = (value: string) => (value === "0" ? 0 : memory(value) * 1024 * 1024)
/** An amount of memory in MiB: `2GiB`, `512MiB`, or bytes. */
export const memory = (value: string) => {
  const match = /^(\d{1,15})\s*(MiB|GiB|TiB|)$/i.exec(value)
  if (!match) return wanted("an amount of memory like 2GiB or 512MiB")
  const factor = { mib: 1, gib: 1024, tib: 1024 * 1024, "": 1 / (1024 * 1024) }[match[2]?.toLowerCase() ?? ""] ?? 1
  const amount = Math.floor(Number(match[1]) * factor)
  return amount >= 1 ? amount : wanted("an amount of memory of at least 1MiB")
}
export const runMemory = (value: string) => {
  const amount = memory(value)
  return amount >= minMemoryMiB ? amount : wanted(`an amount of memory of at least ${minMemoryMiB}MiB`)
}

export const issuer = (value: string) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const isLocal = parsed?.protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)
  const isPlain = parsed && parsed.search === "" && parsed.hash === "" && parsed.username === "" && parsed.password === ""
  const isSafe = parsed?.protocol === "https:" || isLocal
  return isPlain && isSafe
    ? value
    : wanted("an address that begins with https:// (or http:// on this machine), like https://id.example.com/realms/lab")
}
export const claimValue = (value: string) => {
  const [, claim, held] = /^([^=]+)=(.+)$/.exec(value) ?? []
  return claim !== undefined && held !== undefined ? { claim, value: held } : wanted("a claim and its value, like groups=quayside-admins")
}
