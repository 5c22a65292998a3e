import type { Clock } from "#kit"
import type { QueryRunner } from "../driver.ts"
import type { ChangeTransaction } from "../group-commit/change-transaction.ts"
import type { AuditEntry, ImageRow, JournalEntry } from "../rows.ts"
import type { Change, Reads } from "../store.ts"
import { images } from "../tables/images.ts"
import { Groups, Users } from "./accounts.ts"
import { Sessions, Tokens } from "./credentials.ts"
import { Datasets } from "./datasets.ts"
import { Grants } from "./grants.ts"
import { Projects } from "./projects.ts"
import { Audit, Journal } from "./records.ts"
import { type RepositoryContext, ResourceRows } from "./resource.ts"
import { RunPorts } from "./run-ports.ts"
import { Runs } from "./runs.ts"
import { Subjects } from "./subjects.ts"

/** All tables over one runner. Each is created at its first use: most changes need two. */
export class Repositories implements Reads {
  protected readonly context: RepositoryContext
  #users: Users | undefined
  #groups: Groups | undefined
  #tokens: Tokens | undefined
  #sessions: Sessions | undefined
  #subjects: Subjects | undefined
  #images: ResourceRows<ImageRow> | undefined
  #data: Datasets | undefined
  #projects: Projects | undefined
  #runs: Runs | undefined
  #ports: RunPorts | undefined
  #grants: Grants | undefined
  #events: Journal | undefined
  #audits: Audit | undefined

  constructor(runner: QueryRunner, clock: Clock) {
    this.context = { runner, clock }
  }

  get users(): Users {
    this.#users ??= new Users(this.context)
    return this.#users
  }
  get groups(): Groups {
    this.#groups ??= new Groups(this.context)
    return this.#groups
  }
  get tokens(): Tokens {
    this.#tokens ??= new Tokens(this.context)
    return this.#tokens
  }
  get sessions(): Sessions {
    this.#sessions ??= new Sessions(this.context)
    return this.#sessions
  }
  get subjects(): Subjects {
    this.#subjects ??= new Subjects(this.context)
    return this.#subjects
  }
  get images(): ResourceRows<ImageRow> {
    this.#images ??= new ResourceRows(this.context, images)
    return this.#images
  }
  get data(): Datasets {
    this.#data ??= new Datasets(this.context)
    return this.#data
  }
  get projects(): Projects {
    this.#projects ??= new Projects(this.context)
    return this.#projects
  }
  get runs(): Runs {
    this.#runs ??= new Runs(this.context)
    return this.#runs
  }
  get ports(): RunPorts {
    this.#ports ??= new RunPorts(this.context)
    return this.#ports
  }
  get grants(): Grants {
    this.#grants ??= new Grants(this.context)
    return this.#grants
  }
  get events(): Journal {
    this.#events ??= new Journal(this.context)
    return this.#events
  }
  get audits(): Audit {
    this.#audits ??= new Audit(this.context)
    return this.#audits
  }
}

/** The tables inside one change. */
export class ChangeRepositories extends Repositories implements Change {
  readonly #tx: ChangeTransaction

  constructor(tx: ChangeTransaction, clock: Clock) {
    super(tx, clock)
    this.#tx = tx
  }

  journal(entry: JournalEntry): Promise<void> {
    return this.events.add(entry)
  }

  audit(entry: AuditEntry): Promise<void> {
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
