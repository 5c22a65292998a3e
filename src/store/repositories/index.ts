import type { Clock } from "#kit"
import type { QueryRunner } from "../driver.ts"
import type { ChangeTransaction } from "../group-commit/change-transaction.ts"
import type { NewAuditEntry, NewJournalEntry } from "../rows.ts"
import type { Change, Reads } from "../store.ts"
import { GroupRepository, UserRepository } from "./accounts.ts"
import { SessionRepository, TokenCodeRepository, TokenRepository } from "./credentials.ts"
import { DatasetRepository } from "./datasets.ts"
import { GrantRepository } from "./grants.ts"
import { ImageRepository } from "./images.ts"
import { AuditRepository, JournalRepository } from "./journal-and-audit.ts"
import { LeaseRepository } from "./leases.ts"
import { MemoizedRunner } from "./memoized-runner.ts"
import { ProjectRepository } from "./projects.ts"
import { PulledImageRepository } from "./pulled-images.ts"
import type { RepositoryContext } from "./resource.ts"
import { RunPortRepository } from "./run-ports.ts"
import { RunRepository } from "./runs.ts"
import { SubjectRepository } from "./subjects.ts"
import { UsedProofRepository } from "./used-proofs.ts"

/** All tables over one runner. Each is created at its first use: most changes need two. */
export class Repositories implements Reads {
  protected readonly context: RepositoryContext
  #users: UserRepository | undefined
  #groups: GroupRepository | undefined
  #tokens: TokenRepository | undefined
  #sessions: SessionRepository | undefined
  #tokenCodes: TokenCodeRepository | undefined
  #subjects: SubjectRepository | undefined
  #images: ImageRepository | undefined
  #data: DatasetRepository | undefined
  #projects: ProjectRepository | undefined
  #runs: RunRepository | undefined
  #ports: RunPortRepository | undefined
  #pulledImages: PulledImageRepository | undefined
  #leases: LeaseRepository | undefined
  #grants: GrantRepository | undefined
  #events: JournalRepository | undefined
  #audits: AuditRepository | undefined

  constructor(runner: QueryRunner, clock: Clock) {
    this.context = { runner, clock }
  }

  memoized(): Reads {
    return new Repositories(new MemoizedRunner(this.context.runner), this.context.clock)
  }

  get users(): UserRepository {
    this.#users ??= new UserRepository(this.context)
    return this.#users
  }
  get groups(): GroupRepository {
    this.#groups ??= new GroupRepository(this.context)
    return this.#groups
  }
  get tokens(): TokenRepository {
    this.#tokens ??= new TokenRepository(this.context)
    return this.#tokens
  }
  get sessions(): SessionRepository {
    this.#sessions ??= new SessionRepository(this.context)
    return this.#sessions
  }
  get tokenCodes(): TokenCodeRepository {
    this.#tokenCodes ??= new TokenCodeRepository(this.context)
    return this.#tokenCodes
  }
  get subjects(): SubjectRepository {
    this.#subjects ??= new SubjectRepository(this.context)
    return this.#subjects
  }
  get images(): ImageRepository {
    this.#images ??= new ImageRepository(this.context)
    return this.#images
  }
  get data(): DatasetRepository {
    this.#data ??= new DatasetRepository(this.context)
    return this.#data
  }
  get projects(): ProjectRepository {
    this.#projects ??= new ProjectRepository(this.context)
    return this.#projects
  }
  get runs(): RunRepository {
    this.#runs ??= new RunRepository(this.context)
    return this.#runs
  }
  get ports(): RunPortRepository {
    this.#ports ??= new RunPortRepository(this.context)
    return this.#ports
  }
  get pulledImages(): PulledImageRepository {
    this.#pulledImages ??= new PulledImageRepository(this.context)
    return this.#pulledImages
  }
  get leases(): LeaseRepository {
    this.#leases ??= new LeaseRepository(this.context)
    return this.#leases
  }
  get grants(): GrantRepository {
    this.#grants ??= new GrantRepository(this.context)
    return this.#grants
  }
  get events(): JournalRepository {
    this.#events ??= new JournalRepository(this.context)
    return this.#events
  }
  get audits(): AuditRepository {
    this.#audits ??= new AuditRepository(this.context)
    return this.#audits
  }
}

/** The tables inside one change. */
export class ChangeRepositories extends Repositories implements Change {
  readonly #tx: ChangeTransaction
  readonly proofs: UsedProofRepository

  constructor(tx: ChangeTransaction, clock: Clock) {
    super(tx, clock)
    this.#tx = tx
    this.proofs = new UsedProofRepository(this.context)
  }

  get group(): object {
    return this.#tx.group
  }

  journal(entry: NewJournalEntry): Promise<void> {
    return this.events.add(entry)
  }

  audit(entry: NewAuditEntry): Promise<void> {
    return this.audits.add(entry)
  }

  pruneJournal(upTo: number): Promise<number> {
    return this.events.prune(upTo)
  }

  pruneAudit(until: number, limit: number): Promise<number> {
    return this.audits.prune(until, limit)
  }

  pruneAuditOf(actor: string, maxRows: number, limit: number): Promise<number> {
    return this.audits.pruneActor(actor, maxRows, limit)
  }

  afterCommit(effect: () => void): void {
    this.#tx.afterCommit(effect)
  }
}
