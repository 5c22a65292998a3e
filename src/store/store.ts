import type {
  AuditEntry,
  AuditFilter,
  AuditRow,
  DataRow,
  DatasetMove,
  GrantRow,
  GroupRow,
  Holdings,
  IdempotencyEntry,
  ImageRow,
  JournalEntry,
  JournalRow,
  LinkRow,
  LinkSummary,
  LiveRun,
  Page,
  PageRequest,
  ProjectRow,
  RowSummaries,
  RunPortRow,
  RunRow,
  SessionRow,
  Stamped,
  SubjectRow,
  TokenRow,
  UserRow,
  Viewer,
} from "./rows.ts"
import type { projects } from "./tables/projects.ts"
import type { OptionalFields } from "./tables/row-mapper.ts"

/**
 * The database. Reads see only what is committed; everything that is written goes through `change`.
 */
export interface Store extends Reads, AsyncDisposable {
  readonly dialect: "sqlite" | "postgres"
  /** The random name of this installation, made with the database. */
  readonly instance: string

  /**
   * Runs `work` as one transaction and resolves after COMMIT. Several changes may share one COMMIT,
   * but each runs alone, to its end, in a savepoint: when it throws, nothing of it remains and the
   * others are not touched. `work` may run a second time (the first time then left nothing), so it
   * does nothing but read and write through `tx`. What must happen once and only after COMMIT goes
   * into `tx.afterCommit`.
   */
  change<T>(work: (tx: Change) => Promise<T>, options?: ChangeOptions): Promise<T>

  /** Resolves when the database can be read and written. */
  check(): Promise<void>
}

export interface ChangeOptions {
  /**
   * What helps on a full disk, or must be possible there: it gets room that is kept back for this.
   * Default false.
   */
  urgent?: boolean
}

/** What can be read; inside a change it sees the change's own writes. */
export interface Reads {
  readonly users: UserReads
  readonly groups: GroupReads
  readonly tokens: TokenReads
  readonly sessions: SessionReads
  readonly subjects: SubjectReads
  readonly images: ResourceReads<ImageRow>
  readonly data: ResourceReads<DataRow> & DataReads
  readonly projects: ResourceReads<ProjectRow> & ProjectReads
  readonly runs: RunReads
  readonly ports: PortReads
  readonly grants: GrantReads
  readonly events: JournalReads
  readonly audits: AuditReads
}

export interface Change extends Reads {
  readonly users: UserReads & Writes<UserRow>
  readonly groups: GroupReads & Writes<GroupRow> & GroupWrites
  readonly tokens: TokenReads & TokenWrites
  readonly sessions: SessionReads & SessionWrites
  readonly subjects: SubjectReads & SubjectWrites
  readonly images: ResourceReads<ImageRow> & Writes<ImageRow>
  readonly data: ResourceReads<DataRow> & DataReads & Writes<DataRow> & DataWrites
  readonly projects: ResourceReads<ProjectRow> & ProjectReads & Writes<ProjectRow> & ProjectWrites
  readonly runs: RunReads & RunWrites
  readonly ports: PortReads & PortWrites
  readonly grants: GrantReads & GrantWrites
  /** One row of the journal that `/events` replays. */
  journal(entry: JournalEntry): Promise<void>
  /** One row that is never changed again. */
  audit(entry: AuditEntry): Promise<void>
  /** Removes rows of the journal up to this ID, never the newest one; gives how many. */
  pruneJournal(upTo: number): Promise<number>
  /**
   * Removes rows of the audit made at or before this time, the oldest first and so many at most;
   * gives how many.
   */
  pruneAudit(until: number, limit: number): Promise<number>
  /** Removes rows of the audit beyond an actor's newest, so many at most; gives how many. */
  pruneAuditOf(actor: string, maxRows: number, limit: number): Promise<number>
  /** Runs once, after COMMIT, in the order of commits. Must not throw. */
  afterCommit(effect: () => void): void
}

