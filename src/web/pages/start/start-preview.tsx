import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import type { Preview } from "#contract"
import { sentence } from "../../api/error-text.ts"
import { apiQuery } from "../../api/queries.ts"
import { ErrorState, Note } from "../../components/feedback.tsx"
import { texts } from "../../text/index.ts"

const pauseMs = 200

/** The outcome of a start with these amounts, asked again once they rest for a moment. */
export function StartPreview({ body }: { body: object }) {
  const text = JSON.stringify(body)
  const [asked, setAsked] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setAsked(text), pauseMs)
    return () => clearTimeout(timer)
  }, [text])
  const { data, error } = useQuery({
    ...apiQuery("previewRun", { body: JSON.parse(asked) as object }),
    placeholderData: keepPreviousData,
    gcTime: 10_000,
  })
  if (error) return <ErrorState error={error} />
  return data ? <PreviewNote preview={data} /> : <Note role="status">{texts.start.checking}</Note>
}

function PreviewNote({ preview }: { preview: Preview }) {
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
        {reason && <p>{sentence(reason.msg)}</p>}
        {reason?.hint && <p>{sentence(reason.hint)}</p>}
        {waitsFor && <p>{sentence(waitsFor)}</p>}
      </div>
    </Note>
  )
}
