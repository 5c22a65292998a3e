import { Failure } from "#contract"
import { StoreError } from "../errors.ts"

/** Primary result codes of SQLite; extended ones have them in their low byte. */
const codes = { perm: 3, busy: 5, locked: 6, readonly: 8, ioerr: 10, corrupt: 11, full: 13, cantopen: 14, notadb: 26 }

/** The primary result code; undefined if the error is not SQLite's. */
function codeOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("errcode" in error) || typeof error.errcode !== "number") return undefined
  return error.errcode === shmSize ? codes.full : error.errcode & 0xff
}

/** The extended code when the index of the log cannot grow: only a full disk causes it. */
const shmSize = 4874

/** Another process writes, or has locked the database. */
export function isBusy(error: unknown): boolean {
  const code = codeOf(error)
  return code === codes.busy || code === codes.locked
}

/** The disk is full. */
export function isDiskFullError(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return codeOf(error) === codes.full || code === "ENOSPC" || (error instanceof StoreError && error.kind === "full")
}

/** A request reads while the service stops. */
function isClosed(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_INVALID_STATE"
}

/** The error for callers. An error of the program itself is returned unchanged. */
export function failureOf(error: unknown): unknown {
  if (isClosed(error)) return new Failure("unavailable", "The database is closed", { cause: error })
  switch (codeOf(error)) {
    case codes.full:
      return new Failure("storage_full", "The disk that holds the database is full", { cause: error })
    case codes.busy:
    case codes.locked:
      return new Failure("unavailable", "Another process holds the database", { cause: error })
    case codes.ioerr:
    case codes.cantopen:
      return new Failure("unavailable", "The disk that holds the database does not read or write", { cause: error })
    case codes.readonly:
    case codes.perm:
      return new Failure("unavailable", "The database cannot be written any more", { cause: error })
    case codes.corrupt:
    case codes.notadb:
      return new Failure("unavailable", "The database is damaged", { cause: error })
    default:
      return error
  }
}

/** The error for the administrator when the database cannot be opened. */
export function openingError(error: unknown, file: string): unknown {
  if (error instanceof StoreError) return error
  if (isDiskFullError(error)) return full(file, error)
  const systemCode = error instanceof Error && "code" in error ? error.code : undefined
  switch (codeOf(error)) {
    case codes.busy:
    case codes.locked:
      return new StoreError("locked", `The database ${file} is in use by another process`, error)
    case codes.corrupt:
    case codes.notadb:
      return new StoreError("corrupt", `The file ${file} is damaged or is not an SQLite database; restore it from a backup`, error)
    case codes.ioerr:
    case codes.cantopen:
    case codes.readonly:
    case codes.perm:
      return new StoreError("not_writable", `The database ${file} and its directory must be writable, and are not`, error)
    default:
      return typeof systemCode === "string" && /^E[A-Z]+$/.test(systemCode)
        ? new StoreError("not_writable", `The database ${file} and its directory must be writable, and are not (${systemCode})`, error)
        : error
  }
}

function full(file: string, cause: unknown): StoreError {
  return new StoreError("full", `The disk that holds the database ${file} is full`, cause)
}
