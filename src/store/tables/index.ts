import type { Clock } from "#kit"
import type { Session } from "../driver.ts"
import type { Member } from "../member.ts"
import type { ImageRow } from "../rows.ts"
import { query } from "../sql/catalog.ts"
import type { AuditEntry, Change, JournalEntry, Reads } from "../store.ts"
import { Groups, Sessions, Tokens, Users } from "./accounts.ts"
import { Datasets } from "./data.ts"
import { images } from "./kinds.ts"
import { Projects } from "./projects.ts"
import { type Context, ResourceRows } from "./resource.ts"
import { Runs } from "./runs.ts"

/** All tables over one session, each made when it is first asked for: most changes touch two. */
export class TablesOver implements Reads {
  protected readonly context: Context
  #users: Users | undefined
  #groups: Groups | undefined
  #tokens: Tokens | undefined
  #sessions: Sessions | undefined
  #images: ResourceRows<ImageRow> | undefined
  #data: Datasets | undefined
  #projects: Projects | undefined
  #runs: Runs | undefined

  constructor(session: Session, clock: Clock) {
    this.context = { session, clock }
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
}

const journal = query("journal")
const audit = query("audit")

/** The tables inside one change. */
export class ChangeOver extends TablesOver implements Change {
  readonly #member: Member

  constructor(member: Member, clock: Clock) {
    super(member, clock)
    this.#member = member
  }

  async journal({ event, data, thing }: JournalEntry): Promise<void> {
    const at = this.context.clock.now()
    await this.context.session.run(journal, { at, event, thing_type: thing.type, thing_id: thing.id, data: JSON.stringify(data) })
  }

  async audit(entry: AuditEntry): Promise<void> {
    await this.context.session.run(audit, {
      at: this.context.clock.now(),
      actor: entry.actor,
      action: entry.action,
      thing_type: entry.thing?.type ?? null,
      thing_id: entry.thing?.id ?? null,
      outcome: entry.outcome,
      address: entry.address,
      request_id: entry.requestId,
    })
  }

  afterCommit(effect: () => void): void {
    this.#member.effects.push(effect)
  }
}
