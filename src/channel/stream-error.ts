/** Why a stream ended without its result. */
export const streamErrorCodes = [
  "invalid",
  "forbidden",
  "not_found",
  "too_many_streams",
  "too_many_requests",
  "unavailable",
  "protocol_error",
  "connection_refused",
  "command_not_found",
  "no_shell",
  "no_tar",
  "copy_failed",
  "taken_over",
  "unsafe_archive",
  "cancelled",
  "connection_lost",
  "internal",
] as const

export type StreamErrorCode = (typeof streamErrorCodes)[number]

/** The end of a stream, or of the whole connection, that is not a result. */
export class StreamError extends Error {
  override readonly name = "StreamError"
  /** A `StreamErrorCode`; another word if a newer peer sent it. */
  readonly code: string

  constructor(code: StreamErrorCode | (string & {}), msg: string) {
    super(msg)
    this.code = code
  }
}
