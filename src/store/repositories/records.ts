import { query } from "../queries/query.ts"
import type { AuditArgs, AuditShape } from "../queries/records.ts"
import type { AuditEntry, AuditFilter, AuditRow, JournalEntry, JournalRow, Page, PageRequest } from "../rows.ts"
import type { AuditReads, JournalReads } from "../store.ts"
import { audit, journal, type StoredEvent } from "../tables/history.ts"
import type { Value } from "../values.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  journal: query("journal"),
  journalAfter: query("journalAfter"),
  journalBounds: query("journalBounds"),
  pruneJournal: query("pruneJournal"),
  audit: query("audit"),
  pruneAudit: query("pruneAudit"),
  pruneAuditOf: query("pruneAuditOf"),
}

/** What happened, to be told and forgotten. */
export class Journal implements JournalReads {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async after(id: number, limit: number): Promise<JournalRow[]> {
    return (await this.#context.session.all(q.journalAfter, { id, limit })).map(toJournal)
  }

  async bounds(): Promise<{ first: number; last: number }> {
    const [first, last] = (await this.#context.session.first(q.journalBounds, {})) as [number, number]
    return { first, last }
  }

  async add({ event, data, resource, visibility = {} }: JournalEntry): Promise<void> {
    const { session, clock } = this.#context
    const stored = Object.keys(visibility).length > 0 ? [data, visibility] : data
    const row = { at: clock.now(), event, resourceType: resource.type, resourceId: resource.id, data: stored }
    await session.run(q.journal, journal.toColumns(row))
  }

  trim(upTo: number): Promise<number> {
    return this.#context.session.run(q.pruneJournal, { up_to: upTo })
  }
}

/** Who did what. */
export class Audit implements AuditReads {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
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
    const { resource, at = clock.now(), count = 1 } = entry
    const row = { ...entry, at, count, resourceType: resource?.type ?? null, resourceId: resource?.id ?? null }
    await session.run(q.audit, audit.toColumns(row))
  }

  trim(until: number, limit: number): Promise<number> {
    return this.#context.session.run(q.pruneAudit, { until, limit })
  }

  trimOf(actor: string, most: number, limit: number): Promise<number> {
    return this.#context.session.run(q.pruneAuditOf, { actor, most, limit })
  }
}

/** `data` is what subscribers receive, or a list of that and of what decides who receives it. */
function toJournal(values: readonly Value[]): JournalRow {
  const { resourceType, resourceId, data: stored, ...row } = journal.toRow(values)
  const [data, visibility] = isPair(stored) ? stored : [stored, {}]
  return { ...row, resource: { type: resourceType, id: resourceId }, data, visibility }
}

function isPair(stored: StoredEvent["data"]): stored is Extract<StoredEvent["data"], readonly unknown[]> {
  return Array.isArray(stored)
}

function toAudit(values: readonly Value[]): AuditRow {
  const { resourceType, resourceId, ...row } = audit.toRow(values)
  return { ...row, resource: resourceType === null || resourceId === null ? null : { type: resourceType, id: resourceId } }
}
