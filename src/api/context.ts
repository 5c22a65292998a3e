import type { Caller, Identity, OpenId, ProvisioningRules } from "#access"
import type { Answer, Body, EffectiveLimits, endpoints, OperationId, QueryOf } from "#contract"
import type { Actor, EventFeed, Events } from "#events"
import type { FileTree } from "#files"
import type { Gateway } from "#gateway"
import type { ConnectionLimit } from "#http"
import type { Images } from "#images"
import type { Clock, Logger } from "#kit"
import type { ObjectLimits } from "#projects"
import type { Runs } from "#runs"
import type { ScanLimiter, Store } from "#store"
import type { Resources } from "./events/feed-policy.ts"
import type { LargeAnswers } from "./http/large-answers.ts"
import type { RateSettings, Rates } from "./http/rates.ts"
import type { Rendered } from "./rendered.ts"
import type { MemoryUnit } from "./units.ts"

/** What the handlers work with. */
export interface Services {
  readonly store: Store
  readonly identity: Identity
  /** Undefined where no OpenID provider is configured. */
  readonly openId: OpenIdSignIn | undefined
  readonly runs: Runs
  readonly images: Images
  readonly tree: FileTree
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
  readonly feed: EventFeed<Caller, Resources>
  readonly largeAnswers: LargeAnswers
  readonly scans: ScanLimiter
  /** OpenMetrics text. */
  metrics(): string
  /** For what gets room on a full disk. */
  readonly urgent: Services
}

/** What every handler gets, whatever its operation. */
export interface HandlerContext {
  readonly services: Services
  /** Who proved who they are. */
  readonly caller: Caller
  readonly actor: Actor
  /** A request header. */
  header(name: string): string | undefined
  /** The secret of the browser's session, if it sent one. */
  readonly session: string | undefined
  /** SHA-256 of what the request asks for: its body as it came, or else its query. */
  hash(): string
  /** Answers with another status than 200. */
  setStatus(status: number): void
  /** Sets a header of the answer. */
  setHeader(name: string, value: string): void
  /** Aborted when the caller goes away, or when the service stops and waiting must end. */
  readonly signal: AbortSignal
  readonly server: ServerState
}

/** Undefined if the operation needs no proof; perhaps so if callers on this machine need none. */
type CallerOf<E> = E extends { permission: "none" } ? undefined : E extends { fromLoopback: true } ? Caller | undefined : Caller

/**
 * One request of an operation as its handler sees it: query and body are parsed by the contract.
 */
export interface Context<Op extends OperationId> extends Omit<HandlerContext, "caller"> {
  readonly caller: CallerOf<(typeof endpoints)[Op]>
  readonly query: QueryOf<Op>
  readonly body: Body<Op>
}

/**
 * What a handler returns: the operation's answer, or the same in a form that is sent in its own
 * way.
 */
export type Result<Op extends OperationId> = Rendered<Answer<Op>> | Exclude<Answer<Op>, AsyncIterable<unknown>>

export type Handler<Op extends OperationId> = (context: Context<Op>) => Result<Op> | Promise<Result<Op>>
export type Handlers = { [Op in OperationId]: Handler<Op> }
