import { type FailureCode, failureStatus } from "../codes.ts"
import { boolean, integer, oneOf, timestamp } from "../fields/scalars.ts"
import { constant, jsonText, list, nullable, object, optional, readOnlyField } from "../fields/shapes.ts"
import { type StructureValue, structure } from "../fields/structure.ts"
import { text } from "../fields/text.ts"
import { type ReasonCode, reasonCodes } from "../reasons.ts"
import { progress, reason } from "./run-parts.ts"
import { runningProjectFields } from "./running-project.ts"

export const health = structure("Health", { ok: boolean({}) })

const check = object({ ok: boolean({}), msg: text({}) })
export const readiness = structure("Readiness", {
  ok: boolean({}),
  checks: object({
    store: check,
    engine: check,
    files: check,
    supervision: optional(check, "With PostgreSQL: which process looks after the runs."),
    apps: optional(check, "Whether the names of runs lead anywhere, unless they are below localhost. Not counted for `ok`."),
  }),
})
export type Readiness = StructureValue<typeof readiness>

/**
 * The answer of `/readyz`; its status is 503 unless it is ok. Names are the network's: a server
 * that does not see them serves programs all the same.
 */
export function readinessAnswer(checks: Readiness["checks"]) {
  const ok = Object.entries(checks).every(([part, check]) => check.ok || part === "apps")
  return { ok, ...(ok ? {} : { msg: "A part is not available: see checks", code: "unavailable" }), checks }
}

/** All settings of the service, as they are in force. */
export const inForce = structure("Settings", {
  settings: list(
    object({
      Name: text({ description: "The environment variable." }),
      Value: text({ description: "Empty: not set. Secrets are `(hidden)`." }),
      Default: text({ description: "In words." }),
      IsDefault: boolean({}),
      Description: text({}),
    }),
  ),
})
export type InForce = StructureValue<typeof inForce>

export const done = structure("Done", { ok: constant(true) })
export type Done = StructureValue<typeof done>

/** One row of the audit. */
export const auditEntry = structure("AuditEntry", {
  ID: integer({}),
  Time: timestamp({}),
  Actor: text({ description: "The user name; `-` for unauthenticated callers, empty for the service itself." }),
  Action: text({}),
  Thing: nullable(object({ Type: text({}), ID: integer({}) })),
  Outcome: oneOf({ values: ["done", "refused"] }),
  Address: text({}),
  RequestID: text({}),
  Count: integer({
    min: 1,
    description:
      "Refusals of one actor, action and minute are one row, written when the minute is over: Time, Address and RequestID are those of the first.",
  }),
})
export type AuditEntry = StructureValue<typeof auditEntry>

/** One server-sent event. */
export const serverEvent = structure(
  "Event",
  {
    id: text({ description: "Grows in the order of commits; to be sent as `Last-Event-ID`." }),
    event: text({}),
    data: jsonText({
      ID: optional(integer({})),
      ProjectID: optional(integer({}), "Of a run."),
      State: optional(text({}), "Of `run.state`; of `image.progress`: `pulling`, `present` or `failed`."),
      Reason: optional(nullable(reason), "Of `run.state` and `image.progress`: code and msg."),
      Progress: optional(nullable(progress), "Of `run.progress` and `image.progress`."),
      Warning: optional(text({}), "Of `run.warning`."),
      EndsAt: optional(timestamp({}), "Of `run.warning`, if the run will be stopped: when."),
    }),
  },
  "One server-sent event. `event` is `<resource>.<verb>`: created, updated, deleted, restored; for runs also state, progress, warning, for images progress. A reader who may no longer see a resource gets its `deleted`. `reset`: events were missed, and everything must be read again.",
)
export type ServerEvent = StructureValue<typeof serverEvent>

const failureCodes = [...new Set([...Object.keys(failureStatus), ...reasonCodes])] as (FailureCode | ReasonCode)[]

export const failure = structure(
  "Failure",
  {
    ok: constant(false),
    msg: text({ description: "What was expected and what was received." }),
    code: oneOf({ values: failureCodes }),
    field: optional(text({}), "The body field or query parameter at fault."),
    requestId: optional(text({})),
    ID: optional(integer({}), "Of a start: the run that failed, or that is there already."),
    State: optional(runningProjectFields.State, "Of that run."),
    Reason: optional(runningProjectFields.Reason, "Why that run failed."),
    URL: optional(text({}), "Address of the existing run, if the caller may open it."),
    checks: optional(readOnlyField<Readiness["checks"]>({ type: "object" }), "Of /readyz: what each part says."),
    detail: optional(text({}), "For administrators: what the engine or the registry said of an image that was not fetched."),
  },
  "Any status other than 200.",
)
