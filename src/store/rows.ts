export type { Limits } from "#contract"
export type { SessionRow, SubjectRow, TokenCodeRow, TokenRow } from "./tables/credentials.ts"
export type { DataRow, DatasetDirectory, DatasetMove, DatasetWriter } from "./tables/datasets.ts"
export type { GrantRow } from "./tables/grants.ts"
export type { GroupRow } from "./tables/groups.ts"
export type { IdempotencyEntry } from "./tables/idempotency-keys.ts"
export type { ImageRow } from "./tables/images.ts"
export type { LeaseRow } from "./tables/processes.ts"
export type { ProjectDatasetRow, ProjectRow } from "./tables/projects.ts"
export type { PulledImageRow } from "./tables/pulled-images.ts"
export type { GrantableType } from "./tables/resource-type.ts"
export type { PlannedMount, RunPlan } from "./tables/run-plan.ts"
export type { RunPortRow } from "./tables/run-ports.ts"
export type { RunRow } from "./tables/runs.ts"
export type { UserRow } from "./tables/users.ts"
export type { Viewer } from "./viewer.ts"

import type { ProjectDatasetRow } from "./tables/projects.ts"
import type { RowOf } from "./tables/row-mapper.ts"
import type { liveRunMapper } from "./tables/runs.ts"
import type { stamps } from "./tables/stamps.ts"

/** The fields of every row that can be changed or deleted. */
export interface StampedFields extends RowOf<typeof stamps> {}

/** A link whose `mountPath` is empty if it is long. */
export interface ProjectDatasetSummary extends ProjectDatasetRow {
  /** The size of the path. */
  bytes: number
  isTruncated: boolean
}

/** Rows without their long texts: a page of complete rows could be too large. */
export interface RowSummaries<Row> {
  /** An omitted text is empty; the `spec` of a run is `{}`. */
  rows: Row[]
  /**
   * The size of each row's texts, omitted ones included. Undefined: the table has no long texts.
   */
  bytes?: readonly number[]
  /** Whether any row lacks a text; `getMany` returns complete rows. */
  isTruncated?: boolean
}

/** One page of a list, and the total for this viewer. */
export interface RowPage<Row> extends RowSummaries<Row> {
  total: number
}

export interface RowPageRequest {
  /** From 1. */
  page: number
  pageSize: number
}

export interface UserRunTotals {
  runs: number
  queued: number
  cpus: number
  memoryMiB: number
  gpus: number
}
/** The fields of a live run that admission counts. */
export type LiveRun = ReturnType<(typeof liveRunMapper)["toRow"]>

export interface NewJournalEntry {
  /** `<resource>.<verb>` */
  event: string
  /** The data that subscribers receive; `ID` at least. */
  data: Readonly<Record<string, unknown>>
  resource: { type: string; id: number }
  /** Decides who receives the event, and is never sent. */
  visibility?: Readonly<Record<string, unknown>>
}

export interface NewAuditEntry {
  actor: string
  action: string
  resource: { type: string; id: number } | null
  outcome: "done" | "refused"
  address: string
  requestId: string
  /** The number of occurrences; address and request are those of the first. Default 1. */
  count?: number
  /** The time of the first. Default: now. */
  at?: number
}

/** The event of a journal row that could not be read; it is for nobody. */
export const unreadableEvent = "unreadable"

export interface JournalRow extends Required<NewJournalEntry> {
  /** Grows in the order of commits. */
  id: number
  at: number
}

export interface AuditRow extends Required<NewAuditEntry> {
  id: number
}
export interface AuditFilter {
  actor?: string
  action?: string
  /** Milliseconds, both included. */
  from?: number
  to?: number
}
