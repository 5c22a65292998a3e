/**
 * The gateway's view of runs and people. All lookups are answered from memory, without a query per
 * request.
 */
export interface RunDirectory {
  /** The run with this ID or key, when it is live (any state before `ended`). */
  byId(id: number): RunTarget | undefined
  byKey(key: string): RunTarget | undefined

  /** All live runs. */
  liveTargets(): RunTarget[]

  /**
   * Resolves when this process knows the address of a run that became ready in another process, or
   * after a moment. Undefined: there is nothing to wait for.
   */
  untilRouted(id: number): Promise<void> | undefined

  /**
   * The visitor of an `Authorization` header, or the status and message of the rejection.
   * `address` is the caller's, after trusted proxies.
   */
  authenticate(
    authorization: string,
    address: string,
  ): Promise<Visitor | { status: 401 | 403 | 429 | 503; msg: string; retryAfterSeconds?: number }>

  /**
   * Whether this visitor may open the run now. Called for every ticket and session, and every 2 s
   * for each pair of visitor and run with open connections.
   */
  canOpen(visitor: Visitor, runId: number): Promise<boolean>

  /**
   * Uses a person's ticket, in whichever process. False if it was used before or expired at
   * `endsAt`. Throws a `Failure` (429) if too many of the person's wait.
   */
  claimTicket(ticket: { id: string; endsAt: number; userId: number }): Promise<boolean>

  /**
   * Records a rejected request for the audit. `code` is the failure's, or `hidden` for a run that
   * this visitor may not open. Must not throw.
   */
  recordRefusal(refusal: { visitor: Visitor | undefined; address: string; code: string }): void

  /** When a run will end, in milliseconds since the epoch; null while nothing ends it. */
  endTimes(runId: number): { expiresAt: number | null; idleExpiresAt: number | null }

  /** A person used the run. Called at most once a second for each run. */
  recordActivity(runId: number): void
}

export interface ProgramAddress {
  host: string
  port: number
  /**
   * Whether the run still has this address, if that can be known. Called for each new connection,
   * before anything is sent.
   */
  isCurrent?: (() => boolean) | undefined
}

/** A live run as the gateway sees it. */
export interface RunTarget {
  id: number
  /** The person who started it. */
  userId: number
  projectId: number
  /**
   * Names the people who decide what its pages do. Runs of one person share an origin only if their
   * authors are the same.
   */
  authors: string
  /** 32 hexadecimal digits; the first label of the run's own origin. */
  key: string
  /** Undefined until the run is `ready`, and again while it stops. */
  address: ProgramAddress | undefined
  /**
   * `keep`: the program is configured for `/run/<ID>/`. `strip`: it is configured for `/`.
   */
  prefix: "keep" | "strip"
  /**
   * Sent to the program with every request, such as the run's own token; replaces what the visitor
   * sent under that name.
   */
  upstreamHeaders: Readonly<Record<string, string>>
  /**
   * The landing page, relative to the program's base (`lab`, `vnc.html?autoconnect=1`);
   * may be empty.
   */
  landing: string
  /** The protocol of the program's pages over WebSocket, which tells typing from keep-alives. */
  webSocketProtocol: "jupyter" | "rfb" | "vscode" | "any"
  state: string
}

/**
 * An authenticated person and their credential. When the credential ends, its connections are
 * closed.
 */
export interface Visitor {
  userId: number
  /** Identifies the token or browser session; empty for a password. */
  credentialId: string
  /** Set when the credential opens only this run. */
  scopedRunId?: number
}
