import { createServer } from "node:net"
import { networkInterfaces } from "node:os"
import { SettingError } from "./settings/setting.ts"
import type { Settings } from "./settings/settings.ts"

export interface PublicUrls {
  baseUrl: string
  appsUrl: string
  filesUrl: string
  /** The base URL's origin. */
  origin: string
  /** Names, beside loopback ones, that requests may come for, in lower case. */
  hostNames: ReadonlySet<string>
}

/**
 * The three addresses as people reach them. Throws a `SettingError` where two are one: what people
 * bring along shares no origin with the API.
 */
export function resolvePublicUrls(settings: Settings): PublicUrls {
  const local = (port: number) => `http://${nameOf(settings.host)}:${port}`
  const baseUrl = settings.baseUrl || local(settings.port)
  const appsUrl = settings.appsUrl || local(settings.appsPort)
  const filesUrl = settings.filesUrl || local(settings.filesPort)
  assertDistinct({ BASE_URL: baseUrl, APPS_URL: appsUrl, FILES_URL: filesUrl })
  const names = [baseUrl, appsUrl, filesUrl].map((url) => new URL(url).hostname.toLowerCase())
  return { baseUrl, appsUrl, filesUrl, origin: baseUrl, hostNames: new Set(names) }
}

function assertDistinct(urls: Readonly<Record<string, string>>): void {
  const byUrl = new Map<string, string>()
  for (const [name, url] of Object.entries(urls)) {
    const other = byUrl.get(url)
    if (other) throw new SettingError(`QUAYSIDE_${name} must be another address than QUAYSIDE_${other}; both are ${url}`)
    byUrl.set(url, name)
  }
}

/**
 * The ports that runs have of their own; undefined where they have names. Throws a `SettingError`
 * where they cannot be had.
 */
export function runPortRange(settings: Settings): { first: number; last: number; maxPerPerson: number } | undefined {
  const { appsPorts } = settings
  if (!appsPorts) return undefined
  const { first, last } = appsPorts
  const inside = [settings.port, settings.appsPort, settings.filesPort].find((port) => port >= first && port <= last)
  if (inside !== undefined) throw new SettingError(`QUAYSIDE_APPS_PORTS must not hold ${inside}, which one of the three addresses has`)
  if (resolvePublicUrls(settings).appsUrl.startsWith("https:"))
    throw new SettingError(
      "QUAYSIDE_APPS_PORTS is for servers that are reached by http; with TLS, give the apps URL a wildcard and leave it out",
    )
  return { first, last, maxPerPerson: settings.appsPortsPerPerson }
}

/** An address that listens everywhere is no name to reach it by. */
function nameOf(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host.startsWith("127.") || host === "::1") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}

/**
 * What `host` means to a listener: `localhost` is both loopback addresses, as far as this machine
 * has them.
 */
export function listenHosts(host: string): string[] {
  if (host !== "localhost") return [host]
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return own.some(({ address }) => address === "::1") ? ["127.0.0.1", "::1"] : ["127.0.0.1"]
}

/**
 * The settings with a free port in place of each 0, since the addresses that are told must be those
 * that are listened on.
 */
export async function assignFreePorts(settings: Settings): Promise<Settings> {
  const chosen = { ...settings }
  for (const name of ["port", "appsPort", "filesPort"] as const) {
    if (chosen[name] === 0) chosen[name] = await freePort(listenHosts(settings.host)[0] ?? "127.0.0.1")
  }
  return chosen
}

async function freePort(host: string): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen({ host, port: 0 }, resolve)
  })
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}
