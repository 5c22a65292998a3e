import type { Progress, Reason } from "#contract"
import { type Clock, type Logger, systemClock } from "#kit"
import type { Change, GrantRow, ImageRow, NewJournalEntry, RunRow, Store } from "#store"
import { AuditPruner } from "./audit-pruner.ts"
import { JournalPruner } from "./journal-pruner.ts"
import { JournalWriter } from "./journal-writer.ts"
import { RefusalCounter } from "./refusal-counter.ts"

/** The person or service that acts, as the audit names them. */
export interface Actor {
  userName: string
  /** The caller's address after trusted proxies; empty for the service itself. */
  address: string
  requestId: string
}

/** The actor of what Quayside does by itself, such as ending a run that exited. */
export const serviceActor: Actor = { userName: "", address: "", requestId: "" }

export type EventResourceType = "image" | "data" | "project" | "run" | "user" | "group" | "token" | "session" | "grant"
export interface ResourceRef {
  type: EventResourceType
  id: number
}

export type ChangeVerb = "created" | "updated" | "deleted" | "restored"

/** How a change affects who sees the resource, as far as its present state does not show. */
export interface VisibilityChange {
  /**
   * The resource as the rights saw it before. Subscribers who saw it and no longer do get a
   * deletion.
   */
  was?: object
  /** The resource as the rights see it now; if it is equal, `was` is not stored. */
  now?: object
  /** The people whose own rights changed with it. */
  people?: readonly number[]
}

/** One function per business event, which writes its audit row, journal row and log line. */
export interface Events extends AsyncDisposable {
  /**
   * A stored resource was created, updated, deleted or restored. Part of the change's own
   * transaction; logged after COMMIT.
   */
  changed(tx: Change, actor: Actor, what: { verb: ChangeVerb; resource: ResourceRef } & VisibilityChange): Promise<void>
  /**
   * A right on a resource was created, updated or deleted. The audit names the resource, the
   * journal the grant and, for the people who have it or had it, the resource.
   */
  granted(tx: Change, actor: Actor, what: { verb: Exclude<ChangeVerb, "restored">; grant: GrantRow; was?: object }): Promise<void>
  /** The people who have this grant, or had it, see its unchanged resource anew, or no longer. */
  grantVisibilityChanged(tx: Change, grant: GrantRow): Promise<void>
  /** These people see these unchanged resources anew, or no longer: they joined or left a group. */
  visibilityChanged(tx: Change, what: { resources: readonly ResourceRef[]; people: readonly number[] }): Promise<void>
  /**
   * Too much changed for these people to be sent one by one: they have to read everything again.
   */
  everythingChanged(tx: Change, people: readonly number[]): Promise<void>
  /** A change ended the trust in a resource: its owner and all administrators learn why. */
  trustRevoked(tx: Change, what: { resource: ResourceRef; owner: number; text: string }): Promise<void>
  /** Several sessions of a person ended at once: one audit row names the person. */
  sessionsEnded(tx: Change, actor: Actor, what: { userId: number; sessions: readonly { ref: ResourceRef; was: object }[] }): Promise<void>
  /** A person requested a start, a stop or more time, or acts inside a run. */
  runRequested(
    tx: Change,
    asked: { actor: Actor; verb: "start" | "stop" | "keep" | "shell" | "exec" | "copy" | "listen"; run: RunRow },
  ): Promise<void>
  /** A run changed its state; `before` is undefined for a new one. */
  runStateChanged(tx: Change, run: RunRow, before: RunRow | undefined): Promise<void>
  /** How far the start of a run is. */
  runProgress(run: RunRow, progress: Progress): void
  /** A message about a run that changes no state. */
  runWarning(run: RunRow, text: string, endsAt?: number): void
  /** A person requested the pull of an image. */
  imagePullRequested(tx: Change, actor: Actor, image: ImageRow): Promise<void>
  /** The progress of such a pull; `present` or `failed` is its last. */
  imagePullProgress(
    tx: Change,
    image: ImageRow,
    what: { State: "pulling" | "present" | "failed"; Progress: Progress | null; Reason: Reason | null },
  ): Promise<void>
  /**
   * Requests were refused (one, unless `count` says more): logged at once, and counted for the
   * audit. The actor is an existing person, or one shared actor for callers without credentials.
   */
  requestRefused(actor: Actor, action: string, why: { code: string; count?: number }): void
  /** Calls the listener after every COMMIT that wrote to the journal. */
  onJournalWrite(listener: () => void): Disposable
}

