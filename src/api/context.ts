import type { Caller, Identity, OpenId, ProvisioningRules } from "#access"
import type { EffectiveLimits, endpoints, OperationId, Query } from "#contract"
import type { Actor, Events, Feed, Sink } from "#events"
import type { Tree } from "#files"
import type { Gateway } from "#gateway"
import type { ConnectionLimit } from "#http"
import type { Images } from "#images"
import type { Clock, Logger } from "#kit"
import type { ObjectLimits } from "#projects"
import type { Runs } from "#runs"
import type { Scans, Store } from "#store"
import type { Resources } from "./events/policy.ts"
import type { LargeAnswers } from "./http/large-answers.ts"
import type { RateSettings, Rates } from "./http/rates.ts"
import type { MemoryUnit } from "./units.ts"

/** What the handlers work with. */
export interface Services {
  readonly store: Store
  readonly identity: Identity
  /** Undefined where no OpenID provider is configured. */
  readonly openId: OpenIdSignIn | undefined
  readonly runs: Runs
  readonly images: Images
  readonly tree: Tree
  readonly gateway: Gateway
  readonly events: Events
  readonly clock: Clock
  readonly logger: Logger
  /** Takes a line for each request; none are made without it. */
  readonly accessLog: ((line: string) => void) | undefined
  readonly settings: ApiSettings
  /** Counts the connections of the API; undefined: they are not counted. */
  readonly connections?: ConnectionLimit
  /** What `/readyz` tells, one line for each part. */
  readonly readiness: () => Promise<Record<"store" | "engine" | "files", { ok: boolean; msg: string }>>
}

/** How people sign in by an OpenID provider. */
export interface OpenIdSignIn {
  openId: OpenId
  rules: ProvisioningRules
  /** What people call the provider. */
  name: string
}

export interface ApiSettings {
  version: string
  /** Without a slash at its end. */
  baseUrl: string
  /** The configured base URL's origin; undefined where none is set, then the `Host` counts. */
  origin: string | undefined
  /** Host names beyond the loopback ones that the service answers to, in lower case. */
  hostNames: ReadonlySet<string>
  trustedProxies: readonly string[]
  memoryUnit: MemoryUnit
  /**
   * The limits of people who are no administrators, where nobody set another one. Memory and disk
   * are MiB.
   */
  defaultLimits: EffectiveLimits
  /** How often a person who is no administrator may do what. */
  rates: RateSettings
  /**
   * Groups with an internet setting of their own; the first that somebody is in counts for their
   * runs.
   */
  internetGroups: readonly string[]
  /** Whether browsers reach the base URL by TLS. */
  secureCookies: boolean
}

/** What the server as a whole lends to each request. */
export interface ServerState {
  /** Aborted when what waits must give up. */
  readonly ending: AbortSignal
  readonly rates: Rates
  readonly objectLimits: ObjectLimits
  /** Who is told what happens. */
  readonly feed: Feed<Caller, Resources>
  readonly largeAnswers: LargeAnswers
  readonly scans: Scans
  /** OpenMetrics text. */
  metrics(): string
  /** For what gets room on a full disk. */
  readonly urgent: Services
}

/** An answer that goes on: events, told until one of the two ends goes away. */
export class EventStream {
  /**
   * Resolves when it is known from where; the stream begins when what it resolves with is called.
   */
  readonly open: () => Promise<(sink: Sink) => void>

  constructor(open: () => Promise<(sink: Sink) => void>) {
    this.open = open
  }
}

/** An answer of lines, sent as they come. */
export class Lines {
  readonly lines: AsyncIterable<string>
  /** Whether the caller is answered before the first line is there. */
  readonly isLive: boolean
  /** Cuts the answer off at once, also while its reader takes nothing. */
  readonly signal: AbortSignal

  constructor(lines: AsyncIterable<string>, isLive: boolean, signal: AbortSignal) {
    this.lines = lines
    this.isLive = isLive
    this.signal = signal
  }
}

/** An answer that was made before: JSON as it is sent. */
export class ReadyJson {
  readonly text: string

  constructor(answer: object) {
    this.text = JSON.stringify(answer)
  }
}

/** A list that is too large to be made at once: its rows are read in slices while they are sent. */
export class LongList {
  /** The members of the answer beside `data`. */
  readonly rest: object
  readonly slices: number
  /** The objects of one slice. */
  readonly read: (slice: number) => Promise<object[]>

  constructor(rest: object, slices: number, read: (slice: number) => Promise<object[]>) {
    this.rest = rest
    this.slices = slices
    this.read = read
  }
}

/** One request as its handler sees it. */
export interface Context<Op extends OperationId = OperationId> {
  /** Whoever proved who they are; undefined where `isAnonymous`. */
  readonly caller: Caller
  /** Nobody proved anything: the operation asks for no proof, or not from this machine. */
  readonly isAnonymous: boolean
  readonly actor: Actor
  readonly query: Query<(typeof endpoints)[Op]["query"]>
  /** The parsed JSON; undefined for operations without a body. */
  readonly body: unknown
  /** A request header. */
  header(name: string): string | undefined
  /** The secret of the browser's session, where it sent one. */
  readonly session: string | undefined
  /** Answers with another status than 200. */
  setStatus(status: number): void
  /** Sets a header of the answer. */
  setHeader(name: string, value: string): void
  /** Aborted when the caller goes away, or the service stops and what waits must give up. */
  readonly signal: AbortSignal
  readonly server: ServerState
}

export type Handler<Op extends OperationId> = (services: Services, context: Context<Op>) => unknown
export type Handlers = { [Op in OperationId]: Handler<Op> }
