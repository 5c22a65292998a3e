import { Failure } from "#contract"

/** The exit codes, which scripts count on. docs/how-to/command-line.md lists them. */
export const exitCodes = {
  done: 0,
  failed: 1,
  usage: 2,
  notAllowed: 3,
  notFound: 4,
  conflict: 5,
  runFailed: 6,
  unreachable: 7,
  noCommand: 127,
  interrupted: 130,
} as const
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** A refusal of the command line itself. The message says what was wanted and what came. */
export class CliError extends Error {
  override readonly name = "CliError"
  readonly exitCode: ExitCode
  readonly hint: string | undefined

  constructor(message: string, { exitCode = exitCodes.failed, hint }: { exitCode?: ExitCode; hint?: string } = {}) {
    super(message)
    this.exitCode = exitCode
    this.hint = hint
  }
}

export interface ErrorDescription {
  exitCode: ExitCode
  msg: string
  hint?: string
  code?: string
  field?: string
  requestId?: string
}

/** The one place that turns an error into a sentence, a hint and an exit code. */
export function describeError(error: unknown, server: string | undefined): ErrorDescription {
  if (error instanceof CliError)
    return { exitCode: error.exitCode, msg: error.message, ...(error.hint === undefined ? {} : { hint: error.hint }) }
  if (error instanceof Failure) return describeFailure(error)
  const { name, message } = error as Error
  if (name === "StreamError") return describeStreamError(error as Error & { code: string })
  if (name === "AbortError") return { exitCode: exitCodes.interrupted, msg: "Interrupted." }
  const cause = systemCause(error)
  if (cause !== undefined && isNetworkCode(cause.code))
    return {
      exitCode: exitCodes.unreachable,
      msg: `${server ?? "The server"} cannot be reached: ${cause.message || cause.code}`,
      hint: "Check the address and the network, or run `quayside doctor`.",
    }
  if (name === "TypeError" && message === "fetch failed")
    return {
      exitCode: exitCodes.unreachable,
      msg: `${server ?? "The server"} cannot be reached: ${((error as Error).cause as Error)?.message}`,
    }
  if (name === "SyntaxError")
    return {
      exitCode: exitCodes.unreachable,
      msg: `${server ?? "The address"} did not answer as Quayside does: ${message}`,
      hint: "The address must be the base URL, the one at which browsers open the web UI.",
    }
  if (cause?.path !== undefined) return { exitCode: exitCodes.failed, msg: `${cause.path} cannot be used: ${cause.message}` }
  return { exitCode: exitCodes.failed, msg: message || String(error) }
}

function describeFailure(failure: Failure): ErrorDescription {
  const { code, field, extra, message } = failure
  const reason = extra.Reason as { hint?: string } | null | undefined
  const hint = reason?.hint ?? hints[code]
  return {
    exitCode: exitCodeOf(failure),
    msg: message,
    code,
    ...(hint === undefined ? {} : { hint }),
    ...(field === undefined ? {} : { field }),
    ...(typeof extra.requestId === "string" ? { requestId: extra.requestId } : {}),
  }
}

/** A program that the image lacks exits as in a shell. */
function describeStreamError({ code, message }: Error & { code: string }): ErrorDescription {
  return { exitCode: streamExitCodes[code] ?? exitCodes.failed, msg: message, code }
}

const streamExitCodes: Readonly<Record<string, ExitCode>> = {
  forbidden: exitCodes.notAllowed,
  not_found: exitCodes.notFound,
  command_not_found: exitCodes.noCommand,
  no_shell: exitCodes.noCommand,
  no_tar: exitCodes.noCommand,
  unavailable: exitCodes.unreachable,
  connection_lost: exitCodes.unreachable,
}

const hints: Readonly<Record<string, string>> = {
  unauthorized: "Sign in with `quayside login`.",
  too_many_requests: "Wait a moment and try again.",
}

function exitCodeOf({ status, extra }: Failure): ExitCode {
  // Only a start that failed has a reason.
  if (extra.Reason) return exitCodes.runFailed
  if (status === 401 || status === 403) return exitCodes.notAllowed
  if (status === 404) return exitCodes.notFound
  if (status === 409 || status === 412 || status === 423) return exitCodes.conflict
  return status >= 500 || status === 429 ? exitCodes.unreachable : exitCodes.failed
}

type SystemError = Error & { code?: string; path?: string; errors?: SystemError[] }

/** `fetch` hides the system's error in `cause`, and several addresses in an `AggregateError`. */
function systemCause(error: unknown): SystemError | undefined {
  let last: SystemError | undefined
  for (let each = error as SystemError | undefined; each instanceof Error; each = (each.cause ?? each.errors?.[0]) as SystemError) {
    if (typeof each.code === "string") last = each
  }
  return last
}

function isNetworkCode(code: string | undefined): boolean {
  return /^(E(CONN|HOST|NET|AI_|PIPE|TIMEDOUT|ADDR|NOTFOUND|PROTO)|UND_ERR|CERT_|DEPTH_|SELF_|UNABLE_|ERR_(TLS|SSL))/.test(code ?? "")
}
