import { readFile, stat, writeFile } from "node:fs/promises"
import { type Logger, silentLogger } from "#kit"
import { EngineError } from "../../engine.ts"
import { raiseKernelLimits } from "../host/kernel-limits.ts"
import type { Shell } from "../host/shell.ts"
import { type KernelNames, kernelNames } from "../network/kernel-names.ts"
import { nameServers } from "../network/name-servers.ts"
import { formatSubnet, parseSubnet } from "../network/subnet-pool.ts"
import { FirewallChains } from "./firewall-chains.ts"
import { ipv4Rules, ipv6Rules, type NetworkPolicy } from "./firewall-rules.ts"
import { joinUnixGroup } from "./join-unix-group.ts"

export interface FirewallOptions extends Pick<NetworkPolicy, "pool" | "internet" | "groups" | "allow" | "deny"> {
  shell: Shell
  instance: string
  logger?: Logger | undefined
}

/** Without this setting, frames between two runs on one bridge bypass the rules. */
const bridgeFilteringSwitch = "/proc/sys/net/bridge/bridge-nf-call-iptables"

/**
 * The rules that confine an instance's runs. They match bridges by a prefix of their names, so a
 * new network is covered before it exists, and the number of rules does not depend on the number of
 * people.
 */
export class Firewall {
  readonly #options: FirewallOptions
  readonly #log: Logger
  readonly #names: KernelNames
  readonly #chains: readonly FirewallChains[]
  /** `gid` is undefined if the rules cannot tell this process from others of its user. */
  #membership: { gid: number | undefined } | undefined
  #lastOperation: Promise<unknown> = Promise.resolve()

  constructor(options: FirewallOptions) {
    this.#options = options
    this.#log = options.logger ?? silentLogger
    this.#names = kernelNames(options.instance)
    this.#chains = (["iptables", "ip6tables"] as const).map((family) => new FirewallChains(options.shell, family, this.#names))
  }

  /**
   * Joins the Unix group that the rules admit. Call it before the first connection to a run: the
   * rules of an earlier process drop connections of other processes.
   */
  joinGroup(): void {
    this.#joinedGid()
  }

  /**
   * Sets the rules, and raises limits of the kernel. Rejects with one sentence if the tools or the
   * right are missing.
   */
  async prepare(): Promise<void> {
    await this.ensure()
    await raiseKernelLimits().catch((err: unknown) =>
      this.#log.warn(
        { err },
        "runs can use up limits of the kernel: raise net.ipv4.neigh.default.gc_thresh3 and gc_thresh2, and kernel.pid_max",
      ),
    )
    if (this.#joinedGid() === undefined)
      this.#log.warn({}, "every program of root can connect to runs: this system can neither join nor match a group of Quayside's own")
    this.#log.info({ chains: Object.values(this.#names.chains), by: this.#chains[0]?.tool }, "runs are confined by firewall rules")
  }

  /** Sets missing rules; cheap if none is. Resolves with whether anything changed. */
  ensure(): Promise<boolean> {
    return this.#serialize(async () => {
      const changed = await Promise.all((await this.#expectedRules()).map(([chains, rules]) => chains.ensure(rules)))
      const repaired = await repairBridgeFiltering()
      return changed.includes(true) || repaired
    })
  }

  /** Rejects with an `EngineError` if rules are missing or changed; changes nothing. */
  check(): Promise<void> {
    return this.#serialize(async () => {
      const differences = await Promise.all((await this.#expectedRules()).map(([chains, rules]) => chains.difference(rules)))
      if (differences.some((lines) => lines !== undefined) || (await bridgesBypassFirewall())) {
        const msg = "The firewall rules that confine runs are missing or were changed; Quayside restores them within seconds"
        throw new EngineError("engine_error", msg, { detail: differences.filter((lines) => lines !== undefined).join("\n") })
      }
    })
  }

  remove(): Promise<void> {
    return this.#serialize(async () => {
      await Promise.all(this.#chains.map((chains) => chains.remove()))
    })
  }

  async #expectedRules(): Promise<[FirewallChains, string[]][]> {
    const { allow, deny, groups } = this.#options
    const policy = {
      ...this.#options,
      allow: allow.map(normalizeNetwork),
      deny: deny.map(normalizeNetwork),
      groups: groups.map(({ group, internet }) => ({
        group,
        internet: typeof internet === "boolean" ? internet : internet.map(normalizeNetwork),
      })),
      nameServers: await nameServers(),
      uid: process.getuid?.() ?? 0,
      gid: this.#joinedGid(),
    }
    const hasIpv6 = await stat("/proc/net/if_inet6").catch(() => undefined)
    const [ipv4, ipv6] = this.#chains as [FirewallChains, FirewallChains]
    return [[ipv4, ipv4Rules(this.#names, policy)], ...(hasIpv6 ? [[ipv6, ipv6Rules(this.#names)] as [FirewallChains, string[]]] : [])]
  }

  #joinedGid(): number | undefined {
    this.#membership ??= { gid: joinUnixGroup(this.#names.gid) }
    return this.#membership.gid
  }

  /** Runs operations one after another: two concurrent repairs would undo each other. */
  #serialize<T>(work: () => Promise<T>): Promise<T> {
    const next = this.#lastOperation.then(work, work)
    this.#lastOperation = next.catch(() => {})
    return next
  }
}

/** Also false before the first bridge of a container: the engine enables the setting with it. */
async function bridgesBypassFirewall(): Promise<boolean> {
  return (await readFile(bridgeFilteringSwitch, "utf8").catch(() => "1")).trim() === "0"
}

async function repairBridgeFiltering(): Promise<boolean> {
  if (!(await bridgesBypassFirewall())) return false
  await writeFile(bridgeFilteringSwitch, "1")
  return true
}

/** Formats a network as the tools print it. */
function normalizeNetwork(network: string): string {
  const subnet = parseSubnet(network)
  if (!subnet) throw new TypeError(`Expected an address or a network, got ${JSON.stringify(network)}`)
  return formatSubnet(subnet)
}
