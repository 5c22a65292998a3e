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
  /** Host names, in lower case, that requests may be sent to, besides the loopback names. */
  hostNames: ReadonlySet<string>
}

/**
 * The three addresses as people reach them. Throws a `SettingError` if two are the same: programs
 * and files of people must never share an origin with the API.
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
 * The range of ports for runs; undefined if runs have host names instead. Throws a `SettingError`
 * if the range cannot be used.
 */
export function runPortRange(settings: Settings): { first: number; last: number; maxPerPerson: number } | undefined {
  const { appsPorts } = settings
  if (!appsPorts) return undefined
  const { first, last } = appsPorts
  const inside = [settings.port, settings.appsPort, settings.filesPort].find((port) => port >= first && port <= last)
  if (inside !== undefined) throw new SettingError(`QUAYSIDE_APPS_PORTS must not contain ${inside}, the port of one of the three addresses`)
  if (resolvePublicUrls(settings).appsUrl.startsWith("https:"))
    throw new SettingError(
      "QUAYSIDE_APPS_PORTS works with http only; with TLS, use a wildcard name for the apps URL and remove the setting",
    )
  return { first, last, maxPerPerson: settings.appsPortsPerPerson }
}

/** The name by which people reach a host; nobody can connect to an address like 0.0.0.0. */
function nameOf(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host.startsWith("127.") || host === "::1") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}

/** The addresses to listen on: `localhost` means each loopback address that this machine has. */
export function listenHosts(host: string): string[] {
  if (host !== "localhost") return [host]
  const own = Object.values(networkInterfaces()).flatMap((each) => each ?? [])
  return own.some(({ address }) => address === "::1") ? ["127.0.0.1", "::1"] : ["127.0.0.1"]
}

/**
 * The settings with a free port in place of each 0: the public URLs must name the ports that the
 * servers listen on.
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
