import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import type { RunningProject } from "#contract"
import { formatDuration } from "../../api/formats.ts"
import { apiQuery } from "../../api/queries.ts"
import { canDo } from "../../api/run-actions.ts"
import { projectName } from "../../api/run-names.ts"
import { Note } from "../../components/feedback.tsx"
import { RelativeTime, useNow } from "../../components/values.tsx"
import { texts } from "../../text/index.ts"
import { KeepRunningButton } from "./run-actions.tsx"
import { endWarnings } from "./warnings.ts"

/** Says that the run will be stopped soon, and how to prevent it if that is possible. */
export function EndWarnings({ run }: { run: RunningProject }) {
  const now = useNow()
  return endWarnings(run, now).map(({ kind, at }) => (
    <Note key={kind} tone="warn" role="status">
      <span className="grow">
        {kind === "idle" ? texts.run.idleWarning : texts.run.timeWarning} <RelativeTime value={at} />.{" "}
        {kind === "time" && <TimeHint run={run} />}
      </span>
      {kind === "idle" && canDo("keep", run) && <KeepRunningButton run={run} />}
    </Note>
  ))
}

/** Why the time of a run cannot be extended, what helps, and for administrators where it is set. */
export function TimeHint({ run }: { run: RunningProject }) {
  const { data: person } = useQuery(apiQuery("whoami"))
  if (!person?.IsAdmin) return texts.run.timeHint
  return (
    <>
      {texts.run.timeHintForAdmins}{" "}
      <Link to="/people" search={{ q: run.UserName }}>
        {texts.run.limitsOf(run.UserName)}
      </Link>
      ,{" "}
      <Link to="/projects/$id" params={{ id: run.ProjectID }}>
        {projectName(run)}
      </Link>
      .
    </>
  )
}

/** The time until the run's longest allowed time is over. */
export function TimeLeft({ run }: { run: RunningProject }) {
  const now = useNow()
  if (run.ExpiresAt === null) return null
  const left = Date.parse(run.ExpiresAt) - now.getTime()
  return (
    <span title={texts.run.timeHint}>
      {texts.run.timeLeft}: {formatDuration(Math.max(0, left))}
    </span>
  )
}
