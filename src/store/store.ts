import type { Notices } from "./driver.ts"
import type {
  SessionReads,
  SessionWrites,
  TokenCodeReads,
  TokenCodeWrites,
  TokenReads,
  TokenWrites,
} from "./repositories/credential-types.ts"
import type { RunReads, RunWrites } from "./repositories/run-types.ts"
import type {
  AuditFilter,
  AuditRow,
  DataRow,
  DatasetDirectory,
  DatasetMove,
  DatasetWriter,
  GrantRow,
  GroupRow,
  ImageRow,
  JournalRow,
  LeaseRow,
  NewAuditEntry,
  NewJournalEntry,
  ProjectDatasetRow,
  ProjectDatasetSummary,
  ProjectRow,
  PulledImageRow,
  RowPage,
  RowPageRequest,
  RowSummaries,
  RunPortRow,
  StampedFields,
  SubjectRow,
  UserRow,
  Viewer,
} from "./rows.ts"
import type { projectsTable } from "./tables/projects.ts"
import type { OptionalFields } from "./tables/row-mapper.ts"

/** The database. Reads see committed rows only; every write is part of a `change`. */
export interface Store extends Reads, AsyncDisposable {
  readonly dialect: "sqlite" | "postgres"
  /** The random name of this installation, created with the database. */
  readonly instance: string

  /**
   * Runs `work` as one transaction and resolves after COMMIT. Several changes may share one COMMIT,
   * but each runs alone in a savepoint. If it throws, only its own writes are rolled back. `work`
   * may run a second time after a rollback, so it only reads and writes through `tx`. An effect
   * that must happen once, after COMMIT, belongs in `tx.afterCommit`.
   */
  change<T>(work: (tx: Change) => Promise<T>, options?: ChangeOptions): Promise<T>

  /** Resolves if the database can be read and written. */
  check(): Promise<void>

  /**
   * Changes by any process, told after their COMMIT. Undefined on SQLite, which one process writes.
   */
  readonly notices: Notices | undefined
}

export interface ChangeOptions {
  /** The change frees space, or must succeed on a full disk: it may use the disk reserve. */
  urgent?: boolean
  /** The change runs before those that wait. */
  first?: boolean
}

/** All reads; inside a change they see the change's own writes. */
export interface Reads {
  readonly users: UserReads
  readonly groups: GroupReads
  readonly tokens: TokenReads
  readonly sessions: SessionReads
  readonly tokenCodes: TokenCodeReads
  readonly subjects: SubjectReads
  readonly images: ResourceReads<ImageRow> & TrustedDigestReads
  readonly data: ResourceReads<DataRow> & DataReads
  readonly projects: ResourceReads<ProjectRow> & ProjectReads
  readonly runs: RunReads
  readonly ports: PortReads
  readonly pulledImages: PulledImageReads
  readonly leases: LeaseReads
  readonly grants: GrantReads
  readonly events: JournalReads
  readonly audits: AuditReads
  /**
   * The same reads, each of which asks the database once: for a decision that is made from the same
   * rows again and again, at one moment.
   */
  memoized(): Reads
}

export interface Change extends Reads {
  readonly users: UserReads & Writes<UserRow>
  readonly groups: GroupReads & Writes<GroupRow> & GroupWrites
  readonly tokens: TokenReads & TokenWrites
  readonly sessions: SessionReads & SessionWrites
  readonly tokenCodes: TokenCodeReads & TokenCodeWrites
  readonly subjects: SubjectReads & SubjectWrites
  readonly images: ResourceReads<ImageRow> & TrustedDigestReads & Writes<ImageRow> & TrustedDigestWrites
  readonly data: ResourceReads<DataRow> & DataReads & Writes<DataRow> & DataWrites
  readonly projects: ResourceReads<ProjectRow> & ProjectReads & Writes<ProjectRow> & ProjectWrites
  readonly runs: RunReads & RunWrites
  readonly ports: PortReads & PortWrites
  readonly pulledImages: PulledImageReads & PulledImageWrites
  readonly leases: LeaseReads & LeaseWrites
  readonly proofs: ProofWrites
  readonly grants: GrantReads & GrantWrites
  /** The same for all changes of one transaction, in which no other process writes. */
  readonly group: object
  /** Adds a row to the journal that `/events` replays. */
  journal(entry: NewJournalEntry): Promise<void>
  /** Adds an audit row, which never changes. */
  audit(entry: NewAuditEntry): Promise<void>
  /** Removes journal rows up to this ID, never the newest one. Returns how many. */
  pruneJournal(upTo: number): Promise<number>
  /**
   * Removes at most `limit` audit rows made at or before this time, oldest first. Returns how many.
   */
  pruneAudit(until: number, limit: number): Promise<number>
  /** Removes at most `limit` audit rows beyond an actor's newest `maxRows`. Returns how many. */
  pruneAuditOf(actor: string, maxRows: number, limit: number): Promise<number>
  /** Runs once, after COMMIT, in the order of commits. Must not throw. */
  afterCommit(effect: () => void): void
}

