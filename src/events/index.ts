import type { Logger } from "#kit"
import type { Change, RunRow } from "#store"

/** Who does something, as the audit names them. */
export interface Actor {
  userName: string
  /** The caller's address after trusted proxies; empty for the service itself. */
  address: string
  requestId: string
}

/** What Quayside itself does, such as ending a run that exited. */
export const service: Actor = { userName: "", address: "", requestId: "" }

export type ThingType = "image" | "data" | "project" | "run" | "user" | "group" | "token" | "session"
export interface Thing {
  type: ThingType
  id: number
}

export type Verb = "created" | "updated" | "deleted" | "restored"

/** One function per business event: what the audit, the journal and the log keep of it. */
export interface Events {
  /** A stored thing was made, changed, deleted or restored. Part of the change's own transaction; logged after COMMIT. */
  changed(tx: Change, actor: Actor, what: { verb: Verb; thing: Thing }): Promise<void>
  /** Somebody signed in, or ended a session. */
  session(tx: Change, actor: Actor, verb: "created" | "deleted"): Promise<void>
  /** Somebody asked for a run to be started or stopped. */
  runAsked(tx: Change, asked: { actor: Actor; verb: "start" | "stop"; run: RunRow }): Promise<void>
  /** A run went to another state. */
  runMoved(tx: Change, run: RunRow): Promise<void>
  /** A request was refused. */
  refused(actor: Actor, action: string, code: string): void
}

export interface EventsOptions {
  logger: Logger
  /** Called after COMMIT for every stored thing that was made, changed, deleted or restored. Must not throw. */
  onChange?: (thing: Thing) => void
}

export function createEvents({ logger, onChange = () => {} }: EventsOptions): Events {
  return {
    async changed(tx, actor, { verb, thing }) {
      const event = `${thing.type}.${verb}`
      await tx.journal({ event, data: { ID: thing.id }, thing })
      await tx.audit({ actor: actor.userName, action: event, thing, outcome: "done", address: actor.address, requestId: actor.requestId })
      tx.afterCommit(() => {
        logger.info({ event, id: thing.id, actor: actor.userName, requestId: actor.requestId }, "changed")
        onChange(thing)
      })
    },
    async session(tx, actor, verb) {
      const action = `session.${verb}`
      await tx.audit({ actor: actor.userName, action, thing: null, outcome: "done", address: actor.address, requestId: actor.requestId })
      tx.afterCommit(() => logger.info({ event: action, actor: actor.userName, requestId: actor.requestId }, "session"))
    },
    async runAsked(tx, { actor, verb, run }) {
      const thing = { type: "run", id: run.id }
      await tx.audit({
        actor: actor.userName,
        action: `run.${verb}`,
        thing,
        outcome: "done",
        address: actor.address,
        requestId: actor.requestId,
      })
    },
    async runMoved(tx, run) {
      const data = {
        ID: run.id,
        ProjectID: run.projectId,
        State: run.state,
        Reason: run.reason && { code: run.reason.code, msg: run.reason.msg },
      }
      await tx.journal({ event: "run.state", data, thing: { type: "run", id: run.id } })
      tx.afterCommit(() => logger.info({ event: "run.state", id: run.id, state: run.state, reason: run.reason?.code }, "run"))
    },
    refused(actor, action, code) {
      logger.info({ event: "refused", action, code, actor: actor.userName, address: actor.address, requestId: actor.requestId }, "refused")
    },
  }
}