/** Fields that the store gives or keeps itself. */
type Kept = keyof Stamped | "userName" | "groupName"
/** Fields of projects that have an initial text. */
type Initial = OptionalFields<typeof projects.fields>
type Given<Row> = Omit<Row, Row extends UserRow | GroupRow ? keyof Stamped : Kept>
export type NewRow<Row> = Row extends ProjectRow ? Omit<Given<Row>, Initial> & Partial<Pick<Row, Initial>> : Given<Row>

export interface Writes<Row extends Stamped> {
  /**
   * IDs grow and are never given again. Throws `DuplicateError` (`userName`, `groupName`) when the
   * name was ever given; the change may go on.
   */
  insert(row: NewRow<Row>): Promise<Row>
  /**
   * Sets the given fields, `updatedAt` and the next `version`. Undefined when there is no such row,
   * deleted ones included in the search.
   */
  update(id: number, fields: Partial<NewRow<Row>>): Promise<Row | undefined>
  /**
   * Sets or clears `deletedAt`. Grants on a deleted resource rest; those that were given to a
   * deleted person or group go.
   */
  setDeleted(id: number, deleted: boolean): Promise<Row | undefined>
}

/**
 * Reads of a resource that has an owner and may be published. None of them asks whether the reader
 * may: lists take a viewer, the rest is the caller's duty.
 */
export interface ResourceReads<Row extends Stamped> {
  /** Deleted ones too: look at `deletedAt`. */
  get(id: number): Promise<Row | undefined>
  getMany(ids: readonly number[]): Promise<Row[]>
  /** As `getMany`, without long texts. */
  summaries(ids: readonly number[]): Promise<RowSummaries<Row>>
  /** As `getMany` and as `summaries`, with an empty `doc`: as rows stand inside other resources. */
  parts(ids: readonly number[]): Promise<Row[]>
  partSummaries(ids: readonly number[]): Promise<RowSummaries<Row>>
  /**
   * Visible rows that match, without long texts, newest first unless sorted otherwise; `total`
   * counts all of them.
   */
  list(filter: ResourceFilter<Row>, viewer: Viewer, page: PageRequest): Promise<Page<Row>>
}

export interface ResourceFilter<Row> {
  /** Every given field is equal. Names compare case-sensitively. */
  where?: Partial<Row>
  ids?: readonly number[]
  /** Every word stands in name or comment, in any case. */
  words?: readonly string[]
  /**
   * Only deleted rows instead of only live ones; a viewer who does not see everything gets their
   * own.
   */
  deleted?: boolean
  sort?: { by: "id" | "createdAt" | "updatedAt" | "name"; descending: boolean }
}

export interface DataReads {
  /** Live datasets whose directory is this one, contains it, or lies in it. */
  overlapping(accessInfo: string): Promise<DataRow[]>
  /** Whether a live dataset visible to the viewer lies strictly below this path. */
  visibleBelow(path: string, viewer: Viewer): Promise<boolean>
  /** Directories that are on their way to another owner, or were when the service ended. */
  moves(): Promise<DatasetMove[]>
}
export interface DataWrites {
  /** False when the dataset's directory is on its way already. */
  planMove(move: DatasetMove): Promise<boolean>
  endMove(dataId: number): Promise<void>
}

export interface ProjectReads {
  /** The datasets of these projects, in each project's order. */
  links(projectIds: readonly number[]): Promise<LinkRow[]>
  linkSummaries(projectIds: readonly number[]): Promise<LinkSummary[]>
}
export interface ProjectWrites {
  setLinks(projectId: number, links: readonly Omit<LinkRow, "projectId">[]): Promise<void>
}

