import type { Value } from "../driver.ts"
import { query } from "../queries/query.ts"
import type { AuditArgs, AuditShape } from "../queries/records.ts"
import type { Page, PageRequest } from "../rows.ts"
import type { AuditEntry, AuditFilter, AuditReads, AuditRow, JournalEntry, JournalReads, JournalRow } from "../store.ts"
import type { Context } from "./resource.ts"

const q = {
  journal: query("journal"),
  journalAfter: query("journalAfter"),
  journalBounds: query("journalBounds"),
  trimJournal: query("trimJournal"),
  audit: query("audit"),
  trimAudit: query("trimAudit"),
  trimAuditOf: query("trimAuditOf"),
}

/** What happened, to be told and forgotten. */
export class Journal implements JournalReads {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async after(id: number, limit: number): Promise<JournalRow[]> {
    return (await this.#context.session.all(q.journalAfter, { id, limit })).map(toJournal)
  }

  async bounds(): Promise<{ first: number; last: number }> {
    const [first, last] = (await this.#context.session.first(q.journalBounds, {})) as [number, number]
    return { first, last }
  }

  async add({ event, data, resource, sight = {} }: JournalEntry): Promise<void> {
    const { session, clock } = this.#context
    const kept = JSON.stringify(Object.keys(sight).length > 0 ? [data, sight] : data)
    await session.run(q.journal, { at: clock.now(), event, thing_type: resource.type, thing_id: resource.id, data: kept })
  }

  trim(upTo: number): Promise<number> {
    return this.#context.session.run(q.trimJournal, { up_to: upTo })
  }
}

/** Who did what. */
export class Audit implements AuditReads {
  readonly #context: Context

  constructor(context: Context) {
    this.#context = context
  }

  async list(filter: AuditFilter, { page, pageSize }: PageRequest): Promise<Page<AuditRow>> {
    const { session } = this.#context
    const args: AuditArgs = { ...filter }
    const shape: AuditShape = {}
    for (const name of ["actor", "action", "from", "to"] as const) if (filter[name] !== undefined) shape[name] = true
    const [total] = (await session.first(query("auditTotal", shape), args)) as [number]
    const values = await session.all(query("auditPage", shape), { ...args, limit: pageSize, offset: (page - 1) * pageSize })
    return { rows: values.map(toAudit), total }
  }

  async add(entry: AuditEntry): Promise<void> {
    const { session, clock } = this.#context
    await session.run(q.audit, {
      at: entry.at ?? clock.now(),
      actor: entry.actor,
      action: entry.action,
      thing_type: entry.resource?.type ?? null,
      thing_id: entry.resource?.id ?? null,
      outcome: entry.outcome,
      address: entry.address,
      request_id: entry.requestId,
      count: entry.count ?? 1,
    })
  }

  trim(until: number, limit: number): Promise<number> {
    return this.#context.session.run(q.trimAudit, { until, limit })
  }

  trimOf(actor: string, most: number, limit: number): Promise<number> {
    return this.#context.session.run(q.trimAuditOf, { actor, most, limit })
  }
}

/** `data` is what is told, or a list of that and of what decides who is told. */
function toJournal(v: readonly Value[]): JournalRow {
  type Told = Record<string, unknown>
  const kept = JSON.parse(v[5] as string) as Told | [Told, Told]
  const [data, sight] = Array.isArray(kept) ? kept : [kept, {}]
  return {
    id: v[0] as number,
    at: v[1] as number,
    event: v[2] as string,
    resource: { type: v[3] as string, id: v[4] as number },
    data,
    sight,
  }
}

function toAudit(v: readonly Value[]): AuditRow {
  return {
    id: v[0] as number,
    at: v[1] as number,
    actor: v[2] as string,
    action: v[3] as string,
    resource: v[4] === null ? null : { type: v[4] as string, id: v[5] as number },
    outcome: v[6] as AuditRow["outcome"],
    address: v[7] as string,
    requestId: v[8] as string,
    count: v[9] as number,
  }
}
