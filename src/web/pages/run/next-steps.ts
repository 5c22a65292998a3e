import type { Reason, ReasonCode, RunningProject } from "#contract"
import { projectOf } from "../../api/run-names.ts"

/**
 * A step after a run failed or ended: one button beside "Start again", which every run has that is
 * over.
 */
export type NextStep = { kind: "start-with-memory"; memory: number } | { kind: Exclude<StepKind, "memory"> }

type StepKind = "memory" | "change-resources" | "my-runs" | "logs" | "image" | "datasets" | "files"

/** By the reason's code. */
const steps: { readonly [Code in ReasonCode]?: readonly StepKind[] } = {
  image_not_found: ["image"],
  image_pull_denied: ["image"],
  image_pull_failed: ["image"],
  image_too_large: ["image"],
  image_unavailable: ["image"],
  wrong_architecture: ["image"],
  data_unavailable: ["datasets"],
  mount_missing: ["datasets"],
  mount_unreadable: ["datasets"],
  access_withdrawn: ["datasets"],
  insufficient_cpu: ["change-resources"],
  insufficient_memory: ["change-resources"],
  insufficient_gpu: ["change-resources"],
  nodes_unsupported: ["change-resources"],
  quota_exceeded: ["my-runs", "change-resources"],
  timeout_queued: ["change-resources"],
  timeout_pulling: ["image"],
  oom_killed: ["memory", "logs"],
  disk_full: ["files"],
  exited: ["logs"],
  command_not_found: ["logs", "image"],
  port_not_open: ["logs"],
  not_answering: ["logs"],
  timeout_starting: ["logs"],
}

/** Only the owner of the project can change its image and datasets. */
export function nextSteps(reason: Pick<Reason, "code">, run: { Memory: number; isOwnProject: boolean }): NextStep[] {
  return (steps[reason.code] ?? []).flatMap((kind): NextStep[] => {
    if ((kind === "image" || kind === "datasets") && !run.isOwnProject) return []
    if (kind !== "memory") return [{ kind }]
    return run.Memory > 0 ? [{ kind: "start-with-memory", memory: run.Memory * 2 }] : [{ kind: "change-resources" }]
  })
}

/** Whether the person who started the run owns its project. */
export function isOwnProject(run: RunningProject): boolean {
  return projectOf(run)?.UserName === run.UserName
}