/** Grants in force: on resources that are not deleted, and not past their time. */
export interface GrantReads {
  get(id: number): Promise<GrantRow | undefined>
  /** What grants give one person on these resources, by their groups too. */
  accessFor(
    type: GrantRow["resourceType"],
    ids: readonly number[],
    to: Pick<Viewer, "userId" | "groupIds">,
  ): Promise<{ resourceId: number; access: GrantRow["access"] }[]>
  /** All on these resources, those on deleted ones too, oldest first. */
  onResources(type: GrantRow["resourceType"], ids: readonly number[]): Promise<GrantRow[]>
  /** Whether any is past its time and not yet removed. */
  anyExpired(): Promise<boolean>
  /**
   * Newest first; of those who do not see everything: on their resources, and what was given to
   * them or their groups.
   */
  list(filter: GrantFilter, viewer: Viewer, page: PageRequest): Promise<Page<GrantRow>>
}
export interface GrantFilter {
  ids?: readonly number[]
  where?: Partial<
    Pick<GrantRow, "id" | "resourceType" | "resourceId" | "userId" | "groupId" | "userName" | "groupName" | "access" | "expiresAt">
  >
}
export interface GrantWrites {
  /**
   * Takes the place of the grant that the same one has on the same resource: `version` is then
   * beyond
   * 1. One of `userId` and `groupId` is 0.
   */
  put(row: Omit<GrantRow, "id" | "createdAt" | "updatedAt" | "version" | "userName" | "groupName">): Promise<GrantRow>
  delete(id: number): Promise<boolean>
  /** Removes those that are past their time, so many at most; gives what they were. */
  pruneExpired(limit: number): Promise<GrantRow[]>
}

export interface UserReads {
  get(id: number): Promise<UserRow | undefined>
  /** Deleted ones too: a name is never given again. */
  byName(userName: string): Promise<UserRow | undefined>
  list(filter: ResourceFilter<UserRow>, page: PageRequest): Promise<Page<UserRow>>
  count(): Promise<number>
  /**
   * How many images, datasets, projects, tokens and grants are a person's, and how many of theirs
   * are deleted.
   */
  countOwned(id: number): Promise<{ live: number; deleted: number }>
}

export interface GroupReads {
  get(id: number): Promise<GroupRow | undefined>
  byName(groupName: string): Promise<GroupRow | undefined>
  list(filter: ResourceFilter<GroupRow> & { memberId?: number }, page: PageRequest): Promise<Page<GroupRow>>
  /** Names in alphabetical order. */
  members(groupId: number): Promise<string[]>
  /** The live groups of a person. */
  ofUser(userId: number): Promise<GroupRow[]>
}
export interface GroupWrites {
  setMembers(groupId: number, userIds: readonly number[]): Promise<void>
  /** Whether it changed anything is not told: look before. */
  addMember(groupId: number, userId: number): Promise<void>
  removeMember(groupId: number, userId: number): Promise<void>
}

export interface TokenReads {
  get(id: number): Promise<TokenRow | undefined>
  byHash(hash: string): Promise<TokenRow | undefined>
  list(userId: number, page: PageRequest): Promise<Page<TokenRow>>
}
export interface TokenWrites {
  insert(row: Omit<TokenRow, "id" | "createdAt" | "lastUsedAt">): Promise<TokenRow>
  delete(id: number): Promise<boolean>
  markUsed(id: number, at: number): Promise<void>
  deleteOfUser(userId: number): Promise<void>
}

export interface SessionReads {
  byHash(hash: string): Promise<SessionRow | undefined>
}
export interface SessionWrites {
  insert(row: Omit<SessionRow, "createdAt">): Promise<SessionRow>
  delete(hash: string): Promise<void>
  deleteOfUser(userId: number, exceptHash?: string): Promise<void>
  /** Removes all but so many of a person's newest; gives how many. */
  deleteOld(userId: number, maxSessions: number): Promise<number>
  deleteExpired(now: number): Promise<number>
}

export interface SubjectReads {
  /** The ID of the person who is this subject of this issuer; deleted people too. */
  userOf(issuer: string, subject: string): Promise<number | undefined>
  ofUser(userId: number): Promise<SubjectRow[]>
}
export interface SubjectWrites {
  /** Throws `DuplicateError` (`openidSubject`) when the subject is somebody's. */
  insert(row: Omit<SubjectRow, "createdAt">): Promise<void>
}

