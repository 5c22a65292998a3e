import { isLive, type RunningProject } from "#contract"
import { sentence } from "../../api/error-text.ts"
import { formatMemory } from "../../api/formats.ts"
import { ButtonLink } from "../../app/button-link.tsx"
import { Note } from "../../components/feedback.tsx"
import { texts } from "../../text/index.ts"
import { isOwnProject, type NextStep, nextSteps } from "./next-steps.ts"

/** Why the run is over: one sentence, what helps, the last output, and the next step. */
export function EndReason({ run }: { run: RunningProject }) {
  const { Reason: reason } = run
  if (!reason || isLive(run.State)) return null
  const { exitCode, logTail, hint } = reason
  const isStopped = reason.code.startsWith("stopped_by_")
  return (
    <>
      <Note tone={isStopped ? "quiet" : "bad"} role={isStopped ? "status" : "alert"}>
        <div className="grow">
          <strong>{sentence(reason.msg)}</strong>
          {hint && <p>{sentence(hint)}</p>}
          {exitCode !== undefined && <p className="quiet small">{texts.run.exitCode(exitCode)}</p>}
        </div>
        {!isStopped &&
          nextSteps(reason, { Memory: run.Memory, isOwnProject: isOwnProject(run) }).map((step) => (
            <NextStepButton key={step.kind} step={step} run={run} />
          ))}
      </Note>
      {logTail && (
        <details open>
          <summary>{texts.run.lastOutput}</summary>
          <pre className="code-block" data-wrap="">
            {logTail}
          </pre>
        </details>
      )}
    </>
  )
}

function NextStepButton({ step, run }: { step: NextStep; run: RunningProject }) {
  const { nextSteps: words } = texts.run
  const { Cpus: cpus, Memory: memory, Gpus: gpus, ProjectID } = run
  const start = { to: "/start/$project", params: { project: ProjectID }, size: "small" } as const
  if (step.kind === "start-with-memory")
    return (
      <ButtonLink {...start} search={{ cpus, gpus, memory: step.memory }} kind="primary">
        {words.startWith(formatMemory(step.memory))}
      </ButtonLink>
    )
  if (step.kind === "change-resources")
    return (
      <ButtonLink {...start} search={{ cpus, gpus, memory }}>
        {words.change}
      </ButtonLink>
    )
  if (step.kind === "my-runs")
    return (
      <ButtonLink to="/" size="small">
        {words.myRuns}
      </ButtonLink>
    )
  if (step.kind === "logs")
    return (
      <ButtonLink to="/runs/$id" params={{ id: run.ID }} search={{ tab: "logs" }} size="small">
        {words.logs}
      </ButtonLink>
    )
  if (step.kind === "files")
    return (
      <ButtonLink to="/files" size="small">
        {words.files}
      </ButtonLink>
    )
  return (
    <ButtonLink to="/projects/$id/edit" params={{ id: ProjectID }} size="small">
      {words[step.kind]}
    </ButtonLink>
  )
}
