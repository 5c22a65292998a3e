import { bounds } from "#contract"
import { linkLocal, privateNetworks } from "../../address.ts"
import { bridgePrefixOf, type KernelNames } from "../network/kernel-names.ts"

/**
 * The addresses beyond the host that the runs of a group may reach: all public ones, none, or only
 * these networks.
 */
export interface GroupInternetSetting {
  group: string
  internet: boolean | readonly string[]
}

/** The connections that runs may open and accept. */
export interface NetworkPolicy {
  /** The runs' own networks. */
  pool: string
  /** Whether runs may reach public addresses and resolve names. */
  internet: boolean
  /** Groups with a setting of their own. */
  groups: readonly GroupInternetSetting[]
  /** Private networks that runs may reach. */
  allow: readonly string[]
  /** Public networks that runs may not reach; overrides `allow`. */
  deny: readonly string[]
  /** Name servers outside loopback: runs may reach their port 53 wherever they are. */
  nameServers: readonly string[]
  /** The user whose processes on the host may connect to runs. */
  uid: number
  /**
   * Only members of this group among that user's processes, so that other programs of root cannot,
   * such as the engine's daemon, which connects wherever a registry sends it. Undefined: every
   * process of the user.
   */
  gid: number | undefined
}

/** Limit on one run's connections, since all share the kernel's connection table. */
const maxConnections = bounds.containers.connections.value

const tooManyConnections = `-m connlimit --connlimit-above ${maxConnections} --connlimit-mask 32 --connlimit-saddr`

const allowReplies = "-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN"

/**
 * The IPv4 rules, in the form that the kernel's tools print, so that they can be compared as text.
 *
 * They never accept a packet: it still passes the rules of Docker and of the host.
 */
export function ipv4Rules(names: KernelNames, policy: NetworkPolicy): string[] {
  const { bridgePrefix, chains } = names
  const from = `-i ${bridgePrefix}+`
  const to = `-o ${bridgePrefix}+`
  // The first match wins, so groups with a setting precede everybody.
  const groups = policy.groups.map(({ group, internet }) => ({ from: `-i ${bridgePrefixOf(names, group)}+`, internet }))
  const everybody = { from, internet: policy.internet }
  return [
    `-A ${chains.input} ${from} ${allowReplies}`,
    // A name server may be on the host itself.
    `-A ${chains.input} ${from} ${tooManyConnections} -j DROP`,
    ...groups.flatMap((group) => [...dnsRules(chains.input, group, policy), `-A ${chains.input} ${group.from} -j DROP`]),
    ...dnsRules(chains.input, everybody, policy),
    `-A ${chains.input} ${from} -j DROP`,
    `-A ${chains.forward} ${to} ${allowReplies}`,
    `-A ${chains.forward} ${to} -j DROP`,
    `-A ${chains.forward} ${from} ${allowReplies}`,
    `-A ${chains.forward} ${from} -m conntrack --ctstate DNAT -j DROP`,
    `-A ${chains.forward} ${from} ${tooManyConnections} -j DROP`,
    ...groups.flatMap((group) => [
      ...forwardRules(chains.forward, group, policy),
      `-A ${chains.forward} ${group.from} -j ${group.internet === true ? "RETURN" : "DROP"}`,
    ]),
    ...forwardRules(chains.forward, everybody, policy),
    ...(policy.internet ? [] : [`-A ${chains.forward} ${from} -j DROP`]),
    `-A ${chains.output} ${to} ${allowReplies}`,
    `-A ${chains.output} ${to} -m owner --uid-owner ${policy.uid}${groupMatch(policy)} -j RETURN`,
    `-A ${chains.output} ${to} -j DROP`,
  ]
}

function groupMatch({ gid }: NetworkPolicy): string {
  return gid === undefined ? "" : ` --gid-owner ${gid} --suppl-groups`
}

/** The runs on some bridges, and what they may reach beyond the host. */
interface RunGroup {
  from: string
  internet: boolean | readonly string[]
}

/** The rules for forwarded packets that do not depend on the default of the internet setting. */
function forwardRules(chain: string, { from, internet }: RunGroup, policy: NetworkPolicy): string[] {
  const { pool, deny, allow } = policy
  const rule = (network: string, target: string) => `-A ${chain}${network === anywhere ? "" : ` -d ${network}`} ${from} -j ${target}`
  const open = [...allow, ...(typeof internet === "boolean" ? [] : internet)]
  return [
    ...dnsRules(chain, { from, internet }, policy),
    ...[linkLocal, pool, ...deny].map((network) => rule(network, "DROP")),
    ...open.map((network) => rule(network, "RETURN")),
    ...privateNetworks.ipv4.map((network) => rule(network, "DROP")),
  ]
}

function dnsRules(chain: string, { from, internet }: RunGroup, { nameServers }: NetworkPolicy): string[] {
  if (internet === false) return []
  return nameServers.flatMap((server) => ["udp", "tcp"].map((protocol) => `-A ${chain} ${nameServer(from, server, protocol)}`))
}

/** The IPv6 rules: runs have no IPv6, so their bridges forward none. */
export function ipv6Rules({ bridgePrefix, chains }: KernelNames): string[] {
  return [
    `-A ${chains.input} -i ${bridgePrefix}+ -j DROP`,
    `-A ${chains.forward} -i ${bridgePrefix}+ -j DROP`,
    `-A ${chains.forward} -o ${bridgePrefix}+ -j DROP`,
    `-A ${chains.output} -o ${bridgePrefix}+ -j DROP`,
  ]
}

const anywhere = "0.0.0.0/0"

/** The tools print the destination before the interface. */
function nameServer(from: string, server: string, protocol: string): string {
  return `-d ${server}/32 ${from} -p ${protocol} -m ${protocol} --dport 53 -j RETURN`
}
