import type { Clock, Logger } from "#kit"
import type { RegistryAllowlist } from "../registry-allowlist.ts"
import type { GroupInternet } from "./firewall/firewall-rules.ts"

export interface DockerOptions {
  /** The Engine API's socket. Default `/var/run/docker.sock`. */
  socketPath?: string
  /**
   * Names this Quayside and its database's epoch: 1–40 of `a-z0-9-`. Containers of another instance
   * are never seen or touched.
   */
  instance: string
  /** The host directory below which every mount source lies. */
  filesRoot: string
  /** A host directory for pinned mounts, made with mode 0700; nothing else may use it. */
  stagingDir: string
  /** Who the programs run as; also owner of their files. Never 0. */
  uid: number
  /** Default: `uid`. */
  gid?: number
  /**
   * `off` mounts sources by their paths: a program can then swap what it may write for a link to
   * anything on the host. It needs no right to mount or to set firewall rules, sets none, and is
   * for one trusted person on their own machine. Default `on`.
   */
  isolation?: "on" | "off"
  /** Where the networks of people are taken from, /8 to /24. Default `10.213.0.0/16`. */
  networkPool?: string
  /** Whether runs reach public addresses. Default true. */
  internet?: boolean
  /**
   * What the runs of some groups reach instead, by the name that a spec's `internetOf` has. Default
   * none.
   */
  groupInternet?: readonly GroupInternet[]
  /** Networks and addresses that runs reach although they are private. Default none. */
  allow?: readonly string[]
  /** Networks and addresses that runs do not reach although they are public. Default none. */
  deny?: readonly string[]
  /** How long an unused network of a person is kept, in milliseconds. Default 300,000. */
  networkIdleMs?: number
  /**
   * `off` sets no rules: for a daemon whose networks are not this host's. Default: as `isolation`.
   */
  firewall?: "on" | "off"
  /** So many devices that exist on paper only. Default 0. */
  mockGpus?: number
  /** Where images may come from. Default: `wellKnownRegistries`. */
  registries?: RegistryAllowlist
  /** Bytes of the largest image that is fetched; 0 is no bound. Default 0. */
  maxImageBytes?: number
  /**
   * How many files each process of a run may have open. Where the daemon may not give so many, its
   * own bound counts. Default: 65,536, or this process's bound where that is lower.
   */
  openFiles?: number
  /**
   * A file with the system calls that runs may make, in the form of Docker's seccomp profiles.
   * Default: Quayside's own.
   */
  seccompFile?: string
  /** Length of the prefix of a person's network, 27 to 29. Default 27, room for 29 runs. */
  networkPrefix?: number
  clock?: Clock
  logger?: Logger
}
