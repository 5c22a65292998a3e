import type { Progress, RunningProject } from "#contract"
import { formatBytes } from "../../api/formats.ts"
import { Meter } from "../../components/feedback.tsx"
import { Icon } from "../../components/icon.tsx"
import { texts } from "../../text/index.ts"
import { type StepState, stepsOf } from "./start-steps.ts"
import "./run.css"

/** One line on what a start does now, with how far it is. */
export function StartProgress({ run }: { run: RunningProject }) {
  return (
    <div className="stack small" aria-live="polite">
      <StepDetail run={run} />
    </div>
  )
}

/** All steps of a start, with what is done, what is going on, and what comes. */
export function StartSteps({ run }: { run: RunningProject }) {
  return (
    <ol className="start-steps" aria-label={texts.run.progress}>
      {stepsOf(run.State).map(({ step, state }) => (
        <li key={step} className="start-step" data-state={state} aria-current={state === "current" ? "step" : undefined}>
          <StepMark state={state} />
          <span>{texts.run.steps[step]}</span>
          {state === "current" && (
            <div className="start-detail small stack" aria-live="polite">
              <StepDetail run={run} />
            </div>
          )}
        </li>
      ))}
    </ol>
  )
}

function StepMark({ state }: { state: StepState }) {
  if (state === "current") return <span className="spinner" aria-hidden="true" />
  return state === "done" ? <Icon name="check" /> : <span />
}

function StepDetail({ run }: { run: RunningProject }) {
  const { QueuePosition: position, WaitsFor: waitsFor, Progress: progress } = run
  return (
    <>
      {position !== null && <span>{texts.run.queuePosition(position)}</span>}
      {waitsFor && <span className="quiet wrap-anywhere">{waitsFor}</span>}
      {progress && <ProgressLine progress={progress} />}
    </>
  )
}

export function ProgressLine({ progress }: { progress: Progress }) {
  const { step, current, total, unit } = progress
  const amount = unit === "bytes" ? formatBytes : (value: number) => `${value} ${unit}`
  const isMeasured = total !== null && total > 0
  return (
    <>
      <span className="row">
        <span className="grow wrap-anywhere">{step}</span>
        {unit !== "seconds" && <span className="quiet">{isMeasured ? texts.run.of(amount(current), amount(total)) : amount(current)}</span>}
      </span>
      <Meter value={isMeasured ? current / total : null} label={step || texts.run.progress} />
    </>
  )
}
