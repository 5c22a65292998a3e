import { isLive, type RunningProject } from "#contract"
import { toSentence } from "../../api/error-text.ts"
import { Note } from "../../components/feedback.tsx"
import { LongText } from "../../components/long-text/long-text.tsx"
import { texts } from "../../text/index.ts"
import { NextStepButton } from "./next-step-button.tsx"
import { isOwnProject, nextSteps } from "./next-steps.ts"

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
          <strong>{toSentence(reason.msg)}</strong>
          {hint && <p>{toSentence(hint)}</p>}
          {exitCode !== undefined && <p className="quiet small">{texts.run.exitCode(exitCode)}</p>}
        </div>
        {!isStopped &&
          nextSteps(reason, { Memory: run.Memory, isOwnProject: isOwnProject(run) }).map((step) => (
            <NextStepButton key={step.kind} step={step} start={run} runId={run.ID} />
          ))}
      </Note>
      {logTail && (
        <details open>
          <summary>{texts.run.lastOutput}</summary>
          <pre className="code-block" data-wrap="">
            <LongText text={logTail} />
          </pre>
        </details>
      )}
    </>
  )
}
