import type { IdempotencyEntry, LiveRun, RowPage, RowPageRequest, RunRow, UserRunTotals, Viewer } from "../rows.ts"

export interface RunReads {
  get(id: number): Promise<RunRow | undefined>
  /** Those that exist, in the order of their IDs. */
  getMany(ids: readonly number[]): Promise<RunRow[]>
  /**
   * The same for runs whose rows are known. A plan may have 500 KiB and is final once its run is
   * `ready`: then it is taken from the known row.
   */
  reload(known: readonly RunRow[]): Promise<RunRow[]>
  byKey(key: string): Promise<RunRow | undefined>
  /** All runs in a live state, oldest first. */
  live(): Promise<RunRow[]>
  /** Live runs that are not queued, without their plans, oldest first. */
  admitted(): Promise<LiveRun[]>
  /** Queued runs, without their plans, oldest first. */
  queued(): Promise<LiveRun[]>
  /** The resources that a person's live runs reserve in total, queued ones included. */
  holdings(userId: number): Promise<UserRunTotals>
  /** The version of each live run, by its ID. */
  liveVersions(): Promise<Map<number, number>>
  /** People with more than `maxRuns` ended runs, with their number. */
  longHistories(maxRuns: number): Promise<{ userId: number; count: number }[]>
  liveOf(userId: number, projectId: number): Promise<RunRow | undefined>
  /** The last run of a person and project, live or not. */
  lastOf(userId: number, projectId: number): Promise<RunRow | undefined>
  /** IDs of the projects of which the person has a `ready` run. */
  readyProjects(userId: number, projectIds: readonly number[]): Promise<number[]>
  list(filter: RunFilter, viewer: Viewer, page: RowPageRequest): Promise<RowPage<RunRow>>
  /** The entry of `saveIdempotencyKey`, for 24 h. */
  findIdempotencyKey(userId: number, key: string): Promise<IdempotencyEntry | undefined>
}
export interface RunFilter {
  where?: Partial<RunRow>
  ids?: readonly number[]
  /** Default: all live states. */
  states?: readonly RunRow["state"][]
  sort?: { by: "id" | "createdAt" | "updatedAt"; descending: boolean }
}
export interface RunWrites {
  /**
   * Throws `DuplicateError` (`liveRun`) if the person has a live run of the project; the change can
   * continue.
   */
  insert(row: Omit<RunRow, "id" | "createdAt" | "updatedAt" | "version" | "userName">): Promise<RunRow>
  /**
   * Like `insert`, for a run that the database has lost: with an ID that no run has, nor a later
   * one. Otherwise it throws `DuplicateError` (`runId`), and the change must be rolled back.
   */
  insertAs(id: number, row: Parameters<RunWrites["insert"]>[0]): Promise<RunRow>
  /**
   * Changes the run only while its state is one of `from`; otherwise returns undefined. A known row
   * instead of the ID is reloaded.
   */
  transition(
    run: number | RunRow,
    from: readonly RunRow["state"][],
    fields: Partial<Omit<RunRow, "id" | "key" | "userName">>,
  ): Promise<RunRow | undefined>
  /** Changes the run only while it is as in `row`, whenever that was read; otherwise undefined. */
  update(row: RunRow, fields: Parameters<RunWrites["transition"]>[2]): Promise<RunRow | undefined>
  /**
   * Stores the response of a start under the caller's idempotency key for 24 h. False if the key is
   * stored with another body.
   */
  saveIdempotencyKey(entry: IdempotencyEntry): Promise<boolean>
  /**
   * Removes at most `limit` ended runs with their keys and grants, oldest first. Returns their
   * owners and keys. `userId`: all of a person's; `until`: those that ended by then.
   */
  prune(which: { userId: number } | { until: number }, limit: number): Promise<{ key: string; userId: number }[]>
}
