import { Failure } from "#contract"
import { StoreError } from "../errors.ts"

/** SQLSTATE, or the code of a system error. */
function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : ""
}

/**
 * Whether the connection is unusable after this error. The driver's own errors of a dead connection
 * have no code.
 */
export function isConnectionLost(error: unknown): boolean {
  const code = codeOf(error)
  if (/^(08|57P)/.test(code)) return true
  if (/^E[A-Z]+$/.test(code)) return true
  return error instanceof Error && code === "" && /connection|timeout|not queryable|client was closed/i.test(error.message)
}

/** A request reads while the service stops. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && error.message === "Cannot use a pool after calling end on the pool"
}

/** The error for callers. An error of the program itself is returned unchanged. */
export function failureOf(error: unknown): unknown {
  const code = codeOf(error)
  if (isClosed(error)) return new Failure("unavailable", "The database is closed", { cause: error })
  if (code === "53100") return new Failure("storage_full", "The disk of the database server is full", { cause: error })
  if (isConnectionLost(error)) return new Failure("unavailable", "The database server cannot be reached", { cause: error })
  if (/^(53|58|XX|F0)/.test(code)) return new Failure("unavailable", "The database server reports an internal error", { cause: error })
  if (code === "55P03") return new Failure("unavailable", "Another process writes to the database for too long", { cause: error })
  if (code === "57014") return new Failure("unavailable", "The database took too long", { cause: error })
  if (code === "25006") return new Failure("unavailable", "The database server is read-only", { cause: error })
  if (code === "25P03" || code === "25P04") return new Failure("unavailable", "The change took too long and was undone", { cause: error })
  return error
}

/** Why the database could not be opened; `where` names it without its password. */
export function openingError(error: unknown, where: string): unknown {
  if (error instanceof StoreError) return error
  const code = codeOf(error)
  if (code.startsWith("28"))
    return new StoreError("unreachable", `The database server of ${where} refused the user name or password`, error)
  if (code === "3D000") return new StoreError("unreachable", `The database server has no database ${where}`, error)
  if (code === "42501") return new StoreError("not_writable", `The user of ${where} must be allowed to create tables in its schema`, error)
  if (code === "25006") return new StoreError("not_writable", `The database server of ${where} is read-only`, error)
  if (code === "53100") return new StoreError("full", `The disk of the database server of ${where} is full`, error)
  if (code === "55P03") return new StoreError("locked", `Another process has held ${where} for too long`, error)
  if (isConnectionLost(error) || code === "53300") {
    const reason = error instanceof Error && error.message !== "" ? error.message : code
    return new StoreError("unreachable", `The database ${where} cannot be reached (${reason})`, error)
  }
  return error
}
