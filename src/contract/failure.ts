import { type FailureCode, failureStatus } from "./codes.ts"
import type { ReasonCode } from "./reasons.ts"

export interface FailureOptions {
  /** The body field or query parameter at fault. */
  field?: string
  /**
   * Overrides the code's own status: 414 and 417 share a code with others, and so do failed starts.
   */
  status?: number
  /** Further members of the answer, such as the run that is already there. */
  extra?: Readonly<Record<string, unknown>>
  headers?: Readonly<Record<string, string>>
  cause?: unknown
}

/**
 * A refusal that its receiver can understand: it reaches the caller as `{ok: false, msg, code,
 * field?, …}`.
 */
export class Failure extends Error {
  override readonly name = "Failure"
  readonly code: FailureCode | ReasonCode
  readonly status: number
  readonly field: string | undefined
  readonly extra: Readonly<Record<string, unknown>>
  readonly headers: Readonly<Record<string, string>>

  constructor(code: FailureCode | ReasonCode, msg: string, options: FailureOptions = {}) {
    super(msg, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.status = options.status ?? (code in failureStatus ? failureStatus[code as FailureCode] : 409)
    this.field = options.field
    this.extra = options.extra ?? {}
    this.headers = options.headers ?? {}
  }

  /** The answer's body. */
  toBody(requestId?: string): FailureBody {
    return {
      ok: false,
      msg: this.message,
      code: this.code,
      ...(this.field === undefined ? {} : { field: this.field }),
      ...this.extra,
      ...(requestId === undefined ? {} : { requestId }),
    }
  }
}

export interface FailureBody {
  ok: false
  msg: string
  code: FailureCode | ReasonCode
  field?: string
  requestId?: string
  [extra: string]: unknown
}

/** The failure of an address's response; `internal` if the body is something else. */
export async function readFailure(response: Pick<Response, "status" | "text">, address: string): Promise<Failure> {
  const { status } = response
  const text = await response.text().catch(() => "")
  try {
    const { code, msg } = JSON.parse(text) as FailureBody
    return new Failure(code, msg, { status })
  } catch {
    return new Failure("internal", `${address} answered ${status}`, { status })
  }
}
