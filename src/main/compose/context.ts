import type { Identity, IdentityOptions } from "#access"
import type { Engine } from "#engine"
import type { Events } from "#events"
import type { Files, FileTree } from "#files"
import type { Gateway } from "#gateway"
import type { Images } from "#images"
import type { Clock, Logger } from "#kit"
import type { RunSettingsOptions, Runs, StorageQuotas } from "#runs"
import type { Store } from "#store"
import type { PublicUrls, runPortRange } from "../addresses.ts"
import type { Roles } from "../roles.ts"
import type { Settings } from "../settings/settings.ts"
import type { WildcardCheck } from "./wildcard.ts"

export interface ComposeOptions {
  settings: Settings
  version: string
  logger: Logger
  /** Receives one line for each request to the base URL. Without it, none are written. */
  accessLog?: (line: string) => void
  /** Called before the generated password is valid. */
  announcePassword: (password: string) => void
  /** How passwords are hashed. Default: as `createIdentity` does. */
  hashing?: NonNullable<IdentityOptions["hashing"]>
  /** How runs are supervised. Default: as the settings say. */
  supervision?: RunSettingsOptions
  /** The directories in which NVIDIA's tool is looked for. Default: the system's. */
  gpuToolPath?: string
  /** When it aborts, the start ends at its next step and throws `StartStoppedError`. */
  signal?: AbortSignal
}

/** Shared by all steps of the start. */
export interface StartContext {
  settings: Settings
  roles: Roles
  urls: PublicUrls
  runPorts: ReturnType<typeof runPortRange>
  dataDir: string
  filesRoot: string
  clock: Clock
  logger: Logger
  /** Whether the names of runs resolve; undefined if this process serves none. */
  apps: WildcardCheck | undefined
  /** Disposes of all components, the latest first. */
  stack: AsyncDisposableStack
}

/** The components that every process has. */
export interface BaseComponents {
  store: Store
  identity: Identity
  quotas: StorageQuotas
  events: Events
}

/** The files root. A process without the role `files` reads and writes it without an address. */
export interface FileComponents {
  /** Resolves when the worker serves requests. */
  starting: Promise<Files>
  tree: FileTree
}

export interface RunComponents {
  engine: Engine
  images: Images
  runs: Runs
}

/** Components that are made later than those that use them. */
export interface LateComponents {
  gateway?: Gateway
  files?: Promise<Files | undefined>
  images?: Images
  runs?: Runs
}
