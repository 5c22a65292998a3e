import { Failure } from "#contract"

const storeErrorKinds = ["url", "unreachable", "not_writable", "full", "corrupt", "locked", "foreign", "newer", "migration"] as const
export type StoreErrorKind = (typeof storeErrorKinds)[number]

/**
 * The database cannot be opened. The message is one sentence for the administrator and holds no
 * secret.
 */
export class StoreError extends Error {
  override readonly name = "StoreError"
  readonly kind: StoreErrorKind

  constructor(kind: StoreErrorKind, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.kind = kind
  }
}

/** Whether a change failed because the disk of the database is full. */
export function isStorageFull(error: unknown): boolean {
  return error instanceof Failure && error.code === "storage_full"
}

/**
 * Unique values: a name (also of a deleted row), a token, a session, a subject of an OpenID
 * provider, the live run of a person and project, the ID of a run.
 */
const uniques = ["userName", "groupName", "tokenHash", "sessionHash", "liveRun", "runId", "openidSubject"] as const
export type UniqueKey = (typeof uniques)[number]

/**
 * Another row has a unique value of an insert. Nothing was written, and the change can continue.
 */
export class DuplicateError extends Error {
  override readonly name = "DuplicateError"
  readonly unique: UniqueKey

  constructor(unique: UniqueKey) {
    super(`There is a row with this ${unique} already`)
    this.unique = unique
  }
}
