import { access } from "node:fs/promises"
import { type Clock, systemClock } from "#kit"
import { EngineError } from "../../engine.ts"
import type { DockerClient } from "../client/docker-client.ts"
import { ifFound, isSubnetTaken, statusOf } from "../client/errors.ts"
import { belongsTo, instanceLabel, type NetworkIdentity, networkIdentity, networkLabels } from "../containers/labels.ts"
import { HostNumbers } from "./host-numbers.ts"
import { bridgeName, kernelNames } from "./kernel-names.ts"
import { addressText, parseAddress, SubnetPool, subnetText } from "./subnet-pool.ts"

export interface NetworksOptions {
  instance: string
  pool: string
  /** Of each network. Default: as `SubnetPool` has it. */
  prefix?: number | undefined
  /** How long a network that nobody is on is kept for its person's next run. */
  keepMs: number
  /**
   * Whether the rules on this host count for the daemon's networks, so that these must be seen from
   * here.
   */
  confined: boolean
  clock?: Clock | undefined
}

interface Network extends NetworkIdentity {
  readonly name: string
  readonly number: number
  readonly hosts: HostNumbers
  /** Starts under way on it. */
  starts: number
  /** Since when nobody has been on it. */
  idleSince: number
  /** Until when nobody is put on it, since the daemon has no address left there. */
  fullUntil: number
}

/**
 * A place on a network, from the choice of it until its container runs, during which neither the
 * network is taken away nor the address given to another.
 */
export interface Place extends Disposable {
  readonly network: string
  readonly address: string
  /** A container runs there: the address stays taken until a look tells otherwise. */
  keep(): void
}

/**
 * So long a subnet is not given to anybody after its network was taken away: whoever still holds a
 * run's address reaches nobody there.
 */
const restMs = 600_000
const tries = 64
/**
 * So long a network is left alone after the daemon found it full, whose own account of addresses is
 * the one that counts.
 */
const fullMs = 60_000
/**
 * The daemon removes one network after the other, each in a tenth of a second, and whoever observes
 * waits.
 */
const removedPerSweep = 4
const removalMs = 5_000

/**
 * A bridge for each person, without traffic between the containers on it. Nothing is published:
 * Quayside reaches a run at its own address. What a run may reach beyond its bridge is the
 * firewall's matter (`firewall.ts`), which knows the bridges by their names.
 */
export class Networks {
  readonly #client: DockerClient
  readonly #options: NetworksOptions
  readonly #clock: Clock
  readonly #pool: SubnetPool
  readonly #networks = new Map<string, Network>()
  readonly #making = new Map<string, Promise<Network>>()
  /** Numbers of subnets not to be given away before the time. */
  readonly #resting = new Map<number, number>()
  #listing: Promise<void> | undefined
  #looks = 0

  constructor(client: DockerClient, options: NetworksOptions) {
    this.#client = client
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#pool = new SubnetPool(options.pool, options.prefix)
  }

  /**
   * A free address on a network of the person's, which is made when there is none with room. Only
   * the first start of a person waits for the daemon.
   */
  async place(whose: NetworkIdentity, signal: AbortSignal): Promise<Place> {
    await this.#listed()
    signal.throwIfAborted()
    for (const network of this.#of(whose)) {
      const host = network.hosts.take()
      if (host !== undefined) return this.#placeOn(network, host)
    }
    const made = await this.#makeOnce(whose)
    const host = made.hosts.take()
    return host === undefined ? this.place(whose, signal) : this.#placeOn(made, host)
  }

