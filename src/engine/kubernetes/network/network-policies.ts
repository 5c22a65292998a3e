import { BlockList } from "node:net"
import type { V1NetworkPolicy, V1NetworkPolicyEgressRule, V1NetworkPolicyIngressRule, V1NetworkPolicyPeer } from "@kubernetes/client-node"
import { linkLocal, privateNetworks } from "../../address.ts"
import type { CallOptions, ClusterClient } from "../client/cluster-client.ts"
import type { KubernetesOptions, PodSelection } from "../kubernetes-options.ts"
import { defaultInternetLabelValue, groupInternetLabelValue, instanceLabels, internetLabels, keyLabels, runName } from "../pods/names.ts"

/** Cloud metadata services use these addresses. No setting opens them. */
const alwaysClosed = [linkLocal, "fe80::/10", "fd00:ec2::254/128"]

/** Networks that are not public, also where IPv6 addresses contain an IPv4 one (NAT64, 6to4). */
const notPublic = {
  ipv4: [...privateNetworks.ipv4, linkLocal],
  ipv6: [...privateNetworks.ipv6, ...[...privateNetworks.ipv4, linkLocal].map(translated), "2002::/16"],
}

/** An IPv4 network as NAT64 maps it. Source: RFC 6052. */
function translated(network: string): string {
  const [address = "", prefix] = network.split("/")
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number)
  return `64:ff9b::${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}/${96 + Number(prefix)}`
}

/** The namespace label that every cluster sets. */
const namespaceName = "kubernetes.io/metadata.name"
const defaultDns: PodSelection = { namespace: "kube-system", labels: { "k8s-app": "kube-dns" } }

/** The label value of the internet setting that applies to a group's members. */
export function internetLabelValue({ groupInternet = [] }: KubernetesOptions, group: string | undefined): string {
  return group !== undefined && groupInternet.some((each) => each.group === group)
    ? groupInternetLabelValue(group)
    : defaultInternetLabelValue
}

/**
 * All policies of an instance. The first denies all of its pods everything but connections from the
 * gateway; the others allow what a setting grants. Policies only add up, so each pod is selected by
 * the one of its own internet setting.
 */
function instancePolicies(options: KubernetesOptions): V1NetworkPolicy[] {
  const { instance, internet = true, groupInternet = [] } = options
  const confine = policy(options, "runs", instanceLabels(instance), {
    ingress: options.gateway ? [fromPeer(peerOf(options.gateway))] : [],
    egress: [],
  })
  const settings = [
    { label: defaultInternetLabelValue, internet },
    ...groupInternet.map((each) => ({ label: groupInternetLabelValue(each.group), internet: each.internet })),
  ]
  return [
    confine,
    ...settings.map((each) =>
      policy(options, `internet-${each.label}`, internetLabels(instance, each.label), { egress: internetRules(options, each.internet) }),
    ),
  ]
}

function internetRules(options: KubernetesOptions, internet: boolean | readonly string[]): V1NetworkPolicyEgressRule[] {
  const { allow = [], deny = [], dns = defaultDns } = options
  const isWithout = internet === false && allow.length === 0
  if (isWithout) return []
  const closed = [...deny, ...alwaysClosed].map(withPrefix)
  const blocks = [
    ...(internet === true ? publicBlocks(closed) : []),
    ...(typeof internet === "object" ? internet : []).flatMap((network) => openBlock(network, closed)),
    ...allow.flatMap((network) => openBlock(network, closed)),
  ]
  const ports = [
    { port: 53, protocol: "UDP" },
    { port: 53, protocol: "TCP" },
  ]
  // Without a destination a rule would allow all of them.
  return [
    ...(blocks.length > 0 ? [{ to: blocks }] : []),
    { to: "labels" in dns ? [peerOf(dns)] : dns.map((cidr) => ({ ipBlock: { cidr: withPrefix(cidr) } })), ports },
  ]
}

