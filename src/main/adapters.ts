import {
  type Caller,
  decideWithGrants,
  type Identity,
  impersonate,
  loadFileAccess,
  missingResource,
  mountScopes,
  Refusal,
  runResource,
  scopedRunId,
} from "#access"
import type { Engine, ImagePolicy } from "#engine"
import type { Events } from "#events"
import type { Authority, Files } from "#files"
import type { PortAssignments, RunDirectory, Visitor } from "#gateway"
import type { Images } from "#images"
import type { Clock, Logger } from "#kit"
import type { Runs, StorageQuotas } from "#runs"
import type { RunRow, Store } from "#store"

/** The actor that stands for all who proved nothing. */
const nobody = "-"

/**
 * Who a proof at the files address belongs to, and what they may do with a path: the same rules as
 * for mounts.
 */
export function authorityOf(made: { store: Store; identity: Identity; events: Events; clock: Clock; quotas: StorageQuotas }): Authority {
  const { store, identity, events, clock, quotas } = made
  return {
    recordRefusals({ userName = nobody, address, isWrite, code, count }) {
      events.requestRefused({ userName, address, requestId: "" }, isWrite ? "writeFiles" : "readFiles", { code, count })
    },
    async identify(authorization, address) {
      const caller = await identity.authenticateForFiles(authorization, address)
      if (caller instanceof Refusal) return refusalOf(caller)
      return { ok: true, userId: caller.userId, userName: caller.userName, readOnly: !caller.scopes.includes("write") }
    },
    async access(userId, paths) {
      const caller = await impersonate(store, await store.users.get(userId), clock.now())
      return caller ? loadFileAccess(store, caller, paths) : paths.map(() => ({ level: "none", canReplace: false }))
    },
    mountAreas: (paths) => mountScopes(store, paths),
    storageQuota: (account) => quotas.quotaOf(account),
  }
}

function refusalOf({ status, message, retryAfterSeconds, userName }: Refusal) {
  return {
    ok: false as const,
    status: status as 401 | 403 | 429 | 503,
    msg: message,
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(userName === undefined ? {} : { userName }),
  }
}

/**
 * On what terms a run's person may have its image now; who may no longer sign in has nobody's
 * credentials.
 */
export function imageTermsOf({ store, images, clock }: { store: Store; images: Images; clock: Clock }) {
  return async (run: RunRow): Promise<ImagePolicy> => {
    const starter = await impersonate(store, await store.users.get(run.userId), clock.now())
    const person = starter ?? { userName: run.userName, groupNames: [] }
    const terms = images.policyFor(person, { reference: run.spec.image, byAdmin: run.spec.imageByAdmin ?? false })
    if (starter) return terms
    const { credentials: _, ...withoutCredentials } = terms
    return withoutCredentials
  }
}

/**
 * What the gateway asks: runs from memory, people from their proofs, grants where the run is
 * somebody else's.
 */
export function gatewayHost(made: { store: Store; identity: Identity; events: Events; runs: Runs; logger: Logger }): RunDirectory {
  const { store, identity, events, runs, logger } = made
  const visitorOf = (caller: Caller): Visitor => {
    const only = scopedRunId(caller)
    return { userId: caller.userId, credentialId: caller.credential.id, ...(only === undefined ? {} : { scopedRunId: only }) }
  }
  return {
    byId: (id) => runs.target(id),
    byKey: (key) => runs.targetByKey(key),
    liveRuns: () => runs.targets(),
    async authenticate(authorization, address) {
      const caller = await identity.authenticate(authorization, undefined, address)
      return caller instanceof Refusal ? refusalOf(caller) : visitorOf(caller)
    },
    async canOpen(visitor, runId) {
      const caller = await identity.refreshCaller(visitor.userId, visitor.credentialId)
      const run = runs.row(runId)
      if (caller === undefined) return false
      // Where there is no run the same is asked, of a run that is nobody's: the time of a refusal
      // tells no more than its words.
      const resource = run ? runResource(run) : missingResource("run")
      return (await decideWithGrants(store, caller, "run:open", resource)) === "yes" && run !== undefined
    },
    recordRefusal({ visitor, address, code }) {
      const name = async () => (visitor && (await identity.refreshCaller(visitor.userId, visitor.credentialId))?.userName) ?? nobody
      name()
        .then((userName) => events.requestRefused({ userName, address, requestId: "" }, "openRun", { code }))
        .catch((err) => logger.warn({ err, address, code }, "a refusal was not counted"))
    },
    recordActivity: (id) => runs.markActive(id),
  }
}

/** Where the gateway records which port belongs to whom. */
export function portLedger(store: Store): PortAssignments {
  return {
    ofUser: (userId, range) => store.ports.ofUser(userId, range),
    assignedPorts: (range) => store.ports.assigned(range),
    assign: (entry) => store.change((tx) => tx.ports.assign(entry)),
  }
}

export function readinessOf({ store, engine, files }: { store: Store; engine: Engine; files: Promise<Files> }) {
  const told = (check: Promise<unknown>) =>
    check.then(() => ({ ok: true, msg: "" })).catch((error: unknown) => ({ ok: false, msg: (error as Error).message }))
  return async () => {
    const [storeCheck, engineCheck, filesCheck] = await Promise.all([
      told(store.check()),
      told(engine.check(AbortSignal.timeout(5_000))),
      healthOf(files),
    ])
    return { store: storeCheck, engine: engineCheck, files: filesCheck }
  }
}

async function healthOf(files: Promise<Files>): Promise<{ ok: boolean; msg: string }> {
  const started = await Promise.race([files, Promise.resolve(undefined)])
  return started ? started.health() : { ok: false, msg: "The file server is starting" }
}