/** Fields that only the store sets. */
type Kept = keyof StampedFields | "userName" | "groupName"
/** Fields of projects that have a default. */
type Initial = OptionalFields<typeof projectsTable.fields>
type Given<Row> = Omit<Row, Row extends UserRow | GroupRow ? keyof StampedFields : Kept>
export type NewRow<Row> = Row extends ProjectRow ? Omit<Given<Row>, Initial> & Partial<Pick<Row, Initial>> : Given<Row>

export interface Writes<Row extends StampedFields> {
  /**
   * IDs grow and are never reused. Throws `DuplicateError` (`userName`, `groupName`) if the name
   * exists or ever existed; the change can continue.
   */
  insert(row: NewRow<Row>): Promise<Row>
  /**
   * Sets the given fields, `updatedAt` and the next `version`, also of a deleted row. Undefined if
   * the row does not exist.
   */
  update(id: number, fields: Partial<NewRow<Row>>): Promise<Row | undefined>
  /**
   * Sets or clears `deletedAt`. Grants on a deleted resource are suspended; grants to a deleted
   * person or group are removed.
   */
  setDeleted(id: number, deleted: boolean): Promise<Row | undefined>
}

/**
 * Reads of a resource that has an owner and can be published. Only lists filter by viewer; for all
 * others the caller checks rights.
 */
export interface ResourceReads<Row extends StampedFields> {
  /** Also returns deleted rows; check `deletedAt`. */
  get(id: number): Promise<Row | undefined>
  getMany(ids: readonly number[]): Promise<Row[]>
  /** As `getMany`, without long texts. */
  summaries(ids: readonly number[]): Promise<RowSummaries<Row>>
  /** Like `get`, `getMany` and `summaries`, but with an empty `doc`. */
  part(id: number): Promise<Row | undefined>
  parts(ids: readonly number[]): Promise<Row[]>
  partSummaries(ids: readonly number[]): Promise<RowSummaries<Row>>
  /** Only the fields that decide who has which rights. */
  rights(ids: readonly number[]): Promise<RightsRow<Row>[]>
  /**
   * Visible rows that match, without long texts. Default order: newest first. `total` counts all of
   * them.
   */
  list(filter: ResourceFilter<Row>, viewer: Viewer, page: RowPageRequest): Promise<RowPage<Row>>
}

/** The part of a row that the policy reads. */
export type RightsRow<Row> = Pick<Row, Extract<keyof Row, "id" | "userId" | "isPublished" | "isPublic" | "groupId" | "deletedAt">>

export interface ResourceFilter<Row> {
  /** Every given field is equal. Names compare case-sensitively. */
  where?: Partial<Row>
  ids?: readonly number[]
  /** Every word occurs in the name or comment, ignoring case. */
  words?: readonly string[]
  /** Only deleted rows; viewers who cannot see everything see their own. */
  deleted?: boolean
  sort?: { by: "id" | "createdAt" | "updatedAt" | "name"; descending: boolean }
}

