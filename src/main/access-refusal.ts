import type { AuthenticationFailure } from "#access"

/** The actor of the audit for requests that nobody authenticated. */
export const unauthenticatedUser = "-"

/** A refusal in the form that the file server and the gateway use. */
export function toAccessRefusal({ status, message, retryAfterSeconds, userName }: AuthenticationFailure) {
  return {
    ok: false as const,
    status: status as 401 | 403 | 429 | 503,
    msg: message,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(userName === undefined ? {} : { userName }),
  }
}
