import { reasonMessages } from "#contract"
import { EngineError } from "../../engine.ts"

/** The parts of the library's `ApiException` that are read here. */
interface ApiFailure {
  code: number
  body: unknown
}

/** The status of an answer of the API server; undefined if it did not answer. */
export function httpStatusOf(error: unknown): number | undefined {
  const code = (error as Partial<ApiFailure> | undefined)?.code
  return error instanceof Error && typeof code === "number" ? code : undefined
}

/** Whether the server answered that this process may not do it, rather than that it cannot now. */
export function isAccessDenied(error: unknown): boolean {
  const cause = error instanceof EngineError ? error.cause : error
  const status = httpStatusOf(cause) ?? (cause as { statusCode?: number } | undefined)?.statusCode
  return status === 401 || status === 403
}

/** The API server's message, without the library's own words around it. */
export function messageOf(error: unknown): string {
  const body = (error as Partial<ApiFailure> | undefined)?.body
  const parsed = typeof body === "string" ? parseJson(body) : body
  const message = (parsed as { message?: unknown } | undefined)?.message
  if (typeof message === "string") return message
  return error instanceof Error ? [error.message, causeOf(error)].filter(Boolean).join(": ") : String(error)
}

function causeOf({ cause }: Error): string {
  return cause instanceof Error ? cause.message || (cause as NodeJS.ErrnoException).code || "" : ""
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The API server is overloaded, restarting, or not the one that answered. */
const temporary = new Set([408, 429, 502, 503, 504])
/** Failures of its database that it reports as its own. */
const databaseFailure = /etcdserver|timed out|timeout|deadline exceeded|leader changed|connection refused/i

/**
 * Turns any failure of a call into an `EngineError`; `what` completes "The cluster refused to …".
 */
export function toEngineError(error: unknown, what: string): EngineError {
  if (error instanceof EngineError) return error
  const status = httpStatusOf(error)
  const detail = messageOf(error)
  const options = { detail, cause: error }
  const refusal = admissionRefusal(detail)
  if (refusal)
    return new EngineError("engine_error", refusal, { ...options, hint: "Ask the administrators of the cluster what is demanded" })
  if (status === undefined || temporary.has(status) || (status === 500 && databaseFailure.test(detail)))
    return unreachableError(detail, error)
  const quota = /exceeded quota: (.+)/.exec(detail)
  if (quota) return new EngineError("quota_exceeded", `The cluster's quota for runs is used up: ${quota[1]?.slice(0, 300)}`, options)
  if (status === 401) return new EngineError("engine_error", "The cluster does not accept Quayside's credentials", options)
  if (status === 403) return new EngineError("engine_error", `The cluster does not allow Quayside to ${what}`, options)
  return new EngineError("engine_error", `The cluster refused to ${what}`, options)
}

/** The words of a webhook or an admission policy, which only the cluster's people know. */
function admissionRefusal(detail: string): string | undefined {
  const [, webhook, webhookSaid] = /admission webhook "([^"]+)" denied the request:? ?([\s\S]*)/.exec(detail) ?? []
  const silent = /failed calling webhook "([^"]+)"/.exec(detail)?.[1]
  if (silent !== undefined) return `The cluster's webhook ${silent}, which has to allow the run, does not answer`
  const [, policy, policySaid] = /ValidatingAdmissionPolicy '([^']+)' with binding '[^']+' denied request: ?([\s\S]*)/.exec(detail) ?? []
  const said = (webhookSaid ?? policySaid ?? "").trim().slice(0, 300)
  const words = said === "" ? "" : `: ${said}`
  if (webhook !== undefined) return `The cluster's webhook ${webhook} refused the run${words}`
  return policy === undefined ? undefined : `The cluster's policy ${policy} refused the run${words}`
}

export function unreachableError(detail: string, cause?: unknown): EngineError {
  return new EngineError("engine_unreachable", reasonMessages.engine_unreachable, { detail, cause })
}
