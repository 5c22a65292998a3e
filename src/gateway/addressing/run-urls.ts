import { isIP } from "node:net"
import { hostName, isLoopbackName } from "#http"
import type { RunTarget } from "../run-directory.ts"

/** The destination of a request, read from its `Host`. */
export type ParsedHost = { via: "origin"; key: string } | { via: "path" } | undefined

/** Maps runs to ports, if runs have ports of their own. */
export interface PortLookup {
  has(port: number): boolean
  keyAt(port: number): string | undefined
  portOf(key: string): number | undefined
}

/**
 * The only code that maps runs to addresses and back.
 *
 * A run's own origin is `<scheme>://<key>.<apps host>[:port]`, or with ports `http://<apps
 * host>:<the run's port>`; below the apps URL itself a run is `/run/<ID>/`.
 */
export class RunUrls {
  readonly appsUrl: URL
  readonly baseUrl: URL
  /**
   * Whether browsers keep `Secure` cookies and send `Sec-Fetch-*`: TLS, or a name that means this
   * machine.
   */
  readonly isTrustworthy: boolean
  readonly #suffix: string | undefined
  readonly #ports: PortLookup | undefined

  constructor(options: { appsUrl: string; baseUrl: string; ports?: PortLookup | undefined }) {
    this.appsUrl = httpUrl(options.appsUrl, "apps URL")
    this.baseUrl = httpUrl(options.baseUrl, "base URL")
    if (this.appsUrl.pathname !== "/") throw new TypeError(`An apps URL without a path is wanted, got ${options.appsUrl}`)
    this.#ports = options.ports
    if (this.#ports && this.appsUrl.protocol !== "http:")
      throw new TypeError(
        `Runs with ports of their own are reached by http; with TLS they need names below the apps URL, got ${options.appsUrl}`,
      )
    const parent = this.#ports ? parentOrSelf(this.appsUrl) : parentOf(this.appsUrl)
    this.#suffix = this.#ports ? undefined : `.${parent}`
    this.isTrustworthy = this.appsUrl.protocol === "https:" || parent === "localhost" || parent.endsWith(".localhost")
  }

  /**
   * Undefined for a foreign host. A returned key is well formed, but its run may not exist.
   * `localPort` is the local port of the connection.
   */
  parseHost(host: string, localPort?: number): ParsedHost {
    const name = hostName(host)
    const suffix = this.#suffix
    if (suffix !== undefined && name.endsWith(suffix)) return { via: "origin", key: name.slice(0, -suffix.length) }
    if (name !== this.appsUrl.hostname && !isLoopbackName(name)) return undefined
    if (localPort === undefined || !this.#ports?.has(localPort)) return { via: "path" }
    return { via: "origin", key: this.#ports.keyAt(localPort) ?? "" }
  }

  /** With ports: undefined for a run without a port. */
  originOf(target: Pick<RunTarget, "key">): string | undefined {
    if (this.#ports) {
      const port = this.#ports.portOf(target.key)
      return port === undefined ? undefined : `http://${this.appsUrl.hostname}:${port}`
    }
    const port = this.appsUrl.port === "" ? "" : `:${this.appsUrl.port}`
    return `${this.appsUrl.protocol}//${target.key}${this.#suffix}${port}`
  }

  /** The address that works both in a browser and with a token. */
  urlOf(runId: number): string {
    return `${below(this.appsUrl)}run/${runId}/`
  }

  /**
   * The address that checks a browser's session. `path` is relative to the program's base; empty
   * means its landing page.
   */
  openUrl(runId: number | string, more: { nonce?: string; path: string }): string {
    const url = new URL(`${below(this.baseUrl)}open`)
    url.searchParams.set("ID", String(runId))
    if (more.nonce !== undefined) url.searchParams.set("nonce", more.nonce)
    if (more.path !== "") url.searchParams.set("path", more.path)
    return url.href
  }
}

/**
 * The name below which runs get their names. An IP address has no names below it; a loopback
 * address becomes `localhost`.
 */
function parentOf(url: URL): string {
  const name = url.hostname
  if (isLoopbackName(name)) return "localhost"
  if (isIP(name.replace(/^\[|\]$/g, "")) === 0) return name
  throw new TypeError(`An apps URL with a host name is wanted, since each run gets a name below it; got ${url.href}`)
}

function parentOrSelf(url: URL): string {
  return isLoopbackName(url.hostname) ? "localhost" : url.hostname
}

function httpUrl(text: string, what: string): URL {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(`An http or https address is wanted as ${what}, got ${JSON.stringify(text)}`)
  return url
}

function below(url: URL): string {
  return `${url.origin}${url.pathname.replace(/\/*$/, "/")}`
}
