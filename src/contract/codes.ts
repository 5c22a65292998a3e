/**
 * The codes of failed requests, for programs, with their default HTTP status.
 */
export const failureStatus = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  already_running: 409,
  stale: 412,
  too_large: 413,
  unsupported_media_type: 415,
  locked: 423,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  engine_unreachable: 503,
  storage_full: 507,
} as const
export type FailureCode = keyof typeof failureStatus
