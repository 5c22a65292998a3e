import { bounds } from "#contract"
import { bridgePrefixOf, type KernelNames } from "../network/kernel-names.ts"

/**
 * What the runs of a group's groupMatch reach beyond the host: all public addresses, none, or only
 * these networks.
 */
export interface GroupInternet {
  group: string
  internet: boolean | readonly string[]
}

/** What runs may reach besides what answers them. */
export interface NetworkPolicy {
  /** The runs' own networks. */
  pool: string
  /** Whether public addresses may be reached, and names be asked for. */
  internet: boolean
  /** Groups whose runs have a setting of their own instead. */
  groups: readonly GroupInternet[]
  /** Networks that may be reached although they are private. */
  allow: readonly string[]
  /** Networks that may not be reached although they are public; wins over `allow`. */
  deny: readonly string[]
  /**
   * Name servers that are not on a loopback address: their port 53 may be reached wherever they
   * are.
   */
  nameServers: readonly string[]
  /** Whose processes on the host may connect to a run. */
  uid: number
  /**
   * And of these only groupMatch of this group, so that other programs of root may not, such as the
   * engine's daemon, which asks wherever a registry sends it; undefined: all.
   */
  gid: number | undefined
}

/** Where nothing of the public internet is: the host's surroundings. */
const privateNetworks = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
]

/** Metadata services of clouds live there. No setting opens it. */
const linkLocal = "169.254.0.0/16"

/** New connections of one run at a time; the kernel's table of connections is everybody's. */
const maxConnections = bounds.containers.connections.value

const allowReplies = "-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN"

/**
 * The chains' rules, in the form in which the kernel's tools print them: what is there can be
 * compared as text.
 *
 * They never accept: what passes them still meets the rules of Docker and of the host.
 */
export function ipv4Rules(names: KernelNames, policy: NetworkPolicy): string[] {
  const { bridgePrefix, chains } = names
  const from = `-i ${bridgePrefix}+`
  const to = `-o ${bridgePrefix}+`
  // The first that matches counts: groups with a setting come before everybody.
  const groups = policy.groups.map(({ group, internet }) => ({ from: `-i ${bridgePrefixOf(names, group)}+`, internet }))
  const everybody = { from, internet: policy.internet }
  return [
    `-A ${chains.input} ${from} ${allowReplies}`,
    ...groups.flatMap((group) => [...dnsRules(chains.input, group, policy), `-A ${chains.input} ${group.from} -j DROP`]),
    ...dnsRules(chains.input, everybody, policy),
    `-A ${chains.input} ${from} -j DROP`,
    `-A ${chains.forward} ${to} ${allowReplies}`,
    `-A ${chains.forward} ${to} -j DROP`,
    `-A ${chains.forward} ${from} ${allowReplies}`,
    `-A ${chains.forward} ${from} -m conntrack --ctstate DNAT -j DROP`,
    `-A ${chains.forward} ${from} -m connlimit --connlimit-above ${maxConnections} --connlimit-mask 32 --connlimit-saddr -j DROP`,
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

/** Runs on some bridges, with what they may reach beyond the host. */
interface RunGroup {
  from: string
  internet: boolean | readonly string[]
}

/** What happens to what leaves the host, as far as it is the same whether the internet is open. */
function forwardRules(chain: string, { from, internet }: RunGroup, policy: NetworkPolicy): string[] {
  const { pool, deny, allow } = policy
  const verdict = (network: string, word: string) => `-A ${chain}${network === anywhere ? "" : ` -d ${network}`} ${from} -j ${word}`
  const open = [...allow, ...(typeof internet === "boolean" ? [] : internet)]
  return [
    ...dnsRules(chain, { from, internet }, policy),
    ...[linkLocal, pool, ...deny].map((network) => verdict(network, "DROP")),
    ...open.map((network) => verdict(network, "RETURN")),
    ...privateNetworks.map((network) => verdict(network, "DROP")),
  ]
}

function dnsRules(chain: string, { from, internet }: RunGroup, { nameServers }: NetworkPolicy): string[] {
  if (internet === false) return []
  return nameServers.flatMap((server) => ["udp", "tcp"].map((protocol) => `-A ${chain} ${nameServer(from, server, protocol)}`))
}

/** Runs have no IPv6: nothing of it passes their bridges. */
export function ipv6Rules({ bridgePrefix, chains }: KernelNames): string[] {
  return [
    `-A ${chains.input} -i ${bridgePrefix}+ -j DROP`,
    `-A ${chains.forward} -i ${bridgePrefix}+ -j DROP`,
    `-A ${chains.forward} -o ${bridgePrefix}+ -j DROP`,
    `-A ${chains.output} -o ${bridgePrefix}+ -j DROP`,
  ]
}

const anywhere = "0.0.0.0/0"

/** The tools print the destination before the device. */
function nameServer(from: string, server: string, protocol: string): string {
  return `-d ${server}/32 ${from} -p ${protocol} -m ${protocol} --dport 53 -j RETURN`
}