export interface DataReads {
  /** Live datasets whose directory is this one, contains it, or lies in it. */
  overlapping(accessInfo: string): Promise<DatasetDirectory[]>
  /** Live datasets, without `doc`, whose directory is this one or contains it. */
  containing(path: string): Promise<DataRow[]>
  /**
   * For each path the name of the person who owns the innermost live dataset that contains it or
   * begins there, the oldest of several; no entry if there is none. One query is about many paths.
   */
  ownersOf(paths: readonly string[]): Promise<Map<string, string>>
  /** Whether a live dataset visible to the viewer lies strictly below this path. */
  visibleBelow(path: string, viewer: Viewer): Promise<boolean>
  /** Former owners, and all people and groups that ever had a `write` grant. */
  writers(ids: readonly number[]): Promise<DatasetWriter[]>
  /**
   * The same of all live datasets whose directory is one of these, contains one or lies in one.
   * Each range of directories is read once. If paths have more than 300 characters, writers of
   * other datasets may be among them.
   */
  writersAround(paths: readonly string[]): Promise<Omit<DatasetWriter, "dataId">[]>
  /** Directories whose move to another owner has begun, also before a crash. */
  moves(): Promise<DatasetMove[]>
}
export interface DataWrites {
  /** False if a move of the dataset's directory has already begun. */
  planMove(move: DatasetMove): Promise<boolean>
  endMove(dataId: number): Promise<void>
}

export interface ProjectReads {
  /** The datasets of these projects, in each project's order. */
  links(projectIds: readonly number[]): Promise<ProjectDatasetRow[]>
  linkSummaries(projectIds: readonly number[]): Promise<ProjectDatasetSummary[]>
}
export interface ProjectWrites {
  setLinks(projectId: number, links: readonly Omit<ProjectDatasetRow, "projectId">[]): Promise<void>
}

/** Grants in force: not expired, and on resources that are not deleted. */
export interface GrantReads {
  get(id: number): Promise<GrantRow | undefined>
  /** The access that grants give one person on these resources, also by groups. */
  accessFor(
    type: GrantRow["resourceType"],
    ids: readonly number[],
    to: Pick<Viewer, "userId" | "groupIds">,
  ): Promise<{ resourceId: number; access: GrantRow["access"] }[]>
  /** All on these resources, also on deleted ones, oldest first. */
  onResources(type: GrantRow["resourceType"], ids: readonly number[]): Promise<GrantRow[]>
  /** Whether an expired grant still exists. */
  anyExpired(): Promise<boolean>
  /**
   * Newest first. Viewers who cannot see everything see grants on their own resources, and grants
   * to themselves or their groups.
   */
  list(filter: GrantFilter, viewer: Viewer, page: RowPageRequest): Promise<RowPage<GrantRow>>
}
export interface GrantFilter {
  ids?: readonly number[]
  where?: Partial<
    Pick<GrantRow, "id" | "resourceType" | "resourceId" | "userId" | "groupId" | "userName" | "groupName" | "access" | "expiresAt">
  >
}
export interface GrantWrites {
  /**
   * Replaces the grant of the same person or group on the same resource; `version` is then above 1.
   * One of `userId` and `groupId` is 0.
   */
  put(row: Omit<GrantRow, "id" | "createdAt" | "updatedAt" | "version" | "userName" | "groupName">): Promise<GrantRow>
  delete(id: number): Promise<boolean>
  /** Removes at most `limit` expired grants, and returns them. */
  pruneExpired(limit: number): Promise<GrantRow[]>
}

export interface UserReads {
  get(id: number): Promise<UserRow | undefined>
  /** Also returns deleted people: a name is never reused. */
  byName(userName: string): Promise<UserRow | undefined>
  /** Those of these people who are administrators, in any order. */
  adminsAmong(ids: readonly number[]): Promise<number[]>
  list(filter: ResourceFilter<UserRow>, page: RowPageRequest): Promise<RowPage<UserRow>>
  count(): Promise<number>
  /** Images, datasets, projects, tokens and grants of a person; live ones of several people. */
  countOwned(id: number): Promise<{ live: number; deleted: number }>
  countOwnedBy(userNames: readonly string[]): Promise<number>
  /** The bytes of the long texts of a person's images, datasets and projects, deleted ones too. */
  countTextBytes(id: number): Promise<number>
}