export interface RunReads {
  get(id: number): Promise<RunRow | undefined>
  byKey(key: string): Promise<RunRow | undefined>
  /** All that is in a live state, oldest first. */
  live(): Promise<RunRow[]>
  /** Live runs that are not queued, without their plans, oldest first. */
  admitted(): Promise<LiveRun[]>
  /** Queued runs, without their plans, oldest first. */
  queued(): Promise<LiveRun[]>
  /** What a person's live runs hold together, queued ones included. */
  holdings(userId: number): Promise<Holdings>
  /** The version of each live run, by its ID. */
  liveVersions(): Promise<Map<number, number>>
  /** People whose history holds more than so many runs, with how many it holds. */
  longHistories(maxRuns: number): Promise<{ userId: number; count: number }[]>
  liveOf(userId: number, projectId: number): Promise<RunRow | undefined>
  /** The last run of a person and project, live or not. */
  lastOf(userId: number, projectId: number): Promise<RunRow | undefined>
  /** IDs of those projects of which the person has a run that is `ready`. */
  readyProjects(userId: number, projectIds: readonly number[]): Promise<number[]>
  list(filter: RunFilter, viewer: Viewer, page: PageRequest): Promise<Page<RunRow>>
  /** What `remember` was told, up to 24 h ago. */
  findIdempotencyKey(userId: number, key: string): Promise<IdempotencyEntry | undefined>
}
export interface RunFilter {
  where?: Partial<RunRow>
  ids?: readonly number[]
  /** `live` unless told otherwise; `history` is ended and failed. */
  states?: readonly RunRow["state"][]
  sort?: { by: "id" | "createdAt" | "updatedAt"; descending: boolean }
}
export interface RunWrites {
  /**
   * Throws `DuplicateError` (`liveRun`) when the person has a live run of the project; the change
   * may go on.
   */
  insert(row: Omit<RunRow, "id" | "createdAt" | "updatedAt" | "version" | "userName">): Promise<RunRow>
  /**
   * As `insert`, under a number that no run has yet nor a later one: a run comes back that the
   * database does not know. Throws `DuplicateError` (`runId`) where that cannot be; the change must
   * then be given up.
   */
  insertAs(id: number, row: Parameters<RunWrites["insert"]>[0]): Promise<RunRow>
  /** Changes the run only while its state is one of `from`; undefined when it is not (any more). */
  transition(
    id: number,
    from: readonly RunRow["state"][],
    fields: Partial<Omit<RunRow, "id" | "key" | "userName">>,
  ): Promise<RunRow | undefined>
  /**
   * Remembers the answer of a start under the caller's own key for 24 h; false when the key is
   * known with another body.
   */
  saveIdempotencyKey(entry: IdempotencyEntry): Promise<boolean>
  /**
   * Removes ended runs with their keys and grants, the oldest first and so many at most; gives
   * whose they were and their keys. `userId`: a person's, whatever their age; `until`: those that
   * ended by then.
   */
  prune(which: { userId: number } | { until: number }, limit: number): Promise<{ key: string; userId: number }[]>
}
/** Ports within a range, both ends included. */
export interface PortReads {
  ofUser(userId: number, range: { first: number; last: number }): Promise<RunPortRow[]>
  /** All that belong to somebody, in order. */
  assigned(range: { first: number; last: number }): Promise<number[]>
}
export interface PortWrites {
  /**
   * Records which run has the port from now on; the port becomes its person's where it is nobody's.
   * False, and nothing recorded, where it belongs to somebody else or to other authors.
   */
  assign(row: RunPortRow): Promise<boolean>
}

export interface JournalReads {
  /** At most `limit` rows with a higher ID, oldest first. */
  after(id: number, limit: number): Promise<JournalRow[]>
  /** The lowest and the highest ID that are kept; both 0 while the journal is empty. */
  bounds(): Promise<{ first: number; last: number }>
}

export interface AuditReads {
  /** Newest first. */
  list(filter: AuditFilter, page: PageRequest): Promise<Page<AuditRow>>
}
