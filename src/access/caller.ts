import { Failure } from "#contract"
import type { Viewer } from "#store"

/**
 * What a proof allows at most: `read`, `write`, or `run:<ID>`, which opens that run's address and
 * nothing else.
 */
export type Scope = "read" | "write" | `run:${number}`

/**
 * What proved who somebody is. `id` is opaque, holds no secret, and is what `Identity.recall`
 * takes.
 */
export interface Credential {
  kind: "password" | "token" | "session" | "files"
  id: string
}

/** A person who proved who they are. Shared between requests: never changed. */
export interface Caller {
  readonly userId: number
  readonly userName: string
  readonly isAdmin: boolean
  readonly groupIds: readonly number[]
  readonly groupNames: readonly string[]
  readonly scopes: readonly Scope[]
  readonly credential: Readonly<Credential>
}

/** What the store's lists need to know about who looks. */
export function toViewer(caller: Caller): Viewer {
  return { userId: caller.userId, groupIds: caller.groupIds, everything: caller.isAdmin }
}

/** The run that a proof is limited to; undefined when it is not limited to one. */
export function scopedRunId(caller: Pick<Caller, "scopes">): number | undefined {
  const scope = caller.scopes.find((each) => each.startsWith("run:"))
  return scope === undefined ? undefined : Number(scope.slice("run:".length))
}

/**
 * Why a proof was not accepted: 401, 403, 429 (with `Retry-After`) or 503. It can be thrown as it
 * is.
 */
export class Refusal extends Failure {
  readonly retryAfterSeconds: number | undefined
  /** Whose proof it was, where it was right and yet not good for this. */
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
 * The one sentence for an unknown person, a wrong password, a wrong token and a disabled person.
 */
export function invalidCredentials(): Refusal {
  return new Refusal("unauthorized", "The user name and the password or token do not belong together, or the person is disabled")
}

export function missingCredentials(): Refusal {
  return new Refusal("unauthorized", "Nobody is signed in: a user name with its password or token, or a token alone, is wanted")
}
