import { lookup } from "node:dns/promises"
import { BlockList, isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { bounds, defaultRegistry, type OciReference, reasonMessages } from "#contract"
import { abortable, deadline, Semaphore } from "#kit"
import { EngineError } from "./engine.ts"

const { nameLookups, nameLookupMs } = bounds.containers

/** Widely used registries whose operators alone choose where they redirect clients. */
export const wellKnownRegistries = [
  "docker.io",
  "ghcr.io",
  "quay.io",
  "gcr.io",
  "*.gcr.io",
  "*.pkg.dev",
  "registry.k8s.io",
  "public.ecr.aws",
  "mcr.microsoft.com",
  "nvcr.io",
  "registry.gitlab.com",
  "registry.access.redhat.com",
] as const

/** Matches every registry with a public name and public addresses. */
const anyPublic = "public"
const entryForm = /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::(?:\d{1,5}|\*))?$|^\[[a-f0-9:]+\](?::(?:\d{1,5}|\*))?$/

/** Whether the text is `public`, a host with an optional port (`*`: any), or `*.` and a domain. */
export function isRegistryPattern(text: string): boolean {
  return entryForm.test(text)
}

/** Returns all addresses of a name; rejects if there are none. */
export type ResolveHost = (name: string) => Promise<string[]>

export interface RegistryAllowlistOptions {
  /** Patterns that `isRegistryPattern` accepts. Default: `wellKnownRegistries`. */
  allowed?: readonly string[]
  /** Default: the system's resolver. */
  lookup?: ResolveHost
  /** Limit for one name's lookup. Default 10,000. */
  timeoutMs?: number
}

/**
 * The system resolves names in the threads that files and passwords need too, so hosts that nobody
 * resolves may occupy only this many.
 */
const lookupSlots = new Semaphore(nameLookups.value)

const deniedHint = "Choose an image from another registry, or ask an administrator to allow this one"

/** The registries from which images may come. */
export class RegistryAllowlist {
  readonly #allowed: readonly string[]
  readonly #lookup: ResolveHost
  readonly #timeoutMs: number

  constructor({
    allowed = wellKnownRegistries,
    lookup: resolve = systemLookup,
    timeoutMs = nameLookupMs.value,
  }: RegistryAllowlistOptions = {}) {
    this.#allowed = allowed
    this.#lookup = resolve
    this.#timeoutMs = timeoutMs
  }

  /** The reason to deny a registry, judged by its name alone; undefined if it is allowed. */
  denialReason({ host }: Pick<OciReference, "host">): string | undefined {
    if (this.#isListed(host)) return undefined
    const remedy = `an administrator can add ${host} to QUAYSIDE_REGISTRIES`
    if (!this.#allowed.includes(anyPublic))
      return `Images may not come from ${host}: it is not among the registries of this installation; ${remedy}`
    if (isPublicName(host)) return undefined
    return `Images may not come from ${host}: it is neither a public name nor among the registries of this installation; ${remedy}`
  }

  /**
   * Rejects with an `EngineError` if the registry is denied, by its name or by any of its current
   * addresses. The daemon resolves the name again when it fetches, so a change of addresses in
   * between is not detected.
   */
  async check({ host }: Pick<OciReference, "host">): Promise<void> {
    const denial = this.denialReason({ host })
    if (denial !== undefined) throw new EngineError("image_pull_denied", denial, { hint: deniedHint })
    // The client of the default registry chose neither its name nor its addresses.
    if (this.#isListed(host) || host === defaultRegistry) return
    const addresses = await this.#addressesOf(nameOf(host)).catch((cause: unknown) => {
      throw new EngineError(
        "image_pull_failed",
        `${reasonMessages.image_pull_failed}: the name of its registry ${host} cannot be resolved`,
        {
          cause,
        },
      )
    })
    if (addresses.some((address) => !isPublicAddress(address)))
      throw new EngineError(
        "image_pull_denied",
        `Images may not come from ${host}: its name resolves to an address that is not public; an administrator can add it to QUAYSIDE_REGISTRIES`,
        { hint: deniedHint },
      )
  }

  /**
   * Rejects like `check` if a registry leads its clients to a host that is not public. Listed
   * registries may lead anywhere.
   */
  async checkRedirect({ host: from }: Pick<OciReference, "host">, to: string): Promise<void> {
    if (to !== from && !this.#isListed(from) && from !== defaultRegistry) await this.check({ host: to })
  }

  async #addressesOf(name: string): Promise<string[]> {
    using timeout = deadline(this.#timeoutMs, "resolving the name")
    return await abortable(
      lookupSlots.run(() => this.#lookup(name)),
      timeout,
    )
  }

  #isListed(host: string): boolean {
    return this.#allowed.some((entry) => entry !== anyPublic && matches(entry, host))
  }
}

/** A host without a port means the default port of registries; `:*` means any port. */
function matches(entry: string, host: string): boolean {
  const [pattern, port = ""] = split(entry)
  const [name, hostPort = ""] = split(host)
  if (port !== "*" && port !== hostPort) return false
  return pattern.startsWith("*.") ? name.endsWith(pattern.slice(1)) && name.length > pattern.length - 1 : name === pattern
}

function split(host: string): [name: string, port?: string] {
  const match = /^(.*?)(?::(\d+|\*))?$/.exec(host)
  const inBrackets = host.startsWith("[") ? /^(\[.*\])(?::(\d+|\*))?$/.exec(host) : match
  const [, name = host, port] = inBrackets ?? []
  return port === undefined ? [name] : [name, port]
}

function nameOf(host: string): string {
  return split(host)[0]
}

/** Names that are never public, or that have a meaning only locally. */
const privateEndings =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|test|invalid|example|onion|alt)$/

function isPublicName(host: string): boolean {
  const name = nameOf(host)
  // Resolvers read a name that ends in a number as an address, in any notation.
  const isLiteral = name.startsWith("[") || /(^|\.)(\d+|0x[0-9a-f]*)$/.test(name)
  return name.includes(".") && !isLiteral && !privateEndings.test(name)
}

async function systemLookup(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

/**
 * One list per family: a shared list would find every IPv4 address in the IPv6 range that maps
 * them.
 */
const notPublic = {
  4: blockList(
    "ipv4",
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
  ),
  // Only 2000::/3 is public, without the parts that lead to IPv4 or nowhere.
  6: blockList("ipv6", "::/3 4000::/2 8000::/1 2001::/32 2001:db8::/32 2002::/16 3fff::/20"),
}

function blockList(family: "ipv4" | "ipv6", networks: string): BlockList {
  const list = new BlockList()
  for (const network of networks.split(" ")) {
    const [address = "", prefix] = network.split("/")
    list.addSubnet(address, Number(prefix), family)
  }
  return list
}

/** This machine's own addresses are not public: services on them may trust local callers. */
function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family !== 4 && family !== 6) return false
  if (notPublic[family].check(address, family === 6 ? "ipv6" : "ipv4")) return false
  return !Object.values(networkInterfaces()).some((each) => each?.some((own) => own.address === address))
}
