import type { Caller, Identity, OpenId, ProvisioningRules } from "#access"
import type { Answer, Body, EffectiveLimits, endpoints, InForce, OperationId, QueryOf, Readiness } from "#contract"
import type { ControlServer } from "#control"
import type { Actor, EventFeed, Events } from "#events"
import type { FileTree } from "#files"
import type { Gateway } from "#gateway"
import type { ConnectionLimiter, LargeResponseLimiter, PersonLimiter } from "#http"
import type { Images } from "#images"
import type { Clock, Logger } from "#kit"
import type { ObjectLimits } from "#projects"
import type { Runs } from "#runs"
import type { ScanLimiter, Store } from "#store"
import type { AnswerForm } from "./answer-forms.ts"
import type { ResourceMap } from "./events/feed-policy.ts"
import type { FairReads } from "./http/fair-reads.ts"
import type { RateLimiter, RateSettings } from "./http/rate-limiter.ts"
import type { Lane } from "./lane.ts"
import type { MemoryUnit } from "./units.ts"

/** The parts of the service that handlers use. */
export interface Services {
  readonly store: Store
  readonly identity: Identity
  /** Undefined if no OpenID provider is configured. */
  readonly openId: OpenIdSignIn | undefined
  readonly runs: Runs
  readonly images: Images
  readonly tree: FileTree
  readonly gateway: Gateway
  readonly control: ControlServer
  readonly events: Events
  readonly clock: Clock
  readonly logger: Logger
  /** Writes one line for each request. Without it, no lines are made. */
  readonly accessLog: ((line: string) => void) | undefined
  readonly settings: ApiSettings
  /** Counts the connections of the API. Without it, they are not counted. */
  readonly connections?: ConnectionLimiter
  /** The checks of `/readyz`, one for each part. */
  readonly readiness: () => Promise<Readiness["checks"]>
}

/** How people sign in by an OpenID provider. */
export interface OpenIdSignIn {
  openId: OpenId
  rules: ProvisioningRules
  /** The provider's name on the sign-in page. */
  name: string
}

export interface ApiSettings {
  version: string
  /** Without a slash at its end. */
  baseUrl: string
  filesUrl: string
  /** The origin of the configured base URL. Undefined if none is set: then the `Host` counts. */
  origin: string | undefined
  /** Host names beyond the loopback ones that the service answers to, in lower case. */
  hostNames: ReadonlySet<string>
  trustedProxies: readonly string[]
  memoryUnit: MemoryUnit
  /**
   * The limits of people who are not administrators, unless others are set for them. Memory and
   * disk are in MiB.
   */
  defaultLimits: EffectiveLimits
  /** The values of a start that names none. */
  startDefaults: { cpus: number; memoryMiB: number; startMinutes: number }
  /** The rates of people who are not administrators. */
  rates: RateSettings
  /**
   * Groups with an internet setting of their own. For the runs of a person, the first group that
   * they are in counts.
   */
  internetGroups: readonly string[]
  /** Whether browsers reach the base URL by TLS. */
  secureCookies: boolean
  /** All settings of the service for `/settings`, with secrets hidden. */
  inForce: InForce["settings"]
}

/** The state of the server that all requests share. */
export interface ServerState {
  /** Aborted shortly before the server stops, so that waiting requests are still answered. */
  readonly ending: AbortSignal
  readonly rateLimiter: RateLimiter
  readonly objectLimits: ObjectLimits
  /** The feed of events to subscribers. */
  readonly feed: EventFeed<Caller, ResourceMap>
  readonly largeResponses: LargeResponseLimiter
  /** Responses that follow a run's output. */
  readonly followedOutputs: PersonLimiter
  /** Requests about images that ask the engine. */
  readonly imageChecks: PersonLimiter
  /** Changes of the database by requests of people who are not administrators. */
  readonly changes: PersonLimiter<Lane>
  /** Changes of their own password, of people who are not administrators. */
  readonly passwordChanges: PersonLimiter<Lane>
  /** Answers to requests that read, of people who are not administrators. */
  readonly reads: FairReads
  /** Directories that are made for datasets. */
  readonly datasetDirectories: PersonLimiter
  /** Copies of projects, and releases of their code. */
  readonly projectCopies: PersonLimiter
  /** Previews of starts. */
  readonly previews: PersonLimiter
  /** Reads of the use of runs over time. */
  readonly usageReads: PersonLimiter
  readonly scans: ScanLimiter
  /** OpenMetrics text. */
  metrics(): string
  /** The services for operations that may use the disk reserve. */
  readonly reserveServices: Services
}

/** The part of a context that does not depend on the operation. */
export interface HandlerContext {
  readonly services: Services
  /** The authenticated caller. */
  readonly caller: Caller
  readonly actor: Actor
  /** A request header. */
  header(name: string): string | undefined
  /** The secret of the browser's session, if it sent one. */
  readonly session: string | undefined
  /** SHA-256 of the request's body as it came, or of its query if there is no body. */
  requestHash(): string
  /** Sets the status of the answer. The default is 200. */
  setStatus(status: number): void
  /** Sets a header of the answer. */
  setHeader(name: string, value: string): void
  /** Aborted when the caller disconnects, or shortly before the service stops. */
  readonly signal: AbortSignal
  readonly server: ServerState
}

/**
 * Undefined if the operation needs no credentials; possibly undefined if loopback callers need
 * none.
 */
type CallerOf<E> = E extends { permission: "none" } ? undefined : E extends { fromLoopback: true } ? Caller | undefined : Caller

/**
 * One request of an operation as its handler sees it: query and body are parsed by the contract.
 */
export interface OperationContext<Op extends OperationId> extends Omit<HandlerContext, "caller"> {
  readonly caller: CallerOf<(typeof endpoints)[Op]>
  readonly query: QueryOf<Op>
  readonly body: Body<Op>
}

/**
 * The return value of a handler: the operation's answer, or a form of it that is sent differently.
 */
export type HandlerResult<Op extends OperationId> = AnswerForm<Answer<Op>> | Exclude<Answer<Op>, AsyncIterable<unknown>>

export type Handler<Op extends OperationId> = (context: OperationContext<Op>) => HandlerResult<Op> | Promise<HandlerResult<Op>>
export type Handlers = { [Op in OperationId]: Handler<Op> }
