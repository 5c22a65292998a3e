import { keepPreviousData, useQuery } from "@tanstack/react-query"
import type { Preview } from "#contract"
import { toSentence } from "../../api/error-text.ts"
import { apiQuery } from "../../api/queries.ts"
import { Button } from "../../components/button.tsx"
import { ErrorState, Note } from "../../components/feedback.tsx"
import { useDebounced } from "../../components/use-debounced.ts"
import { texts } from "../../text/index.ts"
import { NextStepButton } from "../run/next-step-button.tsx"
import { nextSteps } from "../run/next-steps.ts"

const debounceMs = 200

interface StartBody {
  ProjectID: number
  Cpus: number
  Memory: number
  Gpus: number
}

interface PreviewProps {
  body: StartBody
  isOwnProject: boolean
  /** Makes all amounts the defaults. */
  onDefaults: () => void
}

/** The outcome of a start with these amounts, asked again once they rest for a moment. */
export function StartPreview({ body, ...props }: PreviewProps) {
  const asked = useDebounced(JSON.stringify(body), debounceMs)
  const { data, error } = useQuery({
    ...apiQuery("previewRun", { body: JSON.parse(asked) as object }),
    placeholderData: keepPreviousData,
    gcTime: 10_000,
  })
  if (error) return <ErrorState error={error} />
  return data ? <PreviewNote preview={data} body={body} {...props} /> : <Note role="status">{texts.start.checking}</Note>
}

function PreviewNote({ preview, body, isOwnProject, onDefaults }: PreviewProps & { preview: Preview }) {
  const { Admitted: isAdmitted, QueuePosition: position, WaitsFor: waitsFor, Reason: reason } = preview
  if (isAdmitted)
    return (
      <Note tone="good" role="status">
        {texts.start.admitted}
      </Note>
    )
  return (
    <Note tone={reason ? "bad" : "warn"} role="status">
      <div className="grow">
        <strong>{reason ? texts.start.failed : texts.start.queued(position)}</strong>
        {reason && <p>{toSentence(reason.msg)}</p>}
        {reason?.hint && <p>{toSentence(reason.hint)}</p>}
        {waitsFor && <p>{toSentence(waitsFor)}</p>}
      </div>
      {reason &&
        nextSteps(reason, { Memory: body.Memory, isOwnProject }).map((step) =>
          // The fields for other amounts stand right above.
          step.kind === "change-resources" ? (
            <DefaultsButton key={step.kind} body={body} onDefaults={onDefaults} />
          ) : (
            <NextStepButton key={step.kind} step={step} start={body} />
          ),
        )}
    </Note>
  )
}

function DefaultsButton({ body: { Cpus, Memory, Gpus }, onDefaults }: Pick<PreviewProps, "body" | "onDefaults">) {
  if (Cpus === 0 && Memory === 0 && Gpus === 0) return null
  return (
    <Button size="small" onClick={onDefaults}>
      {texts.start.useDefaults}
    </Button>
  )
}
