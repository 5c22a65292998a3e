import { AuthenticationFailure, type Caller, decideWithGrants, type Identity, missingResource, runResource, scopedRunId } from "#access"
import { bounds } from "#contract"
import type { Events } from "#events"
import type { PortAssignments, RunDirectory, Visitor } from "#gateway"
import { PersonLimiter } from "#http"
import type { Logger } from "#kit"
import type { Runs } from "#runs"
import { readAsPerson, type Store } from "#store"
import { toAccessRefusal, unauthenticatedUser } from "./access-refusal.ts"

/**
 * The gateway's view of runs and people. It reads runs from memory, and grants only for runs of
 * other people.
 */
export function createRunDirectory(made: { store: Store; identity: Identity; events: Events; runs: Runs; logger: Logger }): RunDirectory {
  const { store, identity, events, runs, logger } = made
  // A person may open thousands of tickets, and use all of them at once.
  const claims = new PersonLimiter({
    maxRunning: bounds.rates.changes.value,
    maxWaiting: bounds.rates.waitingChanges.value,
    message: (count) => `${count} of your ways into runs are being opened already; try again`,
  })
  const visitorOf = (caller: Caller): Visitor => {
    const only = scopedRunId(caller)
    return { userId: caller.userId, credentialId: caller.credential.id, ...(only === undefined ? {} : { scopedRunId: only }) }
  }
  const canOpen: RunDirectory["canOpen"] = async (visitor, runId) => {
    const caller = await identity.refreshCaller(visitor.userId, visitor.credentialId)
    const run = runs.row(runId)
    if (caller === undefined) return false
    // A missing run costs the same queries as a hidden one, so the response time reveals nothing.
    const resource = run ? runResource(run) : missingResource("run")
    return (await decideWithGrants(store, caller, "run:open", resource)) === "yes" && run !== undefined
  }
  return {
    byId: (id) => runs.target(id),
    byKey: (key) => runs.targetByKey(key),
    liveTargets: () => runs.targets(),
    untilRouted: (id) => runs.untilRouted(id),
    async authenticate(authorization, address) {
      const caller = await identity.authenticate(authorization, undefined, address)
      return caller instanceof AuthenticationFailure ? toAccessRefusal(caller) : visitorOf(caller)
    },
    // Each request of somebody who does not own the run reads grants.
    canOpen: (visitor, runId) => readAsPerson(visitor.userId, () => canOpen(visitor, runId)),
    claimTicket: ({ userId, ...ticket }) => claims.run(userId, () => store.change((tx) => tx.proofs.use(ticket), { urgent: true })),
    recordRefusal({ visitor, address, code }) {
      const name = async () =>
        (visitor && (await identity.refreshCaller(visitor.userId, visitor.credentialId))?.userName) ?? unauthenticatedUser
      name()
        .then((userName) => events.requestRefused({ userName, address, requestId: "" }, "openRun", { code }))
        .catch((err) => logger.warn({ err, address, code }, "a refusal was not counted"))
    },
    endTimes: (id) => ({ expiresAt: runs.row(id)?.expiresAt ?? null, idleExpiresAt: runs.idleEnd(id) ?? null }),
    recordActivity: (id) => runs.markActive(id),
  }
}

/** The table in which the gateway records which port belongs to whom. */
export function createPortAssignments(store: Store): PortAssignments {
  return {
    ofUser: (userId, range) => store.ports.ofUser(userId, range),
    assignedPorts: (range) => store.ports.assigned(range),
    assign: (entry) => store.change((tx) => tx.ports.assign(entry)),
  }
}