export interface EventsOptions {
  store: Store
  /** Default: the system's. */
  clock?: Clock
  logger: Logger
  /**
   * Called after COMMIT for every created, updated, deleted or restored resource. Must not throw.
   */
  onResourceChange?: (resource: ResourceRef) => void
  /** The maximum age of audit rows in days. Default 0: unlimited. */
  maxAuditDays?: number
}

interface EventsContext {
  store: Store
  logger: Logger
  journal: JournalWriter
  onResourceChange(resource: ResourceRef): void
  audit(tx: Change, actor: Actor, what: { action: string; resource: ResourceRef | null }): Promise<void>
}

export function openEvents({ store, clock = systemClock, logger, onResourceChange = () => {}, maxAuditDays = 0 }: EventsOptions): Events {
  const journal = new JournalWriter(new JournalPruner({ store, logger }))
  const auditPruner = maxAuditDays > 0 ? new AuditPruner({ store, maxDays: maxAuditDays, clock, logger }) : undefined
  auditPruner?.start()
  const refusals = new RefusalCounter({ store, clock, logger, onRow: (actor) => auditPruner?.countRow(actor) })
  const audit: EventsContext["audit"] = (tx, actor, what) => {
    auditPruner?.countRow(actor.userName)
    return tx.audit({ actor: actor.userName, ...what, outcome: "done", address: actor.address, requestId: actor.requestId })
  }
  const ctx: EventsContext = { store, logger, journal, onResourceChange, audit }
  return {
    ...resourceEvents(ctx),
    ...accessEvents(ctx),
    ...runEvents(ctx),
    ...imageEvents(ctx),
    requestRefused({ userName: actor, address, requestId }, action, { code, count = 1 }) {
      logger.info({ event: "refused", action, code, actor, address, requestId, ...(count === 1 ? {} : { count }) }, "refused")
      refusals.count({ actor, action, address, requestId }, count)
    },
    onJournalWrite: (listener) => journal.onWrite(listener),
    async [Symbol.asyncDispose]() {
      await auditPruner?.[Symbol.asyncDispose]()
      await refusals[Symbol.asyncDispose]()
    },
  }
}

type ResourceEvents = Pick<Events, "changed" | "granted" | "grantVisibilityChanged" | "visibilityChanged" | "everythingChanged">

function resourceEvents({ journal, logger, audit, onResourceChange }: EventsContext): ResourceEvents {
  const events: ResourceEvents = {
    async changed(tx, actor, { verb, resource, was, now, people }) {
      const event = `${resource.type}.${verb}`
      const visibility = { ...(was && !isSame(was, now) ? { was } : {}), ...(people ? { people } : {}) }
      await journal.add(tx, { event, data: { ID: resource.id }, resource, visibility })
      await audit(tx, actor, { action: event, resource })
      tx.afterCommit(() => {
        logger.info({ event, id: resource.id, actor: actor.userName, requestId: actor.requestId }, "changed")
        onResourceChange(resource)
      })
    },
    async granted(tx, actor, { verb, grant, was }) {
      const event = `grant.${verb}`
      const { id, resourceType: type, resourceId, userName, groupName, access } = grant
      const resource: ResourceRef = { type, id: resourceId }
      await journal.add(tx, { event, data: { ID: id }, resource: { type: "grant", id }, visibility: was ? { was } : {} })
      await audit(tx, actor, { action: event, resource })
      await events.grantVisibilityChanged(tx, grant)
      tx.afterCommit(() => {
        logger.info({ event, id, resource, userName, groupName, access, actor: actor.userName, requestId: actor.requestId }, "granted")
        onResourceChange({ type: "grant", id })
      })
    },
    async grantVisibilityChanged(tx, { resourceType: type, resourceId: id, userId, groupId }) {
      // Not the members themselves: a group may have thousands, and each reader would compare them.
      const visibility = groupId === 0 ? { to: [userId] } : { toGroup: groupId }
      await journal.add(tx, { event: `${type}.updated`, data: { ID: id }, resource: { type, id }, visibility })
    },
    async visibilityChanged(tx, { resources, people }) {
      if (people.length === 0) return
      for (const resource of resources)
        await journal.add(tx, { event: `${resource.type}.updated`, data: { ID: resource.id }, resource, visibility: { to: people } })
    },
    async everythingChanged(tx, people) {
      for (const id of people) await journal.add(tx, { event: "reset", data: {}, resource: { type: "user", id }, visibility: { to: [id] } })
    },
  }
  return events
}

