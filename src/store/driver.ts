import type { IdentityCheck } from "./database-identity.ts"
import type { SearchCounts } from "./lists/search-counts.ts"
import type { Dialect } from "./migrations/index.ts"
import type { Query } from "./queries/query.ts"
import type { ColumnValue } from "./values.ts"

/** Runs queries. A row is an array in the order of the selected columns. */
export interface QueryRunner {
  all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]>
  first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined>
  /** Returns the number of changed rows. */
  run<A extends object>(query: Query<A>, args: A): Promise<number>
  /**
   * For reads of very many rows, which would block other reads. They see committed rows.
   */
  readonly scans?: UserScans
  /** Support for searches by words; absent inside a transaction. */
  readonly search?: SearchContext
}

export interface SearchContext {
  /** Whether an index finds the rows with a word. */
  readonly isIndexed: boolean
  /** Cached counts of searches, for their next pages. */
  readonly counts: SearchCounts
}

/** Reads of many rows, of which each person can run few at once. */
export interface UserScans {
  forUser(userId: number): QueryRunner
}

/** The transaction of the only writer. It must not be used after `commit` or `rollback`. */
export interface Transaction extends QueryRunner {
  /**
   * The reason why the transaction has ended by itself; undefined while it is open. Further
   * statements would run outside of it.
   */
  lost(): unknown
  savepoint(): Promise<void>
  /** Keeps the changes since the savepoint. */
  release(): Promise<void>
  /** Undoes the changes since the savepoint. */
  rollbackToSavepoint(): Promise<void>
  commit(): Promise<void>
  /** Undoes everything. Succeeds if there is nothing to undo. */
  rollback(): Promise<void>
}

/**
 * One database. Errors with a cause outside of the program are a `Failure` (`storage_full` or
 * `unavailable`); others are thrown unchanged.
 */
export interface Driver extends AsyncDisposable {
  readonly dialect: Dialect
  readonly identity: IdentityCheck
  /** Committed rows only. */
  readonly reads: QueryRunner
  /** Undefined if only one process writes. */
  readonly notices?: Notices
  /** Undefined if the disk is on another machine. */
  readonly reserve?: DiskSpaceReserve
  /** Waits for other writing processes, and fails with `unavailable` after a time-out. */
  begin(): Promise<Transaction>
}

/** Reserved space on the database's disk, for changes that must succeed when the disk is full. */
export interface DiskSpaceReserve {
  /** Releases a part; false if nothing is left. */
  release(): boolean
  /**
   * Reserves released parts again if the disk has room. Returns whether the reserve is whole; only
   * then may changes that are not urgent use the disk.
   */
  restore(): boolean
}

/** A change that some process committed. It names what to read again. */
export type Notice =
  | { kind: "journal" }
  | { kind: "run"; id: number; version: number }
  /** The rights or credentials of a person. */
  | { kind: "person"; id: number }
  /** Those of many people. */
  | { kind: "people" }
  /** Notices may have been lost: all of the above. */
  | { kind: "gap" }
  /** A message of another process, which the database does not keep. */
  | { kind: "message"; topic: string; text: string }

export interface Notices {
  /** Whether notices arrive now. While they do not, changes have to be looked for. */
  readonly isListening: boolean
  on(listener: (notice: Notice) => void): Disposable
  /**
   * Sends a message to the other processes, as far as they listen now. `topic` has no space; `text`
   * has at most 4,000 bytes.
   */
  tell(topic: string, text: string): void
}