  #placeOn(network: Network, host: number): Place {
    network.starts += 1
    let isKept = false
    return {
      network: network.name,
      address: addressText(this.#pool.at(network.number).first + host),
      keep: () => {
        isKept = true
        network.hosts.keep(host, this.#looks)
      },
      [Symbol.dispose]: () => {
        network.starts -= 1
        if (!isKept) network.hosts.giveBack(host)
        network.idleSince = this.#clock.now()
      },
    }
  }

  /** The daemon said that the network is gone. */
  forget({ network }: Place): void {
    this.#networks.delete(network)
  }

  /** The daemon said that another container has the address. */
  isTaken({ network, address }: Place): void {
    const known = this.#networks.get(network)
    if (known) known.hosts.isTaken(this.#hostOf(known, address))
  }

  /** The daemon said that the network has no address left, whatever is known of it here. */
  isFull({ network }: Place): void {
    const known = this.#networks.get(network)
    if (known) known.fullUntil = this.#clock.now() + fullMs
  }

  /** To be called before the daemon is asked for what `sweep` is given, with its answer. */
  beginLook(): number {
    this.#looks += 1
    return this.#looks
  }

  /**
   * Takes away what nobody has been on for a while. `inUse` has the networks that containers are
   * on, and their addresses there, as the daemon told at a look.
   */
  async sweep(inUse: ReadonlyMap<string, readonly string[]>, look = this.beginLook()): Promise<void> {
    await this.#listed()
    const now = this.#clock.now()
    for (const network of this.#networks.values()) {
      const addresses = inUse.get(network.name)
      if (addresses || network.starts > 0) network.idleSince = now
      network.hosts.seen(new Set(addresses?.map((address) => this.#hostOf(network, address))), look)
    }
    const old = [...this.#networks.values()].filter((each) => now - each.idleSince >= this.#options.keepMs)
    for (const each of old.slice(0, removedPerSweep)) await this.#remove(each)
  }

  /**
   * Takes away the networks that nobody is on, as many as a few seconds allow. Answers whether none
   * is left; false where the daemon does not tell.
   */
  async removeUnused(): Promise<boolean> {
    try {
      await this.#list()
      const until = this.#clock.now() + removalMs
      for (const each of [...this.#networks.values()].filter(({ starts }) => starts === 0)) {
        if (this.#clock.now() < until) await this.#remove(each)
      }
      return this.#networks.size === 0
    } catch {
      return false
    }
  }

  #of({ user, group }: NetworkIdentity): Network[] {
    const now = this.#clock.now()
    return [...this.#networks.values()].filter((each) => each.user === user && each.group === group && each.fullUntil <= now)
  }

  #hostOf({ number }: Network, address: string): number {
    return (parseAddress(address) ?? 0) - this.#pool.at(number).first
  }

  async #makeOnce(whose: NetworkIdentity): Promise<Network> {
    const key = JSON.stringify([whose.user, whose.group])
    const making = this.#making.get(key) ?? this.#make(whose).finally(() => this.#making.delete(key))
    this.#making.set(key, making)
    return making
  }

  /**
   * Another installation may use the same pool: the daemon refuses what is taken, and the next is
   * tried.
   */
  async #make(whose: NetworkIdentity): Promise<Network> {
    const refused = new Set<number>()
    for (let n = 0; n < tries; n += 1) {
      const number = this.#pool.pick((each) => refused.has(each) || this.#isTaken(each))
      if (number === undefined) break
      if (await this.#create(whose, number)) return this.#remember(this.#nameOf(number), whose)
      refused.add(number)
    }
    throw new EngineError(
      "engine_error",
      `There is no room for another network in ${this.#pool.text}: the administrator can choose a larger pool`,
    )
  }

  #isTaken(number: number): boolean {
    return this.#networks.has(this.#nameOf(number)) || (this.#resting.get(number) ?? 0) > this.#clock.now()
  }

  /** Answers whether the subnet was free. */
  async #create(whose: NetworkIdentity, number: number): Promise<boolean> {
    const name = this.#nameOf(number)
    const bridge = bridgeName(kernelNames(this.#options.instance), { group: whose.group, number })
    const subnet = this.#pool.at(number)
    try {
      await this.#client.call(
        (docker, abort) =>
          docker.createNetwork({
            ...abort,
            Name: name,
            CheckDuplicate: true,
            Driver: "bridge",
            EnableIPv6: false,
            IPAM: { Driver: "default", Config: [{ Subnet: subnetText(subnet), Gateway: addressText(subnet.first + 1) }] },
            Labels: networkLabels(this.#options.instance, whose),
            Options: { "com.docker.network.bridge.enable_icc": "false", "com.docker.network.bridge.name": bridge },
          }),
        { lane: "make", owner: whose.user },
      )
    } catch (error) {
      if (statusOf(error) === 409 || isSubnetTaken(error)) return false
      throw error
    }
    await this.#mustBeSeen(name, bridge)
    return true
  }

  async #mustBeSeen(name: string, bridge: string): Promise<void> {
    if (!this.#options.confined) return
    await access(`/sys/class/net/${bridge}`).catch(async (cause: unknown) => {
      await this.#client.call((docker, abort) => docker.getNetwork(name).remove(abort)).catch(() => {})
      throw new EngineError(
        "engine_error",
        "The container engine's networks are not this host's: with isolation Quayside must run beside it, not in a container",
        { cause },
      )
    })
  }

  #nameOf(number: number): string {
    return `quayside-${this.#options.instance}-${number.toString(16)}`
  }

  #remember(name: string, { user, group }: NetworkIdentity): Network {
    const number = Number.parseInt(name.slice(name.lastIndexOf("-") + 1), 16)
    const made = {
      name,
      number,
      user,
      group,
      hosts: new HostNumbers(this.#pool.addresses),
      starts: 0,
      idleSince: this.#clock.now(),
      fullUntil: 0,
    }
    const network = this.#networks.get(name) ?? made
    this.#networks.set(name, network)
    return network
  }

  /** What the daemon holds, asked for once. */
  async #listed(): Promise<void> {
    this.#listing ??= this.#list()
    const listing = this.#listing
    try {
      await listing
    } catch (error) {
      if (this.#listing === listing) this.#listing = undefined
      throw error
    }
  }

  async #list(): Promise<void> {
    const filters = { label: [instanceLabel(this.#options.instance)] }
    const listed = await this.#client.call((docker, abort) => docker.listNetworks({ filters, ...abort }))
    for (const { Name, Labels } of listed) {
      const whose = networkIdentity(Labels)
      if (whose && belongsTo(this.#options.instance, Labels)) this.#remember(Name, whose)
    }
  }

  /** The daemon refuses while a container is on it. */
  async #remove(network: Network): Promise<void> {
    try {
      await ifFound(this.#client.call((docker, abort) => docker.getNetwork(network.name).remove(abort), { ms: removalMs, lane: "end" }))
    } catch {
      network.idleSince = this.#clock.now()
      return
    }
    this.#networks.delete(network.name)
    this.#resting.set(network.number, this.#clock.now() + restMs)
  }
}