function accessEvents({ journal, logger, audit }: EventsContext): Pick<Events, "trustRevoked" | "sessionsEnded"> {
  return {
    async trustRevoked(tx, { resource, owner, text }) {
      const data = { ID: resource.id, IsTrusted: false, Warning: text }
      await journal.add(tx, { event: `${resource.type}.updated`, data, resource, visibility: { to: [owner], toAdministrators: true } })
      tx.afterCommit(() => logger.warn({ event: "trust.ended", resource, text }, "trust"))
    },
    async sessionsEnded(tx, actor, { userId, sessions }) {
      // Requests may repeat it for ever, also on a full disk, whose reserve they may use.
      if (sessions.length === 0) return
      const event = "session.deleted"
      for (const { ref, was } of sessions)
        await journal.add(tx, { event, data: { ID: ref.id }, resource: ref, visibility: { was, people: [userId] } })
      await audit(tx, actor, { action: event, resource: { type: "user", id: userId } })
      tx.afterCommit(() =>
        logger.info({ event, userId, count: sessions.length, actor: actor.userName, requestId: actor.requestId }, "sessions"),
      )
    },
  }
}

function runEvents({
  store,
  journal,
  logger,
  audit,
}: EventsContext): Pick<Events, "runRequested" | "runStateChanged" | "runProgress" | "runWarning"> {
  /** Runs whose progress is being written. */
  const publishing = new Set<number>()
  const publish = (entry: NewJournalEntry): Promise<void> => store.change((tx) => journal.add(tx, entry))
  return {
    async runRequested(tx, { actor, verb, run }) {
      await audit(tx, actor, { action: `run.${verb}`, resource: { type: "run", id: run.id } })
      // A start and a stop change the state, which has an event of its own.
      if (verb === "keep") await journal.add(tx, ofRun(run, "updated", {}))
    },
    async runStateChanged(tx, run, before) {
      const Reason = run.reason && { code: run.reason.code, msg: run.reason.msg }
      const changed = ofRun(run, "state", { State: run.state, Reason })
      const entries = before ? [changed] : [ofRun(run, "created", {}), changed]
      await Promise.all(entries.map((entry) => journal.add(tx, entry)))
      tx.afterCommit(() => logger.info({ event: "run.state", id: run.id, state: run.state, reason: run.reason?.code }, "run"))
    },
    runProgress(run, Progress) {
      // When the database is slower than the engine, intermediate progress is skipped.
      if (publishing.has(run.id)) return
      publishing.add(run.id)
      publish(ofRun(run, "progress", { Progress }))
        .catch((err) => logger.warn({ err, id: run.id }, "a run's progress was not published"))
        .finally(() => publishing.delete(run.id))
    },
    runWarning(run, text, endsAt) {
      logger.warn({ event: "run.warning", id: run.id, text }, "run")
      const time = endsAt === undefined ? {} : { EndsAt: new Date(endsAt).toISOString() }
      publish(ofRun(run, "warning", { Warning: text, ...time })).catch((err) =>
        logger.warn({ err, id: run.id }, "a run's warning was not published"),
      )
    },
  }
}

function imageEvents({ journal, logger, audit }: EventsContext): Pick<Events, "imagePullRequested" | "imagePullProgress"> {
  return {
    async imagePullRequested(tx, actor, { id }) {
      await audit(tx, actor, { action: "image.pull", resource: { type: "image", id } })
      tx.afterCommit(() => logger.info({ event: "image.pull", id, actor: actor.userName, requestId: actor.requestId }, "image"))
    },
    imagePullProgress: (tx, { id }, what) =>
      journal.add(tx, { event: "image.progress", data: { ID: id, ...what }, resource: { type: "image", id } }),
  }
}

function ofRun({ id, projectId }: RunRow, verb: string, data: Readonly<Record<string, unknown>>): NewJournalEntry {
  return { event: `run.${verb}`, data: { ID: id, ProjectID: projectId, ...data }, resource: { type: "run", id } }
}

/** Resources of the rights are plain data, made by one function each: equal ones read the same. */
function isSame(was: object, now: object | undefined): boolean {
  return now !== undefined && JSON.stringify(was) === JSON.stringify(now)
}
