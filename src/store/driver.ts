import type { IdentityCheck } from "./database-identity.ts"
import type { SearchCounts } from "./lists/search-counts.ts"
import type { Dialect } from "./migrations/index.ts"
import type { Query } from "./queries/query.ts"
import type { ColumnValue } from "./values.ts"

/** Runs queries. Rows come as arrays, in the order of `sql/columns.ts`. */
export interface QueryRunner {
  all<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[][]>
  first<A extends object>(query: Query<A>, args: A): Promise<ColumnValue[] | undefined>
  /** How many rows it changed. */
  run<A extends object>(query: Query<A>, args: A): Promise<number>
  /**
   * For reads that look at very many rows: these would hold up everybody else. They see what is
   * committed.
   */
  readonly scans?: UserScans
  /** How words are searched for; absent inside a transaction. */
  readonly search?: SearchContext
}

export interface SearchContext {
  /** Whether an index leads to the rows that hold a word. */
  readonly isIndexed: boolean
  /** What some words were found to count, so that their next page is not counted again. */
  readonly counts: SearchCounts
}

/** Reads of many rows, of which each person has few at once. */
export interface UserScans {
  forUser(userId: number): QueryRunner
}

/** The one transaction of the one writer. Nothing is used after `commit` or `rollback`. */
export interface Transaction extends QueryRunner {
  /**
   * Why the whole transaction is gone; undefined while it is not. Once it is, every further
   * statement would stand outside of it.
   */
  lost(): unknown
  savepoint(): Promise<void>
  /** Keeps what was done since the savepoint. */
  release(): Promise<void>
  /** Undoes what was done since the savepoint. */
  rollbackToSavepoint(): Promise<void>
  commit(): Promise<void>
  /** Undoes everything; does not fail when there is nothing left to undo. */
  rollback(): Promise<void>
}

/**
 * One database. All errors are `Failure` (`storage_full`, `unavailable`) where the cause is outside
 * of the program, else as they come.
 */
export interface Driver extends AsyncDisposable {
  readonly dialect: Dialect
  readonly identity: IdentityCheck
  /** Committed rows only. */
  readonly reads: QueryRunner
  /** Undefined where nothing can be kept back, since the disk is another machine's. */
  readonly reserve?: DiskSpaceReserve
  /** Waits a bounded time for other processes that write; then fails with `unavailable`. */
  begin(): Promise<Transaction>
}

/**
 * Room on the database's disk that is kept back for changes that must be possible when it is full.
 */
export interface DiskSpaceReserve {
  /** Gives some of it up; false when nothing is left. */
  release(): boolean
  /**
   * Makes up for what was given up, where there is room again. Answers whether it is whole: until
   * then, room that is there is not for everybody. Cheap when it is.
   */
  restore(): boolean
}
