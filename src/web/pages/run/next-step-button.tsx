import { formatMemory } from "../../api/formats.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { texts } from "../../text/index.ts"
import type { NextStep } from "./next-steps.ts"

interface NextStepProps {
  step: NextStep
  /** The project and the amounts of the start. */
  start: { ProjectID: number; Cpus: number; Memory: number; Gpus: number }
  /** Undefined for a start that did not happen yet: it has no output. */
  runId?: number
}

export function NextStepButton({ step, start, runId }: NextStepProps) {
  const { nextSteps: labels } = texts.run
  const { Cpus: cpus, Memory: memory, Gpus: gpus, ProjectID } = start
  const toStart = { to: "/start/$project", params: { project: ProjectID }, size: "small" } as const
  if (step.kind === "start-with-memory")
    return (
      <ButtonLink {...toStart} search={{ cpus, gpus, memory: step.memory }} kind="primary">
        {labels.startWith(formatMemory(step.memory))}
      </ButtonLink>
    )
  if (step.kind === "change-resources")
    return (
      <ButtonLink {...toStart} search={{ cpus, gpus, memory }}>
        {labels.change}
      </ButtonLink>
    )
  if (step.kind === "my-runs")
    return (
      <ButtonLink to="/" size="small">
        {labels.myRuns}
      </ButtonLink>
    )
  if (step.kind === "logs")
    return runId === undefined ? null : (
      <ButtonLink to="/runs/$id" params={{ id: runId }} search={{ tab: "logs" }} size="small">
        {labels.logs}
      </ButtonLink>
    )
  if (step.kind === "files")
    return (
      <ButtonLink to="/files" size="small">
        {labels.files}
      </ButtonLink>
    )
  return (
    <ButtonLink to="/projects/$id/edit" params={{ id: ProjectID }} size="small">
      {labels[step.kind]}
    </ButtonLink>
  )
}
