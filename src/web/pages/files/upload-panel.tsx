import { errorText } from "../../api/error-text.ts"
import { formatBytes } from "../../api/formats.ts"
import { Button } from "../../components/button.tsx"
import { safeDisplayName } from "../../components/display-name.ts"
import { Meter, Note } from "../../components/feedback.tsx"
import { files } from "../../text/files.ts"
import { texts } from "../../text/index.ts"
import type { UploadItem, UploadQueue, UploadSummary } from "./upload-queue.ts"

const { uploads: labels } = files

/** How far the uploads are, and what needs a decision. */
export function UploadPanel({ uploads: { summary, queue } }: { uploads: { summary: UploadSummary; queue: UploadQueue } }) {
  const { files, doneFiles, bytes, sentBytes, isPaused, isActive, stopReason, problems } = summary
  if (files === 0) return null
  const isDone = !isActive && problems.length === 0
  return (
    <section className="card upload-panel" aria-label={labels.title}>
      <div className="row">
        <strong role="status">{isDone ? labels.done : labels.progress(doneFiles, files)}</strong>
        <span className="quiet small">{labels.bytes(formatBytes(sentBytes), formatBytes(bytes))}</span>
        {isPaused && <span className="quiet small">{labels.paused}</span>}
        <span className="grow" />
        {isActive && (
          <Button size="small" onClick={() => (isPaused ? queue.resume() : queue.pause())}>
            {isPaused ? labels.resume : labels.pause}
          </Button>
        )}
        <Button size="small" kind="plain" onClick={() => queue.clear()}>
          {isActive ? labels.cancel : labels.close}
        </Button>
      </div>
      <Meter label={labels.title} value={bytes === 0 ? doneFiles / files : sentBytes / bytes} />
      {stopReason !== undefined && <Problem error={stopReason} />}
      {problems.length > 1 && <AllProblems summary={summary} queue={queue} />}
      {problems.length > 0 && (
        <ul className="list">
          {problems.map((item) => (
            <ProblemRow key={item.id} item={item} queue={queue} />
          ))}
        </ul>
      )}
    </section>
  )
}

/** One decision for thousands of files. */
function AllProblems({ summary: { existing, failed }, queue }: { summary: UploadSummary; queue: UploadQueue }) {
  return (
    <div className="row">
      <span className="quiet small">{labels.undecided(existing + failed)}</span>
      <span className="grow" />
      {existing > 0 && (
        <Button size="small" onClick={() => queue.retryAll("exists")}>
          {labels.replaceAll(existing)}
        </Button>
      )}
      {failed > 0 && (
        <Button size="small" onClick={() => queue.retryAll("failed")}>
          {labels.retryAll(failed)}
        </Button>
      )}
      <Button size="small" kind="plain" onClick={() => queue.skipAll()}>
        {labels.skipAll(existing + failed)}
      </Button>
    </div>
  )
}

function Problem({ error }: { error: unknown }) {
  const { title, hint } = errorText(error)
  return (
    <Note tone="bad" role="alert">
      <div className="grow">
        <strong>{title}</strong>
        {hint && <p>{hint}</p>}
      </div>
    </Note>
  )
}

function ProblemRow({ item, queue }: { item: UploadItem; queue: UploadQueue }) {
  const isTaken = item.state === "exists"
  return (
    <li>
      <div className="grow">
        <span className="card-title">{safeDisplayName(item.path.slice(item.target.length + 1))}</span>
        <p className="quiet small">{isTaken ? labels.exists : reasonOf(item.error)}</p>
      </div>
      <Button size="small" onClick={() => queue.retry(item, { replace: isTaken })}>
        {isTaken ? labels.replace : texts.common.retry}
      </Button>
      <Button size="small" kind="plain" onClick={() => queue.skip(item)}>
        {labels.skip}
      </Button>
    </li>
  )
}

function reasonOf(error: unknown): string {
  if (error instanceof DOMException && error.name === "NotReadableError") return labels.changedHere
  const { title, hint } = errorText(error)
  return hint === undefined ? title : `${title} ${hint}`
}
