import { defaultLimits, type EffectiveLimits, limitNames } from "#contract"
import { isRegistryPattern, isSubnet, minMemoryMiB } from "#engine"
import { isAddressOrNetwork } from "#kit"
import { SettingError } from "./setting.ts"

/** Rejects a value. `expected` completes "QUAYSIDE_X must be …". */
export function throwExpected(expected: string): never {
  throw new SettingError(expected)
}

export const parseText = (value: string) => value
export const integerBetween = (min: number, max: number) => (value: string) => {
  const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
  return number >= min && number <= max ? number : throwExpected(`a whole number from ${min} to ${max}`)
}
export const parseListenPort = integerBetween(0, 65_535)
export const parsePortRange = (value: string) => {
  const [, first = Number.NaN, last = Number.NaN] = (/^(\d{1,5})-(\d{1,5})$/.exec(value) ?? []).map(Number)
  return first >= 1_024 && last <= 65_535 && last - first >= 3
    ? { first, last }
    : throwExpected("a range of four ports or more from 1024 on, like 21000-21999")
}
export const parsePositiveNumber = (value: string) =>
  /^\d{1,6}(\.\d{1,3})?$/.test(value) && Number(value) > 0 ? Number(value) : throwExpected("a number above 0")
export const choiceOf =
  <const T extends string>(...values: T[]) =>
  (value: string): T =>
    (values as string[]).includes(value) ? (value as T) : throwExpected(`one of ${values.join(", ")}`)
/** A set of the values, in their order. */
export const choicesOf =
  <const T extends string>(...values: T[]) =>
  (value: string): readonly T[] => {
    const given = parseList(value)
    const isKnown = given.length > 0 && given.every((each) => (values as string[]).includes(each))
    return isKnown ? values.filter((each) => given.includes(each)) : throwExpected(`one or more of ${values.join(", ")}`)
  }
export const parseUrl = (value: string) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const isPlain = parsed && /^https?:$/.test(parsed.protocol) && parsed.search === "" && parsed.hash === "" && parsed.username === ""
  return isPlain && parsed.pathname === "/" ? parsed.origin : throwExpected("an address like https://quayside.example.com, without a path")
}
/** Accepts `unix://` in front, as `DOCKER_HOST` has it. */
export const parseSocketPath = (value: string) => {
  const path = value.replace(/^unix:\/\//, "")
  return path.includes("://") ? throwExpected("the path of a Unix socket, like /var/run/docker.sock") : path
}
export const parseSubnets = (value: string) =>
  parseList(value).map((entry) => (isSubnet(entry) ? entry : throwExpected("addresses and networks like 10.1.2.0/24, separated by commas")))
export const parseProxies = (value: string) =>
  parseList(value).map((entry) =>
    isAddressOrNetwork(entry) ? entry : throwExpected("addresses and networks like 10.0.0.0/8, separated by commas"),
  )
export const parseList = (value: string) =>
  value
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
/** Entries `GROUP=on`, `GROUP=off` or `GROUP=NETWORK+NETWORK`, in order of precedence. */
export const parseGroupInternet = (value: string) => {
  const entries = parseList(value).map((entry) => {
    const [, group, reach = ""] = /^([a-z0-9][a-z0-9._-]{0,63})=(.+)$/.exec(entry) ?? []
    if (group === undefined) return throwExpected("entries like students=off or lab=198.51.100.0/24+203.0.113.7, separated by commas")
    if (reach === "on" || reach === "off") return { group, internet: reach === "on" }
    const networks = reach.split("+")
    return networks.every(isSubnet) ? { group, internet: networks } : throwExpected(`on, off, or networks joined by +, for ${group}`)
  })
  const groups = entries.map(({ group }) => group)
  const twice = groups.find((group, n) => groups.indexOf(group) !== n)
  return twice === undefined ? entries : throwExpected(`at most one entry per group; ${twice} has two`)
}
/** Limits by name, over the built-in defaults. */
export const parseLimitList = (value: string): EffectiveLimits => {
  const limits = { ...defaultLimits }
  for (const entry of parseList(value)) {
    const [, given, amount] = /^(\w+)=(none|\d{1,15})$/.exec(entry) ?? []
    const name = limitNames.find((each) => each === given)
    if (!name)
      return throwExpected(`entries like MaxRuns=20 or MaxObjects=none, separated by commas; the names are ${limitNames.join(", ")}`)
    limits[name] = amount === "none" ? null : Number(amount)
  }
  return limits
}
/** Hosts as image references name them. */
export const parseRegistries = (value: string) =>
  parseList(value.toLowerCase()).map((entry) =>
    isRegistryPattern(entry)
      ? entry
      : throwExpected("`public` and registries like ghcr.io, registry.lan:5000 or *.example.com, separated by commas"),
  )
/** Bytes; 0 means none. */
export const parseBytesOrNone = (value: string) => (value === "0" ? 0 : parseMemoryMiB(value) * 1024 * 1024)
/** An amount of memory in MiB: `2GiB`, `512MiB`, or bytes. */
const parseMemoryMiB = (value: string) => {
  const match = /^(\d{1,15})\s*(MiB|GiB|TiB|)$/i.exec(value)
  if (!match) return throwExpected("an amount of memory like 2GiB or 512MiB")
  const factor = { mib: 1, gib: 1024, tib: 1024 * 1024, "": 1 / (1024 * 1024) }[match[2]?.toLowerCase() ?? ""] ?? 1
  const amount = Math.floor(Number(match[1]) * factor)
  return amount >= 1 ? amount : throwExpected("an amount of memory of at least 1MiB")
}
export const parseRunMemoryMiB = (value: string) => {
  const amount = parseMemoryMiB(value)
  return amount >= minMemoryMiB ? amount : throwExpected(`an amount of memory of at least ${minMemoryMiB}MiB`)
}

export const parseIssuer = (value: string) => {
  const parsed = URL.canParse(value) ? new URL(value) : undefined
  const isLocal = parsed?.protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(parsed.hostname)
  const isPlain = parsed && parsed.search === "" && parsed.hash === "" && parsed.username === "" && parsed.password === ""
  const isSafe = parsed?.protocol === "https:" || isLocal
  return isPlain && isSafe
    ? value
    : throwExpected("an address that begins with https:// (or http:// on this machine), like https://id.example.com/realms/lab")
}
export const parseClaimValue = (value: string) => {
  const [, claim, expected] = /^([^=]+)=(.+)$/.exec(value) ?? []
  return claim !== undefined && expected !== undefined
    ? { claim, value: expected }
    : throwExpected("a claim and its value, like groups=quayside-admins")
}