function publicBlocks(closed: readonly string[]): V1NetworkPolicyPeer[] {
  const of = (privateOnes: readonly string[], version: 4 | 6) => [
    ...new Set([...privateOnes, ...closed.filter((each) => each.includes(":") === (version === 6))]),
  ]
  return [{ ipBlock: { cidr: "0.0.0.0/0", except: of(notPublic.ipv4, 4) } }, { ipBlock: { cidr: "::/0", except: of(notPublic.ipv6, 6) } }]
}

/** An allowed network without its closed parts; nothing if all of it is closed. */
function openBlock(network: string, closed: readonly string[]): V1NetworkPolicyPeer[] {
  const cidr = withPrefix(network)
  if (closed.some((each) => lies(cidr, each))) return []
  const except = closed.filter((each) => lies(each, cidr))
  return [{ ipBlock: { cidr, ...(except.length > 0 && { except }) } }]
}

function withPrefix(network: string): string {
  return network.includes("/") ? network : `${network}/${network.includes(":") ? 128 : 32}`
}

/** Whether a network is part of another one, or the same. */
function lies(inner: string, outer: string): boolean {
  const [address = "", prefix = ""] = outer.split("/")
  const [innerAddress = "", innerPrefix = ""] = inner.split("/")
  const family = address.includes(":") ? "ipv6" : "ipv4"
  if (innerAddress.includes(":") !== address.includes(":") || Number(innerPrefix) < Number(prefix)) return false
  const list = new BlockList()
  list.addSubnet(address, Number(prefix), family)
  return list.check(innerAddress, family)
}

/** The library calls the field `_from`, and sends patches as they are. */
function fromPeer(peer: V1NetworkPolicyPeer): V1NetworkPolicyIngressRule {
  return { from: [peer] } as V1NetworkPolicyIngressRule
}

function peerOf({ namespace, labels }: PodSelection): V1NetworkPolicyPeer {
  return {
    podSelector: { matchLabels: { ...labels } },
    ...(namespace !== undefined && { namespaceSelector: { matchLabels: { [namespaceName]: namespace } } }),
  }
}

function policy(
  { instance }: KubernetesOptions,
  name: string,
  matchLabels: Record<string, string>,
  rules: { ingress?: V1NetworkPolicyIngressRule[]; egress: V1NetworkPolicyEgressRule[] },
): V1NetworkPolicy {
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: `quayside-${instance}-${name}`, labels: instanceLabels(instance) },
    spec: {
      podSelector: { matchLabels },
      policyTypes: [...(rules.ingress ? ["Ingress"] : []), "Egress"],
      ...(rules.ingress && { ingress: rules.ingress }),
      egress: rules.egress,
    },
  }
}

/** The pods of one run reach each other on all ports. */
export function peersPolicy({ instance }: KubernetesOptions, key: string, owner: { name: string; uid: string }): V1NetworkPolicy {
  const podSelector = { matchLabels: keyLabels(instance, key) }
  return {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: {
      name: runName(key),
      labels: keyLabels(instance, key),
      ownerReferences: [{ apiVersion: "v1", kind: "Pod", ...owner }],
    },
    spec: { podSelector, policyTypes: ["Ingress", "Egress"], ingress: [fromPeer({ podSelector })], egress: [{ to: [{ podSelector }] }] },
  }
}

/**
 * Creates or updates the policies. Those of a setting that is gone remain, for the pods that began
 * under it.
 */
export async function applyPolicies(client: ClusterClient, options: KubernetesOptions, call: CallOptions = {}): Promise<void> {
  for (const body of instancePolicies(options)) await applyPolicy(client, body, call)
}

export function applyPolicy(client: ClusterClient, body: V1NetworkPolicy, call: CallOptions = {}): Promise<V1NetworkPolicy> {
  const name = body.metadata?.name ?? ""
  return client.apply(
    "set the network policies that confine runs",
    ({ networking }, fields, settings) => networking.patchNamespacedNetworkPolicy({ ...fields, name, body }, settings),
    call,
  )
}
