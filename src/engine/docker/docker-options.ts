import type { Clock, Logger } from "#kit"
import type { GpuOptions } from "../gpus/gpu-provider.ts"
import type { RegistryAllowlist } from "../registry-allowlist.ts"
import type { MakeRoom, OnPull } from "../stored-images.ts"
import type { GroupInternetSetting } from "./firewall/firewall-rules.ts"

export interface DockerOptions extends GpuOptions {
  /** The Engine API's socket. Default `/var/run/docker.sock`. */
  socketPath?: string
  /**
   * The name of this Quayside and of its database's epoch: 1–40 characters of `a-z0-9-`. Other
   * instances' containers are never observed or changed.
   */
  instance: string
  /** The host directory that contains every mount source. */
  filesRoot: string
  /** A host directory for pinned mounts, created with mode 0700. Nothing else may use it. */
  stagingDir: string
  /** The user of runs and owner of their files. Never 0. */
  uid: number
  /** Default: `uid`. */
  gid?: number
  /**
   * `off` mounts sources by their paths: a program can then replace what it may write with a link
   * to anything on the host. It needs no right to mount or to set firewall rules and sets none. It
   * is for one trusted person on their own machine. Default `on`.
   */
  isolation?: "on" | "off"
  /** The pool of people's networks, /8 to /24. Default `10.213.0.0/16`. */
  networkPool?: string
  /** Whether runs reach public addresses. Default true. */
  internet?: boolean
  /** The internet settings of groups, by the name in a spec's `internetOf`. Default none. */
  groupInternet?: readonly GroupInternetSetting[]
  /** Private networks and addresses that runs may reach. Default none. */
  allow?: readonly string[]
  /** Public networks and addresses that runs may not reach. Default none. */
  deny?: readonly string[]
  /** How long an unused network of a person remains. Default 300,000. */
  networkIdleMs?: number
  /**
   * `off` sets no rules, for a daemon whose networks are not this host's. Default: the value of
   * `isolation`.
   */
  firewall?: "on" | "off"
  /** The registries from which images may come. Default: `wellKnownRegistries`. */
  registries?: RegistryAllowlist
  /** The maximum size of an image in bytes; 0 is no limit. Default 0. */
  maxImageBytes?: number
  /**
   * Bytes to keep free on the daemon's disk of that size: when less is free, pulls end with
   * `disk_full`. Default: twice the reserve of people's files.
   */
  minFreeBytes?: (totalBytes: number) => number
  /** Must not reject. */
  onPull?: OnPull
  /** Called before each pull. */
  makeRoom?: MakeRoom
  /**
   * Limit on open files for each process of a run. If the daemon lacks the right to set it, the
   * daemon's own limit applies. Default: 65,536, or this process's own limit if that is lower.
   */
  openFiles?: number
  /**
   * A file with the allowed system calls, in the form of Docker's seccomp profiles. Default:
   * Quayside's own.
   */
  seccompFile?: string
  /** The prefix length of a person's network, 27 to 29. Default 27, room for 29 runs. */
  networkPrefix?: number
  /**
   * Whether this process is the one that starts and ends runs now, of several with one database.
   * While it is not, it leaves to the other what a start or a crash left. Default: always.
   */
  isLeader?: (() => boolean) | undefined
  clock?: Clock
  logger?: Logger
}
