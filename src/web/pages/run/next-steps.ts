import type { Reason, ReasonCode, RunningProject } from "#contract"

/** A step after a run failed or ended: one button. */
export type NextStep =
  | { kind: "start-with-memory"; memory: number }
  | { kind: "change-resources" }
  | { kind: "my-runs" }
  | { kind: "logs" }
  | { kind: "again" }

type StepKind = "memory" | "change-resources" | "my-runs" | "logs" | "again"

/** By the reason's code. Reasons without a row offer to start again. */
const steps: { readonly [Code in ReasonCode]?: readonly StepKind[] } = {
  insufficient_cpu: ["change-resources"],
  insufficient_memory: ["change-resources"],
  insufficient_gpu: ["change-resources"],
  nodes_unsupported: ["change-resources"],
  quota_exceeded: ["my-runs", "change-resources"],
  timeout_queued: ["change-resources", "again"],
  oom_killed: ["memory", "logs"],
  exited: ["logs", "again"],
  command_not_found: ["logs"],
  port_not_open: ["logs", "again"],
  not_answering: ["logs", "again"],
  timeout_starting: ["logs", "again"],
}

export function nextSteps(reason: Reason, run: Pick<RunningProject, "Memory">): NextStep[] {
  const kinds = steps[reason.code] ?? ["again"]
  return kinds.flatMap((kind): NextStep[] => {
    if (kind !== "memory") return [{ kind }]
    return run.Memory > 0 ? [{ kind: "start-with-memory", memory: run.Memory * 2 }] : [{ kind: "change-resources" }]
  })
}
