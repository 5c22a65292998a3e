import type { Caller, Identity } from "#access"
import type { ChannelStream, JsonObject } from "#channel"
import type { Engine } from "#engine"
import type { Actor, Events } from "#events"
import type { Clock, Logger } from "#kit"
import type { Runs } from "#runs"
import type { RunRow, Store } from "#store"
import type { ControlUsage } from "./control-usage.ts"
import type { ShellSessions } from "./shells/shell-sessions.ts"

/** The parts of the service that the control channel uses. */
export interface ControlOptions {
  store: Store
  identity: Identity
  events: Events
  engine: Engine
  runs: Runs
  clock: Clock
  logger: Logger
  /** Records of shells, which then survive this process. Undefined: none does. */
  shellsDirectory?: string | undefined
}

/** The limits of the API for a person, which streams share. Both throw a 429 beyond them. */
export interface ApiLimits {
  /** Counts a program against the rate of writes, and records it in turns with other changes. */
  recordProgram(record: () => Promise<void>): Promise<void>
  /** Counts a read of a run's output against the rate of streams, and runs it among those open. */
  readOutput(work: () => Promise<void>): Promise<void>
}

/** The things that the streams of one connection share. */
export interface ConnectionContext extends ControlOptions {
  readonly caller: Caller
  readonly actor: Actor
  readonly run: RunRow
  readonly usage: ControlUsage
  readonly shells: ShellSessions
  /** Resolves when the shells of dead processes are among them. */
  readonly restored: Promise<void>
  readonly limits: ApiLimits
  /** Opens a stream to the client. */
  open(kind: string, options: JsonObject): ChannelStream
  /** Aborted with the given signal, or when the caller's right, proof or run ends. */
  watchRight(signal: AbortSignal): AbortSignal
  /** Aborted when the connection ends. */
  readonly signal: AbortSignal
}

/** Serves one stream until it is over. A `StreamError` ends it with its code. */
export type StreamHandler = (context: ConnectionContext, stream: ChannelStream, request: JsonObject) => Promise<void>
