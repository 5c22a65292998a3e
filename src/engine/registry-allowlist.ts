import { lookup } from "node:dns/promises"
import { BlockList, isIP } from "node:net"
import { networkInterfaces } from "node:os"
import { bounds, defaultRegistry, type OciReference, reasonSentences } from "#contract"
import { abortable, deadline, Semaphore } from "#kit"
import { EngineError } from "./engine.ts"

const { nameLookups, nameLookupMs } = bounds.containers

/**
 * Registries that many people use, whose operators let nobody else choose where they send those who
 * ask.
 */
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

/** Stands for every registry with a public name and public addresses. */
const anyPublic = "public"
const entryForm = /^(?:\*\.)?[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::(?:\d{1,5}|\*))?$|^\[[a-f0-9:]+\](?::(?:\d{1,5}|\*))?$/

/**
 * Whether an entry of the list of registries is `public`, a host with or without a port (`*`: any),
 * or `*.` and a domain.
 */
export function isRegistryPattern(text: string): boolean {
  return entryForm.test(text)
}

/** Answers all addresses of a name; rejects where there are none. */
export type ResolveHost = (name: string) => Promise<string[]>

export interface RegistriesOptions {
  /** Entries as `isRegistryPattern` wants them. Default: `wellKnownRegistries`. */
  allowed?: readonly string[]
  /** Default: as the system resolves names. */
  lookup?: ResolveHost
  /** How long a name's addresses are waited for, in milliseconds. Default 10,000. */
  timeoutMs?: number
}

/**
 * The system looks names up in the threads that files and passwords need too: whoever names hosts
 * that nobody answers for keeps no more than these.
 */
const lookups = new Semaphore(nameLookups.value)

/** Where images may come from. */
export class RegistryAllowlist {
  readonly #allowed: readonly string[]
  readonly #lookup: ResolveHost
  readonly #timeoutMs: number

  constructor({ allowed = wellKnownRegistries, lookup: resolve = systemLookup, timeoutMs = nameLookupMs.value }: RegistriesOptions = {}) {
    this.#allowed = allowed
    this.#lookup = resolve
    this.#timeoutMs = timeoutMs
  }

  /** Why images may not come from this registry, as far as its name tells; undefined: they may. */
  denialReason({ host }: Pick<OciReference, "host">): string | undefined {
    if (this.#isListed(host)) return undefined
    const remedy = `an administrator can add ${host} to QUAYSIDE_REGISTRIES`
    if (!this.#allowed.includes(anyPublic))
      return `Images may not come from ${host}: it is not among the registries of this installation; ${remedy}`
    if (isPublicName(host)) return undefined
    return `Images may not come from ${host}: it is no public name, and not among the registries of this installation; ${remedy}`
  }

  /**
   * Rejects with an `EngineError` where images may not come from this registry, by its name or by
   * any address that it has now. Who fetches looks the name up once more: a name whose addresses
   * change in between is not caught.
   */
  async check({ host }: Pick<OciReference, "host">): Promise<void> {
    const refusal = this.denialReason({ host })
    if (refusal !== undefined) throw new EngineError("image_pull_denied", refusal)
    // Who asks for images of the default registry chose neither its name nor its addresses.
    if (this.#isListed(host) || host === defaultRegistry) return
    const addresses = await this.#addressesOf(nameOf(host)).catch((cause: unknown) => {
      throw new EngineError("image_pull_failed", `${reasonSentences.image_pull_failed}: its registry ${host} is not known by name`, {
        cause,
      })
    })
    if (addresses.some((address) => !isPublicAddress(address)))
      throw new EngineError(
        "image_pull_denied",
        `Images may not come from ${host}: its name leads to an address that is not public; an administrator can add it to QUAYSIDE_REGISTRIES`,
      )
  }

  async #addressesOf(name: string): Promise<string[]> {
    using late = deadline(this.#timeoutMs, "looking the name up")
    return await abortable(
      lookups.run(() => this.#lookup(name)),
      late,
    )
  }

  #isListed(host: string): boolean {
    return this.#allowed.some((entry) => entry !== anyPublic && matches(entry, host))
  }
}

/** A host without a port means the port that registries have by default; `:*` means any. */
function matches(entry: string, host: string): boolean {
  const [wanted, port = ""] = split(entry)
  const [name, given = ""] = split(host)
  if (port !== "*" && port !== given) return false
  return wanted.startsWith("*.") ? name.endsWith(wanted.slice(1)) && name.length > wanted.length - 1 : name === wanted
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

/** Names that are never public, or that only mean something where they are asked for. */
const privateEndings =
  /(^|\.)(localhost|local|localdomain|internal|intranet|lan|home|corp|private|home\.arpa|test|invalid|example|onion|alt)$/

function isPublicName(host: string): boolean {
  const name = nameOf(host)
  // What ends in a number is an address to resolvers, in whatever notation.
  const isLiteral = name.startsWith("[") || /(^|\.)(\d+|0x[0-9a-f]*)$/.test(name)
  return name.includes(".") && !isLiteral && !privateEndings.test(name)
}

async function systemLookup(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address)
}

/**
 * One list for each family: a list of both would find every IPv4 address in the part of IPv6 that
 * they are mapped to.
 */
const notPublic = {
  4: blockList(
    "ipv4",
    "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3",
  ),
  // Only 2000::/3 is public; what lies in it and leads to IPv4, or nowhere, is not.
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

/**
 * This machine's own addresses are not: what listens on them may count on being asked from outside
 * only.
 */
function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family !== 4 && family !== 6) return false
  if (notPublic[family].check(address, family === 6 ? "ipv6" : "ipv4")) return false
  return !Object.values(networkInterfaces()).some((each) => each?.some((own) => own.address === address))
}
