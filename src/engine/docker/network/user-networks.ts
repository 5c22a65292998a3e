import { access } from "node:fs/promises"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { httpStatusOf, isSubnetTaken, undefinedIfNotFound } from "../client/errors.ts"
import { belongsToInstance, instanceLabel, type NetworkIdentity, networkIdentity, networkLabels } from "../containers/labels.ts"
import { HostNumberPool } from "./host-numbers.ts"
import { bridgeName, kernelNames } from "./kernel-names.ts"
import { formatAddress, formatSubnet, parseAddress, SubnetPool } from "./subnet-pool.ts"

export interface UserNetworksOptions {
  instance: string
  pool: string
  /** Prefix length of each network. Default: that of `SubnetPool`. */
  prefix?: number | undefined
  /** How long an unused network remains for its person's next run. */
  idleMs: number
  /**
   * Whether this host's firewall must apply to the daemon's networks, so that their bridges must be
   * visible here.
   */
  confined: boolean
  clock?: Clock | undefined
}

interface Network extends NetworkIdentity {
  readonly name: string
  readonly number: number
  readonly hosts: HostNumberPool
  /** The number of its starts in progress. */
  starts: number
  /** When it became unused. */
  idleSince: number
  /** Until when no start uses it, because the daemon has no free address there. */
  fullUntil: number
  /** Whether the daemon is removing it: no start uses it then. */
  isRemoving: boolean
}

/**
 * A reserved address on a network. From the choice until the container runs, the network is not
 * removed and no other start gets the address.
 */
export interface AddressLease extends Disposable {
  readonly network: string
  readonly address: string
  /** Marks the address as used by a container, until a later snapshot shows otherwise. */
  confirm(): void
}

/** A removed network's subnet is not reused for this time, so a stale address leads nowhere. */
const subnetCooldownMs = 600_000
const maxSubnetTries = 64
/**
 * A network that the daemon found full is skipped for this time: the daemon's own account of
 * addresses counts.
 */
const fullNetworkCooldownMs = 60_000
/**
 * The daemon removes networks one after another, each in a tenth of a second, and the observation
 * waits.
 */
const maxRemovalsPerObservation = 4
const removalTimeoutMs = 5_000

/**
 * A bridge for each person, without traffic between its containers. Nothing is published: Quayside
 * connects to a run's own address. The firewall limits what runs reach beyond their bridge; it
 * matches bridges by name.
 */
export class UserNetworks {
  readonly #client: DockerClient
  readonly #options: UserNetworksOptions
  readonly #clock: Clock
  readonly #pool: SubnetPool
  readonly #networks = new Map<string, Network>()
  readonly #creating = new Map<string, Promise<Network>>()
  /** When each recently removed subnet may be reused, by number. */
  readonly #coolingSubnets = new Map<number, number>()
  #loading: Promise<void> | undefined
  #snapshots = 0

  constructor(client: DockerClient, options: UserNetworksOptions) {
    this.#client = client
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#pool = new SubnetPool(options.pool, options.prefix)
  }

  /**
   * Leases a free address on one of the person's networks, which is created if none has room. Only
   * a person's first start waits for the daemon.
   */
  async lease(identity: NetworkIdentity, signal: AbortSignal): Promise<AddressLease> {
    await this.#loadOnce()
    signal.throwIfAborted()
    for (const network of this.#networksOf(identity)) {
      const host = network.hosts.lease()
      if (host !== undefined) return this.#leaseOn(network, host)
    }
    const created = await this.#createOnce(identity)
    const host = created.hosts.lease()
    return host === undefined ? this.lease(identity, signal) : this.#leaseOn(created, host)
  }

