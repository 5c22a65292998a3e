import type { Settings } from "./settings.ts"

export interface Addresses {
  baseUrl: string
  appsUrl: string
  filesUrl: string
  /** The base URL's origin. */
  origin: string
  /** Names, beside loopback ones, that requests may come for, in lower case. */
  hostNames: ReadonlySet<string>
}

/** The three addresses as people reach them. */
export function addressesOf(settings: Settings): Addresses {
  const local = (port: number) => `http://${nameOf(settings.host)}:${port}`
  const baseUrl = settings.baseUrl || local(settings.port)
  const appsUrl = settings.appsUrl || local(settings.appsPort)
  const filesUrl = settings.filesUrl || local(settings.filesPort)
  const names = [baseUrl, appsUrl, filesUrl].map((url) => new URL(url).hostname.toLowerCase())
  return { baseUrl, appsUrl, filesUrl, origin: baseUrl, hostNames: new Set(names) }
}

/** An address that listens everywhere is no name to reach it by. */
function nameOf(host: string): string {
  if (host === "0.0.0.0" || host === "::" || host.startsWith("127.") || host === "::1") return "localhost"
  return host.includes(":") ? `[${host}]` : host
}