export interface GroupReads {
  get(id: number): Promise<GroupRow | undefined>
  byName(groupName: string): Promise<GroupRow | undefined>
  list(filter: ResourceFilter<GroupRow> & { memberId?: number }, page: RowPageRequest): Promise<RowPage<GroupRow>>
  /** Names in alphabetical order. */
  members(groupId: number): Promise<string[]>
  /** The same people, in the order of their IDs. */
  memberIds(groupId: number): Promise<number[]>
  /** The live groups of a person. */
  ofUser(userId: number): Promise<GroupRow[]>
}
export interface GroupWrites {
  setMembers(groupId: number, userIds: readonly number[]): Promise<void>
  /** Does not report whether anything changed: read the members first. */
  addMember(groupId: number, userId: number): Promise<void>
  removeMember(groupId: number, userId: number): Promise<void>
}

export interface SubjectReads {
  /** The ID of the person with this subject of this issuer, also if deleted. */
  userOf(issuer: string, subject: string): Promise<number | undefined>
  ofUser(userId: number): Promise<SubjectRow[]>
}
export interface SubjectWrites {
  /** Throws `DuplicateError` (`openidSubject`) if the subject belongs to somebody. */
  insert(row: Omit<SubjectRow, "createdAt">): Promise<void>
}

/** Of images that administrators trust by a tag. */
export interface TrustedDigestReads {
  /** The digest that is trusted, empty if the image was built on the machine; undefined: any. */
  trustedDigest(id: number): Promise<string | undefined>
}
export interface TrustedDigestWrites {
  /** For an image that has none. */
  recordTrustedDigest(id: number, digest: string): Promise<void>
  forgetTrustedDigest(id: number): Promise<void>
}

/** The images that Quayside fetched. */
export interface PulledImageReads {
  all(): Promise<PulledImageRow[]>
}
export interface PulledImageWrites {
  /**
   * Records a pull that brought a new image, or another name for a recorded one. Any other image
   * was there before: returns false. `owner` is the row's `fetchedFor`.
   */
  record(pulled: { reference: string; digest: string; isNew: boolean; owner: string }): Promise<boolean>
  /** Only later uses count. */
  recordUse(digest: string, at: number): Promise<void>
  forget(digest: string): Promise<void>
}

/** Tasks that one of several processes has alone. */
export interface LeaseReads {
  get(name: string): Promise<LeaseRow | undefined>
}
export interface LeaseWrites {
  /** Makes this process the holder, whoever it was before. Returns the next token. */
  take(name: string, lease: { holder: string; address: string }): Promise<number>
  /** False if the lease has another token by now. */
  renew(name: string, token: number): Promise<boolean>
  /** Does nothing if the lease has another token by now. */
  release(name: string, token: number): Promise<void>
}

export interface ProofWrites {
  /** Uses a one-time proof. False if it was used before, or expired at `endsAt`. */
  use(proof: { id: string; endsAt: number }): Promise<boolean>
}

/** Ports within a range, both ends included. */
export interface PortReads {
  ofUser(userId: number, range: { first: number; last: number }): Promise<RunPortRow[]>
  /** All assigned ports, in order. */
  assigned(range: { first: number; last: number }): Promise<number[]>
}
export interface PortWrites {
  /**
   * Records that the run has the port from now on, and assigns an unassigned port to its person.
   * False, without a record, if the port belongs to another person or to other authors.
   */
  assign(row: RunPortRow): Promise<boolean>
}

export interface JournalReads {
  /** At most `limit` rows with a higher ID, oldest first. */
  after(id: number, limit: number): Promise<JournalRow[]>
  /** The lowest and the highest ID in the journal; both 0 if it is empty. */
  bounds(): Promise<{ first: number; last: number }>
  /** The bytes of the data of the rows with higher IDs than the first, up to the second. */
  bytesBetween(after: number, upTo: number): Promise<number>
}

export interface AuditReads {
  /** Newest first. Counts as one of the viewer's searches, and does not depend on their rights. */
  list(filter: AuditFilter, viewer: Viewer, page: RowPageRequest): Promise<RowPage<AuditRow>>
}