  #leaseOn(network: Network, host: number): AddressLease {
    network.starts += 1
    let isConfirmed = false
    return {
      network: network.name,
      address: formatAddress(this.#pool.at(network.number).first + host),
      confirm: () => {
        isConfirmed = true
        network.hosts.confirm(host, this.#snapshots)
      },
      [Symbol.dispose]: () => {
        network.starts -= 1
        if (!isConfirmed) network.hosts.release(host)
        network.idleSince = this.#clock.now()
      },
    }
  }

  /** Forgets a network that the daemon does not have. */
  forget({ network }: AddressLease): void {
    this.#networks.delete(network)
  }

  /** Records that another container has the address. */
  markTaken({ network, address }: AddressLease): void {
    const known = this.#networks.get(network)
    if (known) known.hosts.markTaken(this.#hostOf(known, address))
  }

  /** Records that the daemon has no free address on the network. */
  markFull({ network }: AddressLease): void {
    const known = this.#networks.get(network)
    if (known) known.fullUntil = this.#clock.now() + fullNetworkCooldownMs
  }

  /**
   * Numbers a list of containers before the request for it. `removeIdle` receives the number and
   * the list.
   */
  beginSnapshot(): number {
    this.#snapshots += 1
    return this.#snapshots
  }

  /**
   * Removes networks that have been unused for a while. `inUse` contains the networks with
   * containers, and their addresses there.
   */
  async removeIdle(inUse: ReadonlyMap<string, readonly string[]>, snapshot = this.beginSnapshot()): Promise<void> {
    await this.#loadOnce()
    const now = this.#clock.now()
    for (const network of this.#networks.values()) {
      const addresses = inUse.get(network.name)
      if (addresses || network.starts > 0) network.idleSince = now
      network.hosts.updateInUse(new Set(addresses?.map((address) => this.#hostOf(network, address))), snapshot)
    }
    const idle = [...this.#networks.values()].filter((each) => now - each.idleSince >= this.#options.idleMs)
    for (const each of idle.slice(0, maxRemovalsPerObservation)) await this.#remove(each)
  }

  /**
   * Removes unused networks, as many as a few seconds allow. Resolves with whether none is left;
   * false if the daemon is unreachable.
   */
  async removeUnused(): Promise<boolean> {
    try {
      await this.#load()
      const until = this.#clock.now() + removalTimeoutMs
      for (const each of [...this.#networks.values()]) if (this.#clock.now() < until) await this.#remove(each)
      return this.#networks.size === 0
    } catch {
      return false
    }
  }

  #networksOf({ user, group }: NetworkIdentity): Network[] {
    const now = this.#clock.now()
    const usable = [...this.#networks.values()].filter((each) => !each.isRemoving && each.fullUntil <= now)
    return usable.filter((each) => each.user === user && each.group === group)
  }

  #hostOf({ number }: Network, address: string): number {
    return (parseAddress(address) ?? 0) - this.#pool.at(number).first
  }

  async #createOnce(identity: NetworkIdentity): Promise<Network> {
    const key = JSON.stringify([identity.user, identity.group])
    const creating = this.#creating.get(key) ?? this.#createOnFreeSubnet(identity).finally(() => this.#creating.delete(key))
    this.#creating.set(key, creating)
    return creating
  }

  /**
   * Another installation may use the same pool: the daemon rejects a used subnet, and the next is
   * tried.
   */
  async #createOnFreeSubnet(identity: NetworkIdentity): Promise<Network> {
    const rejected = new Set<number>()
    for (let n = 0; n < maxSubnetTries; n += 1) {
      const number = this.#pool.pick((each) => rejected.has(each) || this.#isTaken(each))
      if (number === undefined) break
      if (await this.#create(identity, number)) return this.#remember(this.#nameOf(number), identity)
      rejected.add(number)
    }
    throw new EngineError(
      "engine_error",
      `There is no room for another network in ${this.#pool.text}: the administrator can choose a larger pool`,
    )
  }

  #isTaken(number: number): boolean {
    return this.#networks.has(this.#nameOf(number)) || (this.#coolingSubnets.get(number) ?? 0) > this.#clock.now()
  }

  /** Resolves with whether the subnet was free. */
  async #create(identity: NetworkIdentity, number: number): Promise<boolean> {
    const name = this.#nameOf(number)
    const bridge = bridgeName(kernelNames(this.#options.instance), { group: identity.group, number })
    const subnet = this.#pool.at(number)
    try {
      await this.#client.call(
        (docker, abort) =>
          docker.createNetwork(
            {
              Name: name,
              CheckDuplicate: true,
              Driver: "bridge",
              EnableIPv6: false,
              IPAM: { Driver: "default", Config: [{ Subnet: formatSubnet(subnet), Gateway: formatAddress(subnet.first + 1) }] },
              Labels: networkLabels(this.#options.instance, identity),
              Options: { "com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": bridge },
            },
            abort,
          ),
        { kind: "create", owner: identity.user },
      )
    } catch (error) {
      if (httpStatusOf(error) === 409 || isSubnetTaken(error)) return false
      throw error
    }
    await this.#assertVisible(name, bridge)
    return true
  }

  async #assertVisible(name: string, bridge: string): Promise<void> {
    if (!this.#options.confined) return
    await access(`/sys/class/net/${bridge}`).catch(async (cause: unknown) => {
      await this.#client.call((docker, abort) => docker.getNetwork(name).remove(abort)).catch(() => {})
      throw new EngineError(
        "engine_error",
        "The container engine's networks are not this host's: isolation requires Quayside to run beside it, not in a container",
        { cause },
      )
    })
  }

  #nameOf(number: number): string {
    return `quayside-${this.#options.instance}-${number.toString(16)}`
  }

  #remember(name: string, { user, group }: NetworkIdentity): Network {
    const number = Number.parseInt(name.slice(name.lastIndexOf("-") + 1), 16)
    const network = this.#networks.get(name) ?? {
      name,
      number,
      user,
      group,
      hosts: new HostNumberPool(this.#pool.addresses),
      starts: 0,
      idleSince: this.#clock.now(),
      fullUntil: 0,
      isRemoving: false,
    }
    this.#networks.set(name, network)
    return network
  }

  /** Lists the daemon's networks once. */
  async #loadOnce(): Promise<void> {
    this.#loading ??= this.#load()
    const loading = this.#loading
    try {
      await loading
    } catch (error) {
      if (this.#loading === loading) this.#loading = undefined
      throw error
    }
  }

  async #load(): Promise<void> {
    const filters = { label: [instanceLabel(this.#options.instance)] }
    const listed = await this.#client.call((docker, abort) => docker.listNetworks({ filters, ...abort }))
    for (const { Name, Labels } of listed) {
      const identity = networkIdentity(Labels)
      if (identity && belongsToInstance(this.#options.instance, Labels)) this.#remember(Name, identity)
    }
  }

  /** Leaves a network with a start in progress; the daemon leaves one with a container. */
  async #remove(network: Network): Promise<void> {
    if (network.starts > 0) return
    network.isRemoving = true
    try {
      await undefinedIfNotFound(
        this.#client.call((docker, abort) => docker.getNetwork(network.name).remove(abort), {
          timeoutMs: removalTimeoutMs,
          kind: "remove",
        }),
      )
    } catch {
      network.isRemoving = false
      network.idleSince = this.#clock.now()
      return
    }
    this.#networks.delete(network.name)
    this.#coolingSubnets.set(network.number, this.#clock.now() + subnetCooldownMs)
  }
}
