import { Failure } from "#contract"
import type { Viewer } from "#store"

/**
 * The most that a credential allows: `read`, `write`, or `run:<ID>`, which opens only that run's
 * address.
 */
export type Scope = "read" | "write" | `run:${number}`

/**
 * The password, token or session that authenticated a caller. `id` is opaque, holds no secret, and
 * is an argument of `Identity.refreshCaller`.
 */
export interface Credential {
  kind: "password" | "token" | "session" | "files"
  id: string
}

/** An authenticated person. Shared between requests, so it is never changed. */
export interface Caller {
  readonly userId: number
  readonly userName: string
  readonly isAdmin: boolean
  readonly groupIds: readonly number[]
  readonly groupNames: readonly string[]
  readonly scopes: readonly Scope[]
  readonly credential: Readonly<Credential>
}

/** The sha256 that names a session's row; undefined for other credentials. */
export function sessionHashOf({ kind, id }: Credential): string | undefined {
  return kind === "session" ? id.slice("session:".length) : undefined
}

/** The caller as the viewer that the store's lists filter by. */
export function toViewer(caller: Caller): Viewer {
  return { userId: caller.userId, groupIds: caller.groupIds, seesAll: caller.isAdmin }
}

/** The run to which the credential is limited; undefined when it is not limited to one. */
export function scopedRunId(caller: Pick<Caller, "scopes">): number | undefined {
  const scope = caller.scopes.find((each) => each.startsWith("run:"))
  return scope === undefined ? undefined : Number(scope.slice("run:".length))
}

/**
 * Why credentials were rejected: 401, 403, 429 (with `Retry-After`) or 503. Returned or thrown.
 */
export class AuthenticationFailure extends Failure {
  readonly retryAfterSeconds: number | undefined
  /** The person, if the credentials were right but do not allow this. */
  readonly userName: string | undefined

  constructor(
    code: "unauthorized" | "forbidden" | "too_many_requests" | "unavailable",
    msg: string,
    more: { retryAfterSeconds?: number; userName?: string } = {},
  ) {
    const { retryAfterSeconds, userName } = more
    super(code, msg, retryAfterSeconds === undefined ? {} : { headers: { "Retry-After": String(retryAfterSeconds) } })
    this.retryAfterSeconds = retryAfterSeconds
    this.userName = userName
  }
}

/**
 * The same message for an unknown person, a wrong password, a wrong token and a disabled person.
 */
export function invalidCredentials(): AuthenticationFailure {
  return new AuthenticationFailure("unauthorized", "The user name and the password or token do not match, or the account is disabled")
}

export function missingCredentials(): AuthenticationFailure {
  return new AuthenticationFailure("unauthorized", "Nobody is signed in: send a user name with its password or token, or a token alone")
}
