import type { AuditArgs, AuditShape } from "../queries/journal-and-audit.ts"
import { query } from "../queries/query.ts"
import {
  type AuditFilter,
  type AuditRow,
  type JournalRow,
  type NewAuditEntry,
  type NewJournalEntry,
  type RowPage,
  type RowPageRequest,
  unreadableEvent,
  type Viewer,
} from "../rows.ts"
import type { AuditReads, JournalReads } from "../store.ts"
import { auditTable, journalTable, type StoredEvent } from "../tables/journal-and-audit.ts"
import type { ColumnValue } from "../values.ts"
import type { RepositoryContext } from "./resource.ts"

const q = {
  journal: query("journal"),
  journalAfter: query("journalAfter"),
  journalBounds: query("journalBounds"),
  journalBytes: query("journalBytes"),
  pruneJournal: query("pruneJournal"),
  audit: query("audit"),
  pruneAudit: query("pruneAudit"),
  pruneAuditOf: query("pruneAuditOf"),
}

/** The journal of events, which is replayed and pruned. */
export class JournalRepository implements JournalReads {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  async after(id: number, limit: number): Promise<JournalRow[]> {
    return (await this.#context.runner.all(q.journalAfter, { id, limit })).map(toJournal)
  }

  async bounds(): Promise<{ first: number; last: number }> {
    const [first, last] = (await this.#context.runner.first(q.journalBounds, {})) as [number, number]
    return { first, last }
  }

  async bytesBetween(after: number, upTo: number): Promise<number> {
    const [bytes] = (await this.#context.runner.first(q.journalBytes, { after, up_to: upTo })) ?? []
    return Number(bytes)
  }

  async add({ event, data, resource, visibility = {} }: NewJournalEntry): Promise<void> {
    const { runner, clock } = this.#context
    const stored = Object.keys(visibility).length > 0 ? [data, visibility] : data
    const row = { at: clock.now(), event, resourceType: resource.type, resourceId: resource.id, data: stored }
    await runner.run(q.journal, journalTable.toColumns(row))
  }

  prune(upTo: number): Promise<number> {
    return this.#context.runner.run(q.pruneJournal, { up_to: upTo })
  }
}

/** The audit: who did what. */
export class AuditRepository implements AuditReads {
  readonly #context: RepositoryContext

  constructor(context: RepositoryContext) {
    this.#context = context
  }

  /** Counting reads all rows, of which there are hundreds of thousands per person. */
  async list(filter: AuditFilter, { userId }: Viewer, { page, pageSize }: RowPageRequest): Promise<RowPage<AuditRow>> {
    const runner = this.#context.runner.scans?.forUser(userId) ?? this.#context.runner
    const args: AuditArgs = { ...filter }
    const shape: AuditShape = {}
    for (const name of ["actor", "action", "from", "to"] as const) if (filter[name] !== undefined) shape[name] = true
    const [total] = (await runner.first(query("auditTotal", shape), args)) as [number]
    const values = await runner.all(query("auditPage", shape), { ...args, limit: pageSize, offset: (page - 1) * pageSize })
    return { rows: values.map(toAudit), total }
  }

  async add(entry: NewAuditEntry): Promise<void> {
    const { runner, clock } = this.#context
    const { resource, at = clock.now(), count = 1 } = entry
    const row = { ...entry, at, count, resourceType: resource?.type ?? null, resourceId: resource?.id ?? null }
    await runner.run(q.audit, auditTable.toColumns(row))
  }

  prune(until: number, limit: number): Promise<number> {
    return this.#context.runner.run(q.pruneAudit, { until, limit })
  }

  pruneActor(actor: string, maxRows: number, limit: number): Promise<number> {
    return this.#context.runner.run(q.pruneAuditOf, { actor, max_rows: maxRows, limit })
  }
}

/** A row that cannot be read is one for nobody: it must not stop everybody's events. */
function toJournal(values: readonly ColumnValue[]): JournalRow {
  try {
    return readJournal(values)
  } catch {
    const [id, at] = values as [number, number]
    return { id, at, event: unreadableEvent, resource: { type: "user", id: 0 }, data: {}, visibility: { to: [] } }
  }
}

/**
 * `data` is the subscribers' data, or a pair of that and of the fields that decide who receives it.
 */
function readJournal(values: readonly ColumnValue[]): JournalRow {
  const { resourceType, resourceId, data: stored, ...row } = journalTable.toRow(values)
  const [data, visibility] = isPair(stored) ? stored : [stored, {}]
  return { ...row, resource: { type: resourceType, id: resourceId }, data, visibility }
}

function isPair(stored: StoredEvent["data"]): stored is Extract<StoredEvent["data"], readonly unknown[]> {
  return Array.isArray(stored)
}

function toAudit(values: readonly ColumnValue[]): AuditRow {
  const { resourceType, resourceId, ...row } = auditTable.toRow(values)
  return { ...row, resource: resourceType === null || resourceId === null ? null : { type: resourceType, id: resourceId } }
}
